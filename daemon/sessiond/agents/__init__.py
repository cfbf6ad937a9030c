"""The agents whose sessions the daemon knows: where they are, how they are recognized, read, written and resumed."""
