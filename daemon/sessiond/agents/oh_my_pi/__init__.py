"""oh-my-pi."""
