"""The facts that lists show of a session, and the sessions that a retention policy selects."""
