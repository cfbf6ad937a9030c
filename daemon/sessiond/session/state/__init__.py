"""The working state of an agent, and statistics of a session."""
