"""Walks the folders of an agent and finds its session files. All functions block.

Files are not opened. Symbolic links are not followed, because they may lead out of the agent's folder.
"""

import contextlib
import os
import stat
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Final

from sessiond.agents.agent import Agent, Environ

LINK: Final = "it is a symbolic link, which is not followed"
UNREADABLE: Final = "it cannot be read: "
"""How the reason begins for a path that the system refuses to read."""


@dataclass(slots=True)
class VisitedFolders:
    """Results of a walk beside the session files.

    Attributes:
        paths: All folders that were visited.
        problems: Why a file or folder is left out, by its path.
        has_links: Whether a link to a folder is among what was visited. A recursive watch would follow it.
    """

    paths: list[str] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    has_links: bool = False


def session_files(
    agent: Agent, folder: str, visited: VisitedFolders
) -> Generator["os.DirEntry[str]", None, None]:
    """Yield the entries below a folder whose paths are those of session files of the agent.

    A database is in the folder itself: folders below it, which may hold anything, are not visited.

    Args:
        agent: The agent.
        folder: One of its folders. If it does not exist, that is a problem in `visited`.
        visited: Receives the visited folders, and problems.
    """
    waiting = [folder]
    while waiting:
        visited.paths.append(above := waiting.pop())
        try:
            with os.scandir(above) as entries:
                for it in entries:
                    if it.is_dir(follow_symlinks=False):
                        if agent.storage == "files":
                            waiting.append(it.path)
                    elif agent.storage == "files" and it.is_symlink() and it.is_dir():
                        visited.problems[it.path] = LINK
                        visited.has_links = True
                    elif agent.is_session_file(it.path[len(folder) + 1 :]):
                        yield it
        except OSError as error:
            visited.problems[above] = reason(error)


def has_session_files(agent: Agent, environ: Environ) -> bool:
    """Return whether an agent has a session file. The folders are read up to the first one."""
    for folder in agent.folders(environ):
        with contextlib.closing(session_files(agent, folder, VisitedFolders())) as found:
            if next(found, None) is not None:
                return True
    return False


def status_of(entry: "os.DirEntry[str]", visited: VisitedFolders) -> os.stat_result | None:
    """Return the status of an entry; None if it is gone, a link, or has no status, which is a problem in `visited`."""
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        visited.problems[entry.path] = reason(error)
        return None
    if stat.S_ISLNK(status.st_mode):
        visited.problems[entry.path] = LINK
        return None
    return status


def reason(error: Exception) -> str:
    """Return why a path is left out after an error."""
    strerror = getattr(error, "strerror", None)
    return f"{UNREADABLE}{str(strerror or error).lower()}"
