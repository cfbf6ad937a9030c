"""Session files as sources, each found with one `stat`. Files are not opened.

Symbolic links to folders elsewhere are followed, each folder once; those to files are not.
"""

import contextlib
import os
import stat
from collections.abc import Mapping
from typing import Final

from sessiond.agents.agent import Agent, Environ
from sessiond.agents.folder_walk import (
    LINK,
    VisitedFolders,
    is_below,
    real_folders,
    reason,
    session_files,
    status_of,
)  # fmt: skip
from sessiond.hub.following import sources
from sessiond.hub.following.sources import AgentSources, ContainerChange
from sessiond.hub.following.tails import DIALECTS, MIN_FILE_BYTES, Tail, tail_of
from sessiond.hub.transfer.attachments import transcript_of
from sessiond.hub.transfer.foreign_files import reason_to_skip
from sessiond.hub.transfer.source_state import FileStatus, SourceState

TOO_MANY: Final = (
    f"it has more than {sources.MAX_SOURCES:,} session files;"
    " of the others, only what is written from now on is read"
)


class FileSources:
    """The session files of an agent. See `SessionSources` for the methods."""

    is_recursive = True
    tail_dialects = DIALECTS
    min_tail_bytes = MIN_FILE_BYTES

    def __init__(self, agent: Agent, environ: Environ) -> None:
        self._agent = agent
        self._environ = environ
        self._linked: dict[str, str] = {}  # as in `VisitedFolders`, of the last census

    def census(self) -> AgentSources:
        """Return all session files."""
        census, visited = AgentSources(), VisitedFolders()
        roots = real_folders(self._agent, self._environ)
        for folder in [path for path in self._folders() if os.path.isdir(path)]:  # noqa: PTH112 - a text
            with contextlib.closing(session_files(self._agent, folder, visited, roots)) as found:
                for item in found:
                    if len(census.sources) >= sources.MAX_SOURCES:
                        census.problems[folder] = TOO_MANY
                        census.is_complete = False
                        break
                    _add(item, census, visited)
        census.problems.update(visited.problems)
        self._linked = visited.linked
        census.folders, census.has_links = visited.paths, visited.has_links
        return census

    def look_at(self, path: str) -> FileStatus | str | None:
        """Look at one path."""
        folder = next((parent for parent in self._folders() if path.startswith(f"{parent}/")), None)
        if folder is None or not self._agent.is_session_file(path[len(folder) + 1 :]):
            return None
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            return reason(error)
        if stat.S_ISDIR(status.st_mode):
            return None  # a folder is not a session
        above = path.rpartition("/")[0]
        real = os.path.realpath(above)
        if stat.S_ISLNK(status.st_mode):
            return LINK
        if real not in (os.path.realpath(folder) + above[len(folder) :], self._linked.get(above)):
            # A file that another path leads to, too, is read there, and is no problem here.
            roots = real_folders(self._agent, self._environ)
            return None if is_below(real, roots) or real in self._linked.values() else LINK
        return reason_to_skip(status) or FileStatus.of(status)

    def status(self, path: str) -> FileStatus | None:
        """Return the status of a file."""
        return FileStatus.at(path)

    def size_of(self, sources: Mapping[str, FileStatus]) -> int:
        """Return the size of the files."""
        return sum(status.size for status in sources.values())

    def written(self, path: str) -> str | None:
        """Return the path itself if it is that of a session file, or the session file that it lies beside."""
        folder = next((parent for parent in self._folders() if path.startswith(f"{parent}/")), None)
        is_session_file = folder is not None and self._agent.is_session_file(path[len(folder) + 1 :])
        return path if is_session_file else transcript_of(path, self._agent.dialect)

    def container_of(self, path: str) -> str | None:
        """Return None, since each session has a file of its own."""
        return None

    def changes_in(self, container: str) -> ContainerChange:
        """Return no changes: there are no containers."""
        return ContainerChange()

    def tail(self, path: str, dialect: str, state: SourceState, reader: bytes | None) -> Tail | None:
        """Return the tail of a file."""
        return None if reader is None else tail_of(path, dialect, state, reader)

    def _folders(self) -> list[str]:
        return self._agent.folders(self._environ)


def _add(entry: "os.DirEntry[str]", census: AgentSources, visited: VisitedFolders) -> None:
    status = status_of(entry, visited)
    if status is None:
        return
    if (problem := reason_to_skip(status)) is not None:
        census.problems[entry.path] = problem
    else:
        census.sources[entry.path] = FileStatus.of(status)
