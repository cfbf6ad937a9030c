"""What setup would do on this machine: the changes, in the order in which they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessiond.setup.additions import Hooks, ListedNames, StartupBlock, WholeFile
from sessiond.setup.changes import FileChange
from sessiond.setup.commands import hook_command, plugin
from sessiond.setup.shell_blocks import shell_setup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sessiond.agents.agent import Agent
    from sessiond.setup.survey import FoundAgent


def follow_change(found: Sequence[FoundAgent], config_file: str) -> FileChange | None:
    """Return the change that has the daemon follow these agents; None if none of them can be followed."""
    followed = [it.agent for it in found if it.agent.dialect is not None]
    if not followed:
        return None
    titles = ", ".join(it.title for it in followed)
    names = tuple(it.name for it in followed)
    return FileChange(f"follow {titles}", config_file, ListedNames("agents", "follow", names))


def hook_changes(
    found: Sequence[FoundAgent], environ: Mapping[str, str], words: list[str]
) -> Iterator[FileChange]:
    """Yield the change that installs the hooks of each agent that has hooks."""
    for it in found:
        if it.agent.hooks is not None:
            yield _hook_change(it.agent, environ, words)


def shell_change(environ: Mapping[str, str]) -> FileChange | None:
    """Return the change for the user's shell; None if it is not known."""
    it = shell_setup(environ)
    if it is None:
        return None
    return FileChange(f"completion and prompt of {it.shell}", it.path, StartupBlock(it.shell, it.block))


def _hook_change(agent: Agent, environ: Mapping[str, str], words: list[str]) -> FileChange:
    hooks = agent.hooks
    assert hooks is not None
    path = hooks.path(environ)
    if hooks.plugin is not None:
        addition: WholeFile | Hooks = WholeFile(agent.name, plugin(agent, hooks, environ, words))
        return FileChange(f"plugin of {agent.title}", path, addition, hooks.caution)
    addition = Hooks(agent.name, hooks.events, hook_command(agent, hooks, environ, words))
    return FileChange(f"hooks of {agent.title}: {', '.join(hooks.events)}", path, addition, hooks.caution)
