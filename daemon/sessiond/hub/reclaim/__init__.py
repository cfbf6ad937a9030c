"""Moves old files of agents into originals that are kept byte for byte, and back."""
