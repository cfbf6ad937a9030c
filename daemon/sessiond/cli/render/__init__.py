"""How results are drawn on a terminal, in a pager or in a browser."""
