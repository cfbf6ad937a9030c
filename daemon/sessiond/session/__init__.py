"""The log as a value: entries, tree, context. Pure: no I/O, clock, random ids, logging or await."""
