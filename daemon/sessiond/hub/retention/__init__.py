"""Deletion, cleanup and restoration of sessions, and the collection of unreferenced blobs."""
