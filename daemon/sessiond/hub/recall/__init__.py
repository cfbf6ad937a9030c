"""Recall: answers a question with the most relevant passages of all sessions."""
