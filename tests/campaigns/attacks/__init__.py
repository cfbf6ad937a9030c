"""What somebody may try who wants to read, change or stop what is not his; each attack is a function."""
