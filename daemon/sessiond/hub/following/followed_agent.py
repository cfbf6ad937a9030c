"""The state of one followed agent: which of its files were read, which wait, and which cannot be followed."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from sessiond.agents.agent import Agent
from sessiond.hub.following.census import AgentFiles
from sessiond.hub.transfer.source_state import FileStatus


@dataclass(slots=True)
class FollowedAgent:
    """One followed agent.

    Attributes:
        agent: The agent.
        seen: The status with which each file was read last, by path.
        written: Files that were reported as written, oldest report first.
        waiting: Files that the last census found new or changed, with their status, oldest first.
        due: When a file that may have been incomplete is read again, by path; seconds of the monotonic clock.
        rests: Until when a large file is left alone, by path; seconds of the monotonic clock.
        problems: Why files are left out, by path.
        gone: Files that were deleted, and whose sessions say so.
        queued_count: The number of files that were in `waiting` after the last census.
        reading_count: The number of files of the backlog that are being read.
        has_census: Whether a census was taken.
        folders: The folders of the last census, with all folders below.
        has_linked_folders: Whether a folder below is a symbolic link.
    """

    agent: Agent
    seen: dict[str, FileStatus] = field(default_factory=dict)
    written: dict[str, None] = field(default_factory=dict)
    waiting: list[tuple[str, FileStatus]] = field(default_factory=list)
    due: dict[str, float] = field(default_factory=dict)
    rests: dict[str, float] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    queued_count: int = 0
    reading_count: int = 0
    has_census: bool = False
    folders: list[str] = field(default_factory=list)
    has_linked_folders: bool = False

    def compare(self, census: AgentFiles) -> list[str]:
        """Queue the files that are new or changed since they were read, the newest to be read first.

        Returns:
            The files that were read, and are there no more.
        """
        changed = [it for it in census.files.items() if self.seen.get(it[0]) != it[1]]
        changed.sort(key=lambda it: it[1].modified_ns)
        self.waiting = changed
        self.queued_count = len(changed)
        self.problems = {
            **{path: reason for path, reason in self.problems.items() if path in census.files},
            **census.problems,
        }
        left_out = {*census.files, *census.problems}
        return [path for path in self.seen if path not in left_out]

    def report(self, paths: Iterable[str]) -> None:
        """Queue files that were written."""
        self.written.update(dict.fromkeys(paths))

    def next_written(self) -> str | None:
        """Remove and return a file that was written."""
        path = next(iter(self.written), None)
        if path is not None:
            del self.written[path]
        return path

    def next_due(self, now: float) -> str | None:
        """Remove and return a file that is due. `now` is a time of the monotonic clock."""
        path = next((path for path, at in self.due.items() if at <= now), None)
        if path is not None:
            del self.due[path]
        return path

    def next_waiting(self, max_files: int, max_bytes: int) -> list[str]:
        """Remove and return files of the backlog: at least one, and at most so many with so many bytes together."""
        taken: list[str] = []
        size = 0
        while self.waiting and len(taken) < max_files and size < max_bytes:
            path, status = self.waiting.pop()
            size += status.size
            taken.append(path)
        return taken
