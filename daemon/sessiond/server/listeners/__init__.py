"""The listeners that accept clients, and their authentication."""
