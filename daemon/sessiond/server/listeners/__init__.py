"""The sockets that clients connect to, and who is admitted."""
