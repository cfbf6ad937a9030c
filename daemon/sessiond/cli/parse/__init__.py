"""The command line: verbs, arguments, help, and the ids and names that people type."""
