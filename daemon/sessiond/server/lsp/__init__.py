"""The LSP side, the only package that uses pygls and lsprotocol: a bridge per client, one feature per file."""
