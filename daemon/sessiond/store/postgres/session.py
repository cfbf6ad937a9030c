"""One session of the database that is open here: what all its logs share.

Lines of other daemons are added to the mirror as they arrive (`catch_up`); each log accepts them for itself.
"""

import logging
import secrets
from typing import Final, Protocol
from uuid import uuid4

from sessiond.store.errors import LogGone, LogReplaced, StorageFailed
from sessiond.store.postgres.mirror import Mirror, MirrorPosition
from sessiond.store.postgres.queries import query
from sessiond.store.postgres.requests import Connection

log = logging.getLogger(__name__)

_PAGE_BYTES: Final = 1024 * 1024
_MAX_PAGE_LINES: Final = 2_000
_MIN_PAGE_LINES: Final = 8


class OpenLog(Protocol):
    """The notices of a session to its open logs."""

    draft: bool


class SharedSession:
    """The state of a session here.

    Attributes:
        key: the key of its row.
        epoch: the epoch of the lines in the mirror.
        notified_seq: the highest number of lines that a notification named.
        writing: whether a statement that adds lines of this daemon has been sent and not been answered.
        changing: whether this daemon changes lines, which gives another epoch.
        disk_error: why lines of other daemons could not be added to the mirror.
        replaced: why the mirror cannot be continued: the lines were changed or trashed elsewhere.
        unsynced: whether its last lines may not be synced by the server.
        unflushed: whether lines were stored since the last `flush`.
        logs: the open logs.
    """

    def __init__(
        self, mirror: Mirror, *, key: int, session_id: str, log_id: str, draft: bool, epoch: int
    ) -> None:
        self.mirror = mirror
        self.key = key
        self.session_id = session_id
        self.log_id = log_id
        self.draft = draft
        self.epoch = epoch
        self.notified_seq = mirror.seq
        self.writing = False
        self.changing = False
        self.replaced: LogReplaced | None = None
        self.disk_error: StorageFailed | None = None
        self.unsynced = False
        self.unflushed = False
        self.logs: set[OpenLog] = set()

    @property
    def is_behind(self) -> bool:
        """Whether a notification named lines that are not here."""
        return self.replaced is None and self.notified_seq > self.mirror.seq

    def is_busy(self) -> bool:
        """Whether the lines in the database may be about to be those of this daemon."""
        return self.writing or self.changing

    @property
    def position(self) -> MirrorPosition:
        """The position of the mirror."""
        mirror = self.mirror
        return MirrorPosition(
            self.session_id, self.key, self.log_id, self.draft,
            self.epoch, mirror.seq, mirror.size, mirror.digest,
        )  # fmt: skip

    def set_draft(self, *, draft: bool) -> None:
        """Set whether the session is a draft, for all logs."""
        self.draft = draft
        for log in self.logs:
            log.draft = draft

    def replace(self) -> None:
        """Mark the session as changed elsewhere, so that it is opened again."""
        if self.replaced is None:
            self.replaced = SessionReplaced(self.session_id)

    def remove(self) -> None:
        """Mark the session as trashed or deleted elsewhere."""
        self.replaced = SessionGone(self.session_id)


class SessionReplaced(LogReplaced):
    """Raised when the lines of an open session were changed by another daemon, or are no longer in the database."""

    sentence = "The lines of session {path} were replaced in the database."
    advice = "Open the session again to read it."


class SessionGone(LogGone):
    """Raised for an open session after a trash or purge elsewhere."""

    sentence = "Session {path} is no longer in the database: another daemon trashed it."
    advice = "`sessiond trash list` shows it; `sessiond trash restore` brings it back."


def page_lines(lines: int, size: int) -> int:
    """Return how many lines make a page, for a session with this number of lines and bytes."""
    average = max(1, size // max(1, lines))
    return max(_MIN_PAGE_LINES, min(_MAX_PAGE_LINES, _PAGE_BYTES // average))


async def begin_another_log(connection: Connection, key: int, epoch: int) -> None:
    """Give a session that lost lines another log id, unless its epoch is another one by now.

    A position that a client has may be that of a line that was lost, so no position of the former log may be used.
    Raises the errors of the driver.
    """
    log.warning(
        "The database lost lines of session %d, which were there before: it has another log id now", key
    )
    await connection.fetchrow(query("change_session"), key, epoch, secrets.randbits(62), uuid4().hex)


async def catch_up(connection: Connection, session: SharedSession) -> None:
    """Add the lines of the database that are not in the mirror.

    Several tasks may do so at the same time. While the session is busy nothing is added: the task that made it
    busy adds what is missing afterwards.

    Raises the errors of the driver.
    """
    mirror = session.mirror
    while session.replaced is None and not session.is_busy():
        seq, epoch = mirror.seq, session.epoch
        count = page_lines(mirror.seq, mirror.size)
        rows = await connection.fetch(query("lines_from"), session.key, seq, seq + count)
        if session.is_busy() or (seq, epoch) != (mirror.seq, session.epoch):
            continue
        if not rows or rows[0]["trashed"]:
            session.remove()
        elif rows[0]["epoch"] != epoch:
            session.replace()
        elif rows[0]["last"] < seq:
            await begin_another_log(connection, session.key, epoch)
            session.replace()
        else:
            session.set_draft(draft=rows[0]["draft"])
            mirror.add([row["raw"] for row in rows if row["raw"] is not None])
            session.notified_seq = max(session.notified_seq, mirror.seq)
            if mirror.seq >= rows[0]["last"]:
                return
            if mirror.seq == seq:
                session.replace()  # lines are missing in the database
