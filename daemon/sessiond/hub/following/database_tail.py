"""Reads only the last messages of a long session in a database, as `tails` reads the last lines of a file.

The result is that of the whole session if its earlier messages are unchanged. Sessions that may depend on them (with a
revert or a compaction) are read whole. All functions block.
"""

from dataclasses import dataclass
from typing import Final

import msgspec

from sessiond.agents import known
from sessiond.agents.companions import Companions
from sessiond.agents.session_database import UnreadableDatabase
from sessiond.hub import clock
from sessiond.hub.following.tails import Added
from sessiond.hub.transfer import database_sources
from sessiond.hub.transfer.source_state import digest_of
from sessiond.session.dialects.source import Source

WINDOW_MESSAGES: Final = 20
"""The last messages that are read again with what was added: only the last one can be incomplete."""
MAX_MESSAGES: Final = 60
"""The messages from which a session is read so, and the limit of the window."""


@dataclass(slots=True)
class DatabaseTail:
    """The end of the part of a session that was read.

    Attributes:
        path: The path of the source.
        dialect: Its format.
        start: The number of messages before the first one that is read again.
        count: The number of messages that were read.
        digest: The digest of their ids in order.
    """

    path: str
    dialect: str
    start: int
    count: int
    digest: str

    def read_added(self) -> Added | None:
        """Read and convert the last messages.

        Returns:
            None if the whole session must be read: also if a message was added before the end, or one is gone.
        """
        parts, status = database_sources.parts_of(self.path), database_sources.status_of(self.path)
        if parts is None or status is None:
            return None
        try:
            found = database_sources.database_at(parts[0]).end_of_document(*parts, self._start_in)
        except UnreadableDatabase:
            return None
        if found is None:
            return None
        data, names = found
        imported = known.DIALECTS[self.dialect].read(
            Source(
                name=self.path.rpartition("/")[2], data=data, modified=clock.iso(status.modified_ns),
                growing=True, beside=Companions().of(self.path, self.dialect),
            )
        )  # fmt: skip
        if imported.report.problem_count or any(entry.type == "compaction" for entry in imported.entries):
            return None
        if len(names) - self.start > MAX_MESSAGES:
            self.start = len(names) - WINDOW_MESSAGES
        self.count, self.digest = len(names), _digest(names)
        return Added(imported, imported.entries, status)

    def _start_in(self, names: list[str]) -> int | None:
        """Return where the window begins among all messages; None if those that were read are no longer the first."""
        return self.start if _digest(names[: self.count]) == self.digest else None


def tail_of(path: str, dialect: str) -> DatabaseTail | None:
    """Return the tail of a session that was read whole; None if it is short, or cannot be read now."""
    parts = database_sources.parts_of(path)
    try:
        names = [] if parts is None else database_sources.database_at(parts[0]).message_ids(*parts)
    except UnreadableDatabase:
        return None
    if len(names) < MAX_MESSAGES:
        return None
    return DatabaseTail(path, dialect, len(names) - WINDOW_MESSAGES, len(names), _digest(names))


def _digest(names: list[str]) -> str:
    return digest_of(msgspec.json.encode(names))
