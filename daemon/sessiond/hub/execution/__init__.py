"""How long work is done: in slices on the event loop, in threads, or in a child process."""
