"""Secrets in what is exported: where they are, and texts without them."""
