"""The index: what all logs say, in one disposable SQLite file that is rebuilt to the same answers."""
