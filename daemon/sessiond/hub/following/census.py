"""Takes a census of the session files of an agent, with one `stat` for each. All functions block.

Files are not opened. Symbolic links are not followed, because they may lead out of the agent's folder.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from sessiond.agents.agent import Agent, Environ
from sessiond.hub.transfer.foreign_files import reason_to_skip
from sessiond.hub.transfer.source_state import FileStatus

LINK: Final = "it is a symbolic link, which is not followed"


@dataclass(slots=True)
class AgentFiles:
    """The session files of one agent.

    Attributes:
        folders: The existing folders that hold its sessions.
        files: The status of each session file, by its absolute path.
        problems: Why a file or folder is left out, by its path.
        below: All folders below `folders`, and `folders` themselves.
        has_linked_folders: Whether a folder below is a symbolic link. A recursive watch would follow it.
    """

    folders: list[str]
    files: dict[str, FileStatus] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    below: list[str] = field(default_factory=list)
    has_linked_folders: bool = False


def take(agent: Agent, environ: Environ) -> AgentFiles:
    """Return the census of an agent's session files."""
    census = AgentFiles([it for it in agent.folders(environ) if os.path.isdir(it)])  # noqa: PTH112 - a text
    for folder in census.folders:
        for it in _entries(folder, census):
            path = it.path[len(folder) + 1 :]
            if agent.is_session_file(path):
                _add(it, census)
    return census


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
        return _reason(error)
    above = path.rpartition("/")[0]
    if os.path.realpath(above) != os.path.realpath(folder) + above[len(folder) :]:
        return LINK
    return _problem(status) or FileStatus.of(status)


def _entries(folder: str, census: AgentFiles) -> Iterator["os.DirEntry[str]"]:
    """Yield the entries below a folder that are not folders."""
    waiting = [folder]
    while waiting:
        census.below.append(above := waiting.pop())
        try:
            with os.scandir(above) as entries:
                for it in entries:
                    if it.is_dir(follow_symlinks=False):
                        waiting.append(it.path)
                    elif it.is_symlink() and it.is_dir():
                        census.problems[it.path] = LINK
                        census.has_linked_folders = True
                    else:
                        yield it
        except OSError as error:
            census.problems[above] = _reason(error)


def _add(entry: "os.DirEntry[str]", census: AgentFiles) -> None:
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return
    except OSError as error:
        census.problems[entry.path] = _reason(error)
        return
    if (problem := _problem(status)) is not None:
        census.problems[entry.path] = problem
    else:
        census.files[entry.path] = FileStatus.of(status)


def _problem(status: os.stat_result) -> str | None:
    if stat.S_ISLNK(status.st_mode):
        return LINK
    return reason_to_skip(status)


def _reason(error: Exception) -> str:
    strerror = getattr(error, "strerror", None)
    return f"it cannot be read: {str(strerror or error).lower()}"
