"""What lists say of a session, and which sessions a retention policy selects."""
