"""Session files as sources, each found with one `stat`. Files are not opened.

Symbolic links are not followed, because they may lead out of the agent's folder.
"""

import contextlib
import os
import stat
from collections.abc import Mapping
from typing import Final

from sessiond.agents.agent import Agent, Environ
from sessiond.agents.folder_walk import LINK, VisitedFolders, reason, session_files, status_of
from sessiond.hub.following import sources
from sessiond.hub.following.sources import AgentSources, ContainerChange
from sessiond.hub.following.tails import MIN_FILE_BYTES, STATES, Tail, tail_of
from sessiond.hub.transfer.foreign_files import reason_to_skip
from sessiond.hub.transfer.source_state import FileStatus, SourceState

TOO_MANY: Final = (
    f"it has more than {sources.MAX_SOURCES:,} session files;"
    " of the others, only what is written from now on is read"
)


class FileSources:
    """The session files of an agent. See `SessionSources` for the methods."""

    is_recursive = True
    tail_dialects = frozenset(STATES)
    min_tail_bytes = MIN_FILE_BYTES

    def __init__(self, agent: Agent, environ: Environ) -> None:
        self._agent = agent
        self._environ = environ

    def census(self) -> AgentSources:
        """Return all session files."""
        census, visited = AgentSources(), VisitedFolders()
        for folder in [it for it in self._folders() if os.path.isdir(it)]:  # noqa: PTH112 - a text
            with contextlib.closing(session_files(self._agent, folder, visited)) as found:
                for it in found:
                    if len(census.sources) >= sources.MAX_SOURCES:
                        census.problems[folder] = TOO_MANY
                        census.is_complete = False
                        break
                    _add(it, census, visited)
        census.problems.update(visited.problems)
        census.folders, census.has_links = visited.paths, visited.has_links
        return census

    def look_at(self, path: str) -> FileStatus | str | None:
        """Look at one path."""
        folder = next((it for it in self._folders() if path.startswith(f"{it}/")), None)
        if folder is None or not self._agent.is_session_file(path[len(folder) + 1 :]):
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

    def status(self, path: str) -> FileStatus | None:
        """Return the status of a file."""
        return FileStatus.at(path)

    def size_of(self, sources: Mapping[str, FileStatus]) -> int:
        """Return the size of the files."""
        return sum(it.size for it in sources.values())

    def written(self, path: str) -> str | None:
        """Return the path itself if it is that of a session file."""
        folder = next((it for it in self._folders() if path.startswith(f"{it}/")), None)
        is_session_file = folder is not None and self._agent.is_session_file(path[len(folder) + 1 :])
        return path if is_session_file else None

    def container_of(self, path: str) -> str | None:
        """Return None: each session has a file of its own."""
        return None

    def changes_in(self, container: str) -> ContainerChange:
        """Return no changes: there are no containers."""
        return ContainerChange()

    def tail(self, path: str, dialect: str, state: SourceState) -> Tail | None:
        """Return the tail of a file."""
        return tail_of(path, dialect, state)

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
