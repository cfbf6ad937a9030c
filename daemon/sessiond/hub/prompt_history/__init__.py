"""The history of the prompts that a user has entered."""
