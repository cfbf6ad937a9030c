"""Detection and removal of secrets in exports."""
