"""The index: the searchable content of all logs in one disposable SQLite file, which can be rebuilt from them."""
