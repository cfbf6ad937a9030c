"""The output of hooks. The command `hook` imports this module, so it imports nothing."""

SILENT_OUTPUT = {"gemini": "{}", "qwen": "{}"}
"""The output of a hook that has nothing to say, by the agent's name. Agents that are not here accept no output."""
START_EVENT = "SessionStart"
"""The event at which a session begins or goes on, in the agents that take a note then."""
END_EVENT = "SessionEnd"
"""The event at which a session ends, in the same agents."""
TAKES_NOTE = ("claude-code", "codex", "gemini", "qwen")
"""The agents that show their model what a hook prints at `START_EVENT` as `additionalContext`."""
