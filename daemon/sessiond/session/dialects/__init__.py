"""Session files of other programs: recognition, import to the home format, and export."""
