"""An open session: read, kept in order, written, and followed by its subscribers."""
