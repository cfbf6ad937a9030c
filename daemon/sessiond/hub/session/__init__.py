"""An open session: reading, maintenance, appending, and its subscribers."""
