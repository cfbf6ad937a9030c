"""One attached client: the order of its requests, its responses, and back-pressure."""
