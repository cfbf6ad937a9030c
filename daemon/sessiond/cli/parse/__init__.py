"""The parsing of the command line: arguments, and the ids and names that users type."""
