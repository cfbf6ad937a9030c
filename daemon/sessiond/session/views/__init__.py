"""Views of the tree for people, and the comparison of two branches."""
