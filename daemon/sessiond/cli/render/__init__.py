"""The drawing of results on a terminal, in a pager or in a browser."""
