"""Brings the sessions of two daemons together, as a client of both (decision 0052)."""
