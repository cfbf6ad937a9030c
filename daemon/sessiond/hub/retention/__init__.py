"""Deletion, cleanup, restoration, and the collection of unreferenced blobs."""
