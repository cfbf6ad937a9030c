"""An agent of the Agent Client Protocol (ACP) for editors: runs another agent behind it, and records the conversation.

A client of the daemon, like `cli` and `tui`. It calls no model and changes no message on its way, except those whose
methods the agent lacks (decision 0049).
"""
