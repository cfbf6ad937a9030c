"""The tree of a session on a whole terminal, to walk in and to act on. Only this room imports Textual."""
