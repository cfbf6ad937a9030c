"""What a hook prints when it has nothing to say. The command `hook` imports this module, so it imports nothing."""

SILENT_OUTPUT = {"gemini": "{}", "qwen": "{}"}
"""The output by the agent's name. The agents that are not here accept none."""
