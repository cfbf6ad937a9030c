"""`scripts/demo`: the main job of sessiond on a real session file, each claim checked while it is made."""
