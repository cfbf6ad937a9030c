"""Names of commands. Only the group of the requested command is imported, because a command uses one."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessiond.cli.parse.arguments import Command

GROUPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "sessions": (
        "Sessions",
        (
            "new",
            "continue",
            "resume",
            "list",
            "top",
            "search",
            "recall",
            "usage",
            "history",
            "show",
            "fork",
            "rename",
            "tag",
            "move",
        ),
    ),
    "entries": ("Entries", ("tree", "view", "append", "branch", "diff", "label", "watch")),
    "context": ("The context of a model", ("context", "compact", "configure", "stats", "state")),
    "trash": ("The trash", ("delete", "forget", "restore", "trash", "cleanup", "purge")),
    "programs": ("Other programs", ("agents", "acp", "import", "export", "redact")),
    "machines": ("Other machines and stores", ("sync", "bundle", "backup", "move-store")),
    "storage": ("Storage", ("storage", "verify", "unpack", "blobs")),
    "daemon": ("The daemon", ("status", "clients", "stop", "restart", "doctor", "serve", "attach")),
    "setup": ("Set-up", ("setup", "mcp", "hook", "install-service", "uninstall-service", "completion")),
    "protocol": ("The protocol", ("rpc", "terminal", "schema")),
}
"""For each module of this package its heading in help and manual, and the commands that it declares, in their order."""

ALIASES: dict[str, str] = {"ls": "list", "rm": "delete"}

SIMILAR_COMMANDS: dict[str, str] = {
    "sessions": "list", "cat": "context", "log": "tree", "info": "show", "get": "show",
    "open": "view", "start": "new", "init": "setup", "create": "new", "add": "append",
    "commit": "append", "checkout": "branch", "switch": "branch", "undo": "branch", "bookmark": "label",
    "uncompress": "unpack", "decompress": "unpack", "archive": "bundle", "pack": "storage", "dump": "backup",
    "ask": "recall", "remember": "recall", "cost": "usage", "tokens": "usage", "spend": "usage",
    "disk": "storage", "du": "storage", "df": "storage", "size": "storage", "check": "verify", "space": "storage",
    "find": "search", "grep": "search", "gc": "blobs", "merge": "diff", "compare": "diff", "follow": "watch",
    "tail": "watch", "logs": "status", "daemon": "status", "config": "configure",
    "install": "setup", "uninstall": "setup", "version": "--version",
}  # fmt: skip
"""Names of other programs' commands. They are not accepted, but the equivalent is suggested."""


def find(name: str) -> Command | None:
    """Return the declaration of a command; None for an unknown name."""
    return next((_commands(group)[name] for group, (_, names) in GROUPS.items() if name in names), None)


def all_commands() -> dict[str, Command]:
    """Return the declaration of every command, by name."""
    return {name: command for group in GROUPS for name, command in _commands(group).items()}


def _commands(group: str) -> dict[str, Command]:
    module = f"sessiond.cli.table.{group}"
    __import__(module)  # importing `importlib` takes longer
    commands: dict[str, Command] = sys.modules[module].COMMANDS
    return commands
