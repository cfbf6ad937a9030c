"""Walks the folders of an agent and finds its session files. All functions block.

Files are not opened. A symbolic link to a folder elsewhere is followed, so that a project folder may be moved to
another disk. A link to a folder that is visited anyway is ignored. Symbolic links to files are not followed.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from sessiond.agents.agent import Agent, Environ

LINK: Final = "it is a symbolic link, which is not followed"
LEADS_NOWHERE: Final = "it is a symbolic link that leads nowhere"
TOO_MANY_FOLDERS: Final = (
    "it is a symbolic link to a folder with too many folders below, of which the rest is not read"
)
MAX_LINKED_FOLDERS: Final = 10_000
"""Limit of the folders that one link leads to. A link may lead to the folder of a whole system."""
UNREADABLE: Final = "it cannot be read: "
"""The beginning of the reason for a path that the system refuses to read."""


@dataclass(slots=True)
class VisitedFolders:
    """Results of a walk beside the session files.

    Attributes:
        paths: All folders that were visited.
        problems: The reason why a file or folder is left out, by its path.
        has_links: Whether a link to a folder was visited. A recursive watch would follow it.
        linked: The real paths of the folders that links led to, by the paths at which they were visited.
    """

    paths: list[str] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    has_links: bool = False
    linked: dict[str, str] = field(default_factory=dict)


def session_files(
    agent: Agent, folder: str, visited: VisitedFolders, roots: Sequence[str] = ()
) -> Generator["os.DirEntry[str]", None, None]:
    """Yield the entries below a folder whose paths are those of session files of the agent.

    A database is in the folder itself: folders below it, which may hold anything, are not visited.

    Args:
        agent: The agent.
        folder: One of its folders. If it does not exist, that is a problem in `visited`.
        visited: Receives the visited folders, and problems.
        roots: The real paths of all its folders; `folder` is added. Links to files and folders below them give nothing.
    """
    roots = [*roots, os.path.realpath(folder)]
    links = yield from _below(agent, folder, folder, visited)
    reached = set(visited.linked.values())
    while links:
        link = links.pop(0)
        visited.has_links = True
        real = os.path.realpath(link)
        if is_below(real, roots) or real in reached:
            continue
        if any(is_below(root, [real]) for root in roots):
            visited.problems[link] = LINK  # the link leads to a folder above, so the walk would not end
            continue
        links += yield from _below(agent, folder, link, visited, _LinkedFolders(link, real, reached))


def _below(
    agent: Agent, folder: str, top: str, visited: VisitedFolders, linked: "_LinkedFolders | None" = None
) -> Generator["os.DirEntry[str]", None, list[str]]:
    """Yield the session files below `top`, which is `folder` or a link. Returns the links to folders, sorted."""
    waiting = [top]
    links: list[str] = []
    while waiting:
        above = waiting.pop()
        if linked is not None and not linked.enter(above, visited):
            continue
        visited.paths.append(above)
        try:
            with os.scandir(above) as entries:
                for item in entries:
                    if item.is_dir(follow_symlinks=False):
                        if agent.storage == "files":
                            waiting.append(item.path)
                    elif agent.storage == "files" and _is_other_link(item, links, visited):
                        continue
                    elif agent.is_session_file(item.path[len(folder) + 1 :]):
                        yield item
        except OSError as error:
            visited.problems[above] = reason(error)
    return sorted(links)


@dataclass(slots=True)
class _LinkedFolders:
    """The folders that a link leads to.

    Attributes:
        link: The path of the link.
        real: Its real path.
        reached: The real paths of the folders that links have led to.
        count: The number of folders that this link has led to.
    """

    link: str
    real: str
    reached: set[str]
    count: int = 0

    def enter(self, path: str, visited: VisitedFolders) -> bool:
        """Return whether a folder is to be visited, and note that it is."""
        real = self.real + path[len(self.link) :]
        if real in self.reached:
            return False
        if self.count >= MAX_LINKED_FOLDERS:
            visited.problems[self.link] = TOO_MANY_FOLDERS
            return False
        self.count += 1
        self.reached.add(real)
        visited.linked[path] = real
        return True


def _is_other_link(entry: "os.DirEntry[str]", links: list[str], visited: VisitedFolders) -> bool:
    """Return whether an entry is a link to a folder, which is added to `links`, or one that leads nowhere."""
    if not entry.is_symlink():
        return False
    try:
        if not stat.S_ISDIR(entry.stat().st_mode):
            return False
        links.append(entry.path)
    except OSError as error:
        leads_nowhere = error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
        visited.problems[entry.path] = LEADS_NOWHERE if leads_nowhere else reason(error)
    return True


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Return whether a path is one of these folders, or below one."""
    return any(path == folder or path.startswith(f"{folder.rstrip('/')}/") for folder in folders)


def real_folders(agent: Agent, environ: Environ) -> list[str]:
    """Return the real paths of the folders of an agent."""
    return [os.path.realpath(folder) for folder in agent.folders(environ)]


def has_session_files(agent: Agent, environ: Environ) -> bool:
    """Return whether an agent has a session file. The folders are read up to the first one."""
    roots = real_folders(agent, environ)
    for folder in agent.folders(environ):
        with contextlib.closing(session_files(agent, folder, VisitedFolders(), roots)) as found:
            if next(found, None) is not None:
                return True
    return False


def status_of(entry: "os.DirEntry[str]", visited: VisitedFolders) -> os.stat_result | None:
    """Return the status of an entry; None if it is gone or a link, or has none (a problem in `visited`)."""
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
