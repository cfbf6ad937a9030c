"""Takes a census of the session files of an agent, with one `stat` for each. All functions block.

Files are not opened. Symbolic links are not followed, because they may lead out of the agent's folder.
"""

import contextlib
import os
import stat
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Final

from sessiond.agents.agent import Agent, Environ
from sessiond.hub.transfer.foreign_files import reason_to_skip
from sessiond.hub.transfer.source_state import FileStatus

MAX_FILES: Final = 100_000
"""Limit of the files of one agent in a census; as many as there can be records of imports."""
TOO_MANY: Final = (
    f"it has more than {MAX_FILES:,} session files; of the others, only what is written from now on is read"
)
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
        is_complete: Whether all files are in `files` or `problems`: there are at most `MAX_FILES`.
    """

    folders: list[str]
    files: dict[str, FileStatus] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    below: list[str] = field(default_factory=list)
    has_linked_folders: bool = False
    is_complete: bool = True


def take(agent: Agent, environ: Environ) -> AgentFiles:
    """Return the census of an agent's session files."""
    census = AgentFiles([it for it in agent.folders(environ) if os.path.isdir(it)])  # noqa: PTH112 - a text
    for folder in census.folders:
        with contextlib.closing(_entries(folder, census)) as found:
            for it in found:
                if not agent.is_session_file(it.path[len(folder) + 1 :]):
                    continue
                if len(census.files) >= MAX_FILES:
                    census.problems[folder] = TOO_MANY
                    census.is_complete = False
                    break
                _add(it, census)
    return census


def has_files(agent: Agent, environ: Environ) -> bool:
    """Return whether an agent has a session file. The folders are read up to the first one."""
    census = AgentFiles([])
    for folder in agent.folders(environ):
        with contextlib.closing(_entries(folder, census)) as found:
            if any(agent.is_session_file(it.path[len(folder) + 1 :]) for it in found):
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
        return _reason(error)
    above = path.rpartition("/")[0]
    if os.path.realpath(above) != os.path.realpath(folder) + above[len(folder) :]:
        return LINK
    return _problem(status) or FileStatus.of(status)


def _entries(folder: str, census: AgentFiles) -> Generator["os.DirEntry[str]", None, None]:
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
