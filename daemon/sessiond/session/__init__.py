"""THE LOG AS A VALUE: entries, tree, context. Pure: no I/O, clock, ids, logging or await."""
