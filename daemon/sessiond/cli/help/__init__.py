"""Help: the pages of `--help` and the manual, and suggestions for unknown commands."""
