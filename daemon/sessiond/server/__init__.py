"""Puts it together: clients, handlers, sockets."""
