"""The only home of pygls and lsprotocol: a bridge for each LSP client, and one feature a file."""
