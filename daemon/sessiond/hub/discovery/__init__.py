"""Selection of the session that a terminal or a script continues."""
