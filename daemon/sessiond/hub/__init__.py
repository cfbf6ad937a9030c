"""The living state: the open sessions of this process."""
