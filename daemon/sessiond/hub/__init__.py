"""The hub: the open sessions of this process, and everything that works on sessions."""
