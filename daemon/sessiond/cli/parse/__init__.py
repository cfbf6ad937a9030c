"""The parsing of the command line: commands, arguments, help, and the ids and names that users type."""
