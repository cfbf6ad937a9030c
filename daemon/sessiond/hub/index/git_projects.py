"""Finds the project of a folder: the root of its git repository, or else the folder itself.

All worktrees of a repository are one project, whose folder is the main worktree, or the repository if it is bare. The
files of git are read directly; no git process runs. A folder has a project even if they are damaged
(decision 0042).
"""

import os
import stat
from typing import Final, NamedTuple

MAX_LINK_BYTES: Final = 4096
"""Bytes of a `.git` file or a `commondir` file that are read."""
MAX_DEPTH: Final = 128
"""Limit of the parents of a folder that are examined."""


class Project(NamedTuple):
    """A project.

    Attributes:
        folder: The folder of the project, with all symbolic links resolved.
        identity: A text that the repository keeps if it is moved on the same disk; "" if there is no repository.
    """

    folder: str
    identity: str


class ProjectFinder:
    """Finds projects. Each folder is examined once, so a finder is used for many folders and a short time."""

    def __init__(self) -> None:
        self._found: dict[str, Project | None] = {}

    def project_of(self, folder: str) -> Project:
        """Return the project of a folder. If the folder does not exist, its nearest parent in a repository is used."""
        if not folder.startswith("/") or "\0" in folder:
            return Project(folder, "")
        try:
            resolved = os.path.realpath(folder)
        except (OSError, ValueError):
            return Project(folder, "")
        return self._repository_above(resolved) or Project(resolved, "")

    def _repository_above(self, folder: str) -> Project | None:
        passed: list[str] = []
        found: Project | None = None
        for _ in range(MAX_DEPTH):
            if folder in self._found:
                found = self._found[folder]
                break
            passed.append(folder)
            found = _repository_at(folder)
            parent = os.path.dirname(folder)  # noqa: PTH120 - for many folders, and pathlib is slow
            if found is not None or parent == folder:
                break
            folder = parent
        self._found.update(dict.fromkeys(passed, found))
        return found


def _repository_at(folder: str) -> Project | None:
    """Return the project of a folder that has a `.git`, or None."""
    entry = f"{folder.rstrip('/')}/.git"
    try:
        mode = os.stat(entry).st_mode  # noqa: PTH116
    except (OSError, ValueError):
        return None  # also if the links form a loop
    if stat.S_ISDIR(mode):
        return Project(folder, _identity_of(entry)) if _is_repository(entry) else None
    if not stat.S_ISREG(mode):
        return None
    link = _line_of(entry)
    if link is None or not link.startswith("gitdir:"):
        return None
    repository = _resolved(folder, link.removeprefix("gitdir:").strip())
    common = repository and _line_of(f"{repository}/commondir")
    if repository is None or common is None:
        # A submodule, or a worktree whose repository does not exist any more, is a separate project.
        return Project(folder, "" if repository is None else _identity_of(repository))
    shared = _resolved(repository, common)
    if shared is None or not _is_repository(shared):
        return Project(folder, "")
    root = os.path.dirname(shared) if os.path.basename(shared) == ".git" else shared  # noqa: PTH119, PTH120
    return Project(root, _identity_of(shared))


def _is_repository(path: str) -> bool:
    return os.path.lexists(f"{path}/HEAD")


def _identity_of(repository: str) -> str:
    """Return what a repository keeps when it is moved: its inode, and the time of a file that is never changed."""
    try:
        found, made = os.stat(repository), os.stat(f"{repository}/description")  # noqa: PTH116
    except OSError:
        return ""
    return f"{found.st_dev}.{found.st_ino}.{made.st_ino}.{made.st_mtime_ns}"


def _resolved(folder: str, path: str) -> str | None:
    """Return a path of a file of git, which may be relative to a folder; None if it is no path."""
    if not path or "\0" in path:
        return None
    try:
        return os.path.realpath(os.path.join(folder, path))
    except (OSError, ValueError):
        return None


def _line_of(path: str) -> str | None:
    """Return the first line of a small regular file; None if it cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # opening a FIFO must not block
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        data = os.read(fd, MAX_LINK_BYTES + 1)
    except OSError:
        return None
    finally:
        os.close(fd)
    if len(data) > MAX_LINK_BYTES:
        return None
    return os.fsdecode(data.split(b"\n")[0]).strip() or None
