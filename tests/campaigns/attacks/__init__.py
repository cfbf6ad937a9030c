"""Attempts to read, change or stop the data and the daemon of another user; each attack is a function."""
