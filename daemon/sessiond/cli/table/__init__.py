"""The declarations of all commands: a module for each group, found by the name of a command."""
