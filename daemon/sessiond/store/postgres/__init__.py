"""Sessions in a PostgreSQL database, which several daemons may use at the same time (decision 0054)."""
