"""Other programs' session files: which dialect a file speaks, what it becomes here, and the way out again."""
