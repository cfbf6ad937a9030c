"""The history of prompts."""
