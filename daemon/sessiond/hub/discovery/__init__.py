"""Which session a terminal or a script continues."""
