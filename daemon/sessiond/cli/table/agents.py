"""Declarations of the commands for agents."""

from sessiond.cli.parse.arguments import Command, Option
from sessiond.cli.table.options import JSON

COMMANDS: dict[str, Command] = {
    "agents": Command(
        "List the agents on this machine, or follow what they write",
        "agents:agents",
        ("[follow|unfollow|forget]", "[AGENT…]"),
        (
            Option("all", "", "follow: all agents that have sessions here; unfollow: all agents"),
            Option("yes", "", "forget: move the sessions; without it, forget only says how many there are"),
            JSON,
        ),
        "follow reads the sessions of an agent and returns when it has read the present ones. Lines that the agent\n"
        "writes later are read, too; its files are never changed. unfollow stops that and keeps the sessions. forget\n"
        "unfollows and moves the sessions of one agent to the trash.",
        ("sessiond agents follow --all", "sessiond agents follow claude-code codex"),
    ),
}
