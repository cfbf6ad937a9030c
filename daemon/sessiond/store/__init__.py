"""Where lines live. A store knows bytes and ids; it has never heard of an entry type."""
