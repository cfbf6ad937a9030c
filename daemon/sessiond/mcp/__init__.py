"""The MCP server: gives agents the sessions of this user as tools, resources and a prompt. A client of the daemon."""
