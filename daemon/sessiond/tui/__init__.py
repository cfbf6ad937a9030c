"""The interactive tree of a session on the whole terminal. Only this package imports Textual."""
