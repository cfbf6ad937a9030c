"""Takes a census of the session files of an agent, with one `stat` for each. All functions block.

Files are not opened. Symbolic links are not followed, because they may lead out of the agent's folder.
"""

import contextlib
import os
import stat
from dataclasses import dataclass, field
from typing import Final

from sessiond.agents.agent import Agent, Environ
from sessiond.agents.folder_walk import LINK, VisitedFolders, reason, session_files, status_of
from sessiond.hub.transfer.foreign_files import reason_to_skip
from sessiond.hub.transfer.source_state import FileStatus

MAX_FILES: Final = 100_000
"""Limit of the files of one agent in a census; as many as there can be records of imports."""
TOO_MANY: Final = (
    f"it has more than {MAX_FILES:,} session files; of the others, only what is written from now on is read"
)


@dataclass(slots=True)
class AgentFiles:
    """The session files of one agent.

    Attributes:
        files: The status of each session file, by its absolute path.
        visited: The folders that hold its sessions with all folders below, and why files are left out.
        is_complete: Whether all files are in `files` or `problems`: there are at most `MAX_FILES`.
    """

    files: dict[str, FileStatus] = field(default_factory=dict)
    visited: VisitedFolders = field(default_factory=VisitedFolders)
    is_complete: bool = True

    @property
    def problems(self) -> dict[str, str]:
        """Why a file or folder is left out, by its path."""
        return self.visited.problems


def take(agent: Agent, environ: Environ) -> AgentFiles:
    """Return the census of an agent's session files."""
    census = AgentFiles()
    for folder in [it for it in agent.folders(environ) if os.path.isdir(it)]:  # noqa: PTH112 - a text
        with contextlib.closing(session_files(agent, folder, census.visited)) as found:
            for it in found:
                if len(census.files) >= MAX_FILES:
                    census.problems[folder] = TOO_MANY
                    census.is_complete = False
                    break
                _add(it, census)
    return census


def has_files(agent: Agent, environ: Environ) -> bool:
    """Return whether an agent has a session file. The folders are read up to the first one."""
    for folder in agent.folders(environ):
        with contextlib.closing(session_files(agent, folder, VisitedFolders())) as found:
            if next(found, None) is not None:
                return True
    return False


def look_at(agent: Agent, environ: Environ, path: str) -> FileStatus | str | None:
    """Look at one path.

    Returns:
        The status of a session file; the reason why it is left out; None if there is no such file, or it is not a
        session file of the agent.
    """
    folder = next((it for it in agent.folders(environ) if path.startswith(f"{it}/")), None)
    if folder is None or not agent.is_session_file(path[len(folder) + 1 :]):
        return None
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        return reason(error)
    above = path.rpartition("/")[0]
    if (
        stat.S_ISLNK(status.st_mode)
        or os.path.realpath(above) != os.path.realpath(folder) + above[len(folder) :]
    ):
        return LINK
    return reason_to_skip(status) or FileStatus.of(status)


def _add(entry: "os.DirEntry[str]", census: AgentFiles) -> None:
    status = status_of(entry, census.visited)
    if status is None:
        return
    if (problem := reason_to_skip(status)) is not None:
        census.problems[entry.path] = problem
    else:
        census.files[entry.path] = FileStatus.of(status)
