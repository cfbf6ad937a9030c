"""The tree as people look at it, and two branches side by side."""
