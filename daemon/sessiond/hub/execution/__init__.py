"""Execution of long work: in slices on the event loop, in threads, or in a child process."""
