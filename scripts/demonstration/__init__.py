"""`scripts/demo`: the main job of sessiond on a real session file, with a check of each claim."""
