"""The state of one followed agent: which of its sources were read, which wait, and which cannot be followed.

A source is a file, or a session in a database. Its path shows which of the two it is.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from sessiond.agents.agent import Agent
from sessiond.hub.following.queues import Backlog, DueFiles
from sessiond.hub.following.sources import AgentSources, SessionSources
from sessiond.hub.transfer import attachments, fork_history
from sessiond.hub.transfer.import_results import EXCLUDED, UNREMARKABLE
from sessiond.hub.transfer.source_records import SourceRecord
from sessiond.hub.transfer.source_state import FileStatus
from sessiond.hub.transfer.unchanged import IMPORTER, is_of_these_readers

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 300.0
"""The pauses after a failure, in seconds: each is twice as long as the one before."""


@dataclass(slots=True, eq=False)
class FollowedAgent:
    """One followed agent.

    Attributes:
        agent: The agent.
        sources: Where its sessions are.
        seen: The status with which each file was read last, by path.
        written: Files that were reported as written, oldest report first.
        waiting: Files that the last census found new or changed.
        due: Files that may have been incomplete, and are read again at some time.
        rests: Until when a large file is left alone, by path; seconds of the monotonic clock.
        problems: Why files are left out, by path.
        gone: Files that do not exist any more, and whose sessions record that.
        unsettled: Files that are gone, are back, or were moved, and whose sessions do not say so yet.
        forks: Forks whose history was not found, which are read again when another session is found.
        excluded: Sources that are not read because of their folder, with that folder.
        lacking: By the path of a source, the files beside it that did not exist when it was read.
        unwatched: Sources without a known running process, and whether one was known until now.
        ended: Sources that no process has any more, with the time of that in nanoseconds since 1970.
        queued_count: The number of files that were in `waiting` after the last census.
        reading: The files of the backlog that are being read, with their status.
        has_census: Whether a census was taken.
        containers: The databases of the last census.
        folders: The folders of the last census, with all folders below.
        looked_at_ns: When that census began, in nanoseconds since 1970.
        is_census_due: Whether a folder is new since.
        taken: The reported file that is being read.
        has_linked_folders: Whether a folder below is a symbolic link.
        failure: Why it cannot be followed at present; None if it can.
        pause: The seconds until the next attempt after a failure.
        paused_until: The time of that attempt, in seconds of the monotonic clock.
    """

    agent: Agent
    sources: SessionSources
    seen: dict[str, FileStatus] = field(default_factory=dict)
    written: dict[str, None] = field(default_factory=dict)
    waiting: Backlog = field(default_factory=Backlog)
    due: DueFiles = field(default_factory=DueFiles)
    rests: dict[str, float] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    unsettled: set[str] = field(default_factory=set)
    forks: set[str] = field(default_factory=set)
    excluded: dict[str, str] = field(default_factory=dict)
    lacking: dict[str, list[str]] = field(default_factory=dict)
    unwatched: dict[str, bool] = field(default_factory=dict)
    ended: dict[str, int] = field(default_factory=dict)
    queued_count: int = 0
    reading: Mapping[str, FileStatus] = field(default_factory=dict)
    has_census: bool = False
    containers: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    has_linked_folders: bool = False
    looked_at_ns: int = 0
    is_census_due: bool = False
    taken: str | None = None
    failure: str | None = None
    pause: float = FIRST_PAUSE
    paused_until: float = 0.0

    def recall(
        self,
        records: Mapping[str, SourceRecord],
        census: AgentSources,
        is_excluded: Callable[[str, str], bool],
    ) -> None:
        """Recall which files were read before this daemon started. Takes time, so it is called on a thread.

        Files that another version of the readers has read are read again, in the backlog.

        Args:
            records: The records of the files of the agent.
            census: The first census.
            is_excluded: Returns whether a session is not read, for the path of its source and its folder.
        """
        for path, record in records.items():
            if record.is_gone:
                self.gone.add(path)
            elif path not in census.sources:
                self.seen[path] = record.state.status
            elif not is_of_these_readers(record) or (
                record.skipped is not None and record.importer != IMPORTER
            ):
                continue  # this version may read what an earlier one refused, or another way
            elif record.skipped is not None and record.skipped.message == EXCLUDED:
                if is_excluded(path, record.cwd):
                    self.seen[path] = record.state.status
                    self.excluded[path] = record.cwd
            elif record.state.is_settled and record.state.is_final:
                self.seen[path] = record.state.status
                if absent := attachments.missing(record.state.attachments):
                    self.lacking[path] = absent
                if record.session is not None and fork_history.lacking(record.session) is not None:
                    self.forks.add(path)
                if record.skipped is not None and record.skipped.message not in UNREMARKABLE:
                    self.problems[path] = record.skipped.message

    def compare(self, census: AgentSources) -> list[str]:
        """Queue the files that are new or changed since they were read. Takes time, so it is called on a thread.

        Returns:
            The files that were read, and do not exist any more.
        """
        files, seen = census.sources, self.seen
        self.containers = census.containers
        self.folders, self.has_linked_folders = census.folders, census.has_links
        complete = {path for path in self.lacking if self.is_complete_now(path)}
        self.waiting = Backlog(
            file for file in files.items() if seen.get(file[0]) != file[1] or file[0] in complete
        )
        self.queued_count = len(self.waiting)
        known = {path: reason for path, reason in self.problems.items() if path in files}
        self.problems = {**known, **census.problems}
        if not census.is_complete:
            return []
        return [path for path in seen if path not in files and path not in census.problems]

    def is_complete_now(self, path: str) -> bool:
        """Return whether a file beside a source exists that did not when the source was read. Blocks."""
        return any(os.path.lexists(file) for file in self.lacking.get(path, ()))

    def files(self) -> dict[str, FileStatus]:
        """Return the status of each of its files, as it was last found or read. May be called on any thread."""
        return {**self.seen, **self.reading, **dict(self.waiting)}

    def fail(self, failure: str, now: float) -> None:
        """Record that the agent cannot be followed, and leave it alone for some time."""
        self.failure = failure
        self.paused_until = now + self.pause
        self.pause = min(2 * self.pause, LONGEST_PAUSE)

    def recover(self) -> None:
        """Record that the agent can be followed."""
        self.failure, self.pause = None, FIRST_PAUSE

    def report(self, paths: Iterable[str]) -> None:
        """Queue files that were written."""
        self.written.update(dict.fromkeys(paths))

    def next_due(self, now: float, max_files: int, max_bytes: int, *, small: int) -> list[str]:
        """Remove and return files that are due: small ones together, or one file.

        Args:
            now: A time of the monotonic clock.
            max_files: The limit of files.
            max_bytes: The limit of their bytes together; the last file may exceed it.
            small: The size from which a file is returned alone.
        """
        taken: list[str] = []
        size = 0
        while len(taken) < max_files and size < max_bytes and (path := self.due.take(now)) is not None:
            status = self.seen.get(path)
            bytes_of_file = 0 if status is None else status.size
            if taken and bytes_of_file >= small:
                self.due[path] = now
                break
            taken.append(path)
            size += max_bytes if bytes_of_file >= small else bytes_of_file
        return taken

    def next_written(self) -> str | None:
        """Remove and return a file that was written."""
        path = next(iter(self.written), None)
        if path is not None:
            del self.written[path]
        return path
