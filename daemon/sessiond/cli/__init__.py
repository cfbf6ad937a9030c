"""The command line: commands that correspond to the methods of the protocol."""
