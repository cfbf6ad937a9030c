"""The server: listeners, clients, handlers, LSP and the process."""
