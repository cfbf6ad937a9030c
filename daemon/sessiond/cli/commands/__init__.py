"""The commands: one function each, which sends requests to the daemon and prints the results."""
