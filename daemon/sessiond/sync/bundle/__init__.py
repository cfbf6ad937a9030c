"""Sessions as one file: a sync writes into a bundle, and another one reads from it (decision 0046)."""
