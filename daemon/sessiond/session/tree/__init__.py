"""The lines of a log as a tree: reading, checking, migrating and walking them."""
