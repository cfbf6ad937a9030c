"""The index: the searchable content of all logs in one SQLite file, which can be rebuilt from the logs."""
