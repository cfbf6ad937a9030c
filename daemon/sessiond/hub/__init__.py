"""The hub: the open sessions of this process, and all work on sessions."""
