"""Reads only the last messages of a long session in a database, as `tails` reads the last lines of a file.

The result is that of the whole session if its earlier messages are unchanged. Sessions that may depend on them (with a
revert or a compaction) are read whole. All functions block.
"""

from dataclasses import dataclass
from typing import Final

from sessiond.agents import opencode_database
from sessiond.agents.opencode_database import UnreadableDatabase
from sessiond.hub import clock
from sessiond.hub.following.tails import Added
from sessiond.hub.transfer import database_sources
from sessiond.hub.transfer.foreign_files import Titles, companions
from sessiond.session.dialects import opencode
from sessiond.session.dialects.source import Source

WINDOW_MESSAGES: Final = 20
"""The last messages that are read again with what was added: only the last one can be incomplete."""
MAX_MESSAGES: Final = 60
"""The messages from which a session is read so, and the limit of the window."""
_REVERT: Final = b'"revert":{'


@dataclass(slots=True)
class DatabaseTail:
    """The end of what was read of a session.

    Attributes:
        path: The path of the source.
        first_message: The id of the first message that is read again.
    """

    path: str
    first_message: str

    def read_added(self) -> Added | None:
        """Read and convert the last messages. Returns None if the whole session must be read."""
        parts, status = database_sources.parts_of(self.path), database_sources.status_of(self.path)
        if parts is None or status is None:
            return None
        try:
            data = opencode_database.document(*parts, self.first_message)
            names = opencode_database.message_ids(*parts)
        except UnreadableDatabase:
            return None
        if data is None or _REVERT in data:
            return None
        imported = opencode.read(
            Source(
                name=self.path.rpartition("/")[2], data=data, modified=clock.iso(status.modified_ns),
                growing=True, beside=companions(self.path, opencode.NAME, Titles()),
            )
        )  # fmt: skip
        if imported.report.problem_count or any(it.type == "compaction" for it in imported.entries):
            return None
        if names[-MAX_MESSAGES:][0] > self.first_message:
            self.first_message = names[-WINDOW_MESSAGES]
        return Added(imported, imported.entries, status)


def tail_of(path: str) -> DatabaseTail | None:
    """Return the tail of a session that was read whole; None if it is short, or cannot be read now."""
    parts = database_sources.parts_of(path)
    try:
        names = [] if parts is None else opencode_database.message_ids(*parts)
    except UnreadableDatabase:
        return None
    return DatabaseTail(path, names[-WINDOW_MESSAGES]) if len(names) >= MAX_MESSAGES else None
