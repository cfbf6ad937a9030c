"""Pictures of what sessiond looks like, drawn from real programs."""
