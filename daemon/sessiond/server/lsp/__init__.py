"""The only home of pygls and lsprotocol."""
