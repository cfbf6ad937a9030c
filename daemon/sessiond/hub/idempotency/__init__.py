"""Commands that clients repeat: each takes effect once."""
