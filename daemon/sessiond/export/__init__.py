"""Conversion of a session to documents for people: an HTML page and a Markdown transcript."""
