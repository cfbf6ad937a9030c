"""JSON-RPC 2.0 over byte streams, independent of sessions."""
