"""JSON-RPC 2.0 over bytes. Has never heard of sessions."""
