"""The commands: one function a verb, which asks the daemon and prints the result."""
