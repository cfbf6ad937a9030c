"""One attached client: its requests in order, its responses, and how fast it is read."""
