"""Finds the agents on this machine and counts their sessions, without reading one."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sessiond.agents.folder_walk import VisitedFolders, real_folders, session_files, status_of
from sessiond.agents.table import AGENTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sessiond.agents.agent import Agent


@dataclass(frozen=True)
class FoundAgent:
    """An agent on this machine.

    Attributes:
        agent: The agent.
        folders: The folders of its sessions that exist.
        files: The number of files with sessions.
        size: Their size in bytes.
    """

    agent: Agent
    folders: tuple[str, ...]
    files: int
    size: int


def found_agents(environ: Mapping[str, str], names: frozenset[str] = frozenset()) -> list[FoundAgent]:
    """Return the agents that are installed or have left sessions.

    Args:
        environ: Environment variables.
        names: The names of agents that are returned in any case. If there are any, no others are returned.
    """
    return [
        _found(agent, environ)
        for agent in AGENTS.values()
        if (agent.name in names if names else _is_here(agent, environ))
    ]


def _is_here(agent: Agent, environ: Mapping[str, str]) -> bool:
    if any(os.path.isdir(folder) for folder in agent.folders(environ)):  # noqa: PTH112
        return True
    return shutil.which(agent.program, path=environ.get("PATH")) is not None


def _found(agent: Agent, environ: Mapping[str, str]) -> FoundAgent:
    folders = tuple(folder for folder in agent.folders(environ) if os.path.isdir(folder))  # noqa: PTH112
    visited = VisitedFolders()
    entries = (
        item
        for folder in folders
        for item in session_files(agent, folder, visited, real_folders(agent, environ))
    )
    sizes = [status.st_size for item in entries if (status := status_of(item, visited)) is not None]
    return FoundAgent(agent, folders, len(sizes), sum(sizes))
