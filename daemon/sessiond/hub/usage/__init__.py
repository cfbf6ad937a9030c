"""The report of usage: tokens and cost of requests to models, over all sessions."""
