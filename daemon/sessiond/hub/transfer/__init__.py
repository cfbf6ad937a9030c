"""Import and export of sessions in the formats of other programs."""
