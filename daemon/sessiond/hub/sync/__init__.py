"""The daemon's side of a sync: positions of all sessions, lines as they are stored, and adding lines to sessions."""
