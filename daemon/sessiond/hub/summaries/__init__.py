"""Compactions and branch summaries: requesting a summary and appending it."""
