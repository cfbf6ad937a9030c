"""The command line: verbs that mirror the methods."""
