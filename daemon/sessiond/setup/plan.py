"""The plan of setup for this machine: the changes, in the order in which they are made."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sessiond.agents.agent import McpFile, described_server
from sessiond.agents.places import moved_folders, vscode_folder
from sessiond.setup.additions import (
    Hooks,
    ListedNames,
    RegisteredServer,
    SettingsParts,
    StartupBlock,
    WholeFile,
)
from sessiond.setup.changes import FileChange
from sessiond.setup.commands import hook_command, plugin
from sessiond.setup.shell_blocks import shell_setup

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sessiond.agents.agent import Agent
    from sessiond.setup.additions import Addition
    from sessiond.setup.survey import FoundAgent


def follow_change(
    found: Sequence[FoundAgent], config_file: str, environ: Mapping[str, str]
) -> FileChange | None:
    """Return the change that makes the daemon follow these agents; None if no agent can be followed.

    Folders that only these environment variables name are written, too: the daemon may not have them.
    """
    followed = [agent.agent for agent in found if agent.agent.dialect is not None]
    if not followed:
        return None
    titles = ", ".join(agent.title for agent in followed)
    names = tuple(agent.name for agent in followed)
    folders = tuple(
        f"{agent.name}={folder}" for agent in followed for folder in moved_folders(agent, environ)
    )
    return FileChange(f"follow {titles}", config_file, ListedNames("agents", "follow", names, folders))


def hook_changes(
    found: Sequence[FoundAgent], environ: Mapping[str, str], words: list[str]
) -> Iterator[FileChange]:
    """Yield the change that installs the hooks of each agent that has hooks."""
    for agent in found:
        if agent.agent.hooks is not None:
            yield _hook_change(agent.agent, environ, words)


def server_changes(
    found: Sequence[FoundAgent], environ: Mapping[str, str], words: list[str]
) -> Iterator[FileChange]:
    """Yield the change that registers the MCP server with each agent that has MCP servers."""
    for agent in found:
        if agent.agent.mcp is not None:
            yield _server_change(agent.agent.title, agent.agent.mcp, environ, words)


def vscode_change(environ: Mapping[str, str], words: list[str]) -> FileChange | None:
    """Return the change that registers the MCP server with VS Code; None if this user has no VS Code."""
    folder = vscode_folder(environ)
    if not os.path.isdir(folder):  # noqa: PTH112
        return None
    registered = McpFile(
        path=lambda _: f"{folder}/mcp.json",
        container="servers",
        server=lambda words, variables: {"type": "stdio", **described_server(words, variables)},
    )
    return _server_change("VS Code", registered, environ, words)


def in_one_change_a_file(changes: Iterable[FileChange]) -> list[FileChange]:
    """Return the changes, with those of one settings file joined, since the journal has one record for each file."""
    joined: dict[str, FileChange] = {}
    for change in changes:
        earlier = joined.get(change.path)
        joined[change.path] = change if earlier is None else _joined(earlier, change)
    return list(joined.values())


def _joined(first: FileChange, second: FileChange) -> FileChange:
    parts = tuple(part for change in (first, second) for part in _parts(change.addition))
    notes = " ".join(filter(None, (first.note, second.note)))
    return FileChange(f"{first.title}; {second.title}", first.path, SettingsParts(parts), notes)


def _parts(addition: Addition) -> tuple[Hooks | RegisteredServer, ...]:
    if isinstance(addition, SettingsParts):
        return addition.parts
    assert isinstance(addition, Hooks | RegisteredServer), "only settings have several parts"
    return (addition,)


def _server_change(
    title: str, registered: McpFile, environ: Mapping[str, str], words: list[str]
) -> FileChange:
    home = environ.get("SESSIOND_HOME")
    variables = {"SESSIOND_HOME": os.path.abspath(home)} if home else {}  # noqa: PTH100
    server = registered.server([*words, "mcp"], variables)
    addition = RegisteredServer(registered.container, server, registered.is_toml)
    return FileChange(f"MCP server of {title}", registered.path(environ), addition, registered.caution)


def shell_change(environ: Mapping[str, str]) -> FileChange | None:
    """Return the change for the user's shell; None if it is not known."""
    shell = shell_setup(environ)
    if shell is None:
        return None
    return FileChange(
        f"completion and prompt of {shell.shell}", shell.path, StartupBlock(shell.shell, shell.block)
    )


def _hook_change(agent: Agent, environ: Mapping[str, str], words: list[str]) -> FileChange:
    hooks = agent.hooks
    assert hooks is not None
    path = hooks.path(environ)
    if hooks.plugin is not None:
        addition: WholeFile | Hooks = WholeFile(agent.name, plugin(agent, hooks, environ, words))
        return FileChange(f"plugin of {agent.title}", path, addition, hooks.caution)
    addition = Hooks(agent.name, hooks.events, hook_command(agent, hooks, environ, words))
    return FileChange(f"hooks of {agent.title}: {', '.join(hooks.events)}", path, addition, hooks.caution)
