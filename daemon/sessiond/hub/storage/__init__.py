"""The space that sessions take here and in the folders of agents."""
