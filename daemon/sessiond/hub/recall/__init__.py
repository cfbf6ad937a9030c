"""Recall: answers a question with the most telling passages of all sessions."""
