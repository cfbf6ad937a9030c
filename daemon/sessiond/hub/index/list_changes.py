"""The order in which sessions changed, so that a client receives only changes that it has not received yet.

Every change of a session's list row gets the next position. Only the last change of a session is stored, so the memory
depends on the number of sessions and not on how often they change. Used on the index thread.
"""

from bisect import bisect_right
from operator import itemgetter
from typing import Final, NamedTuple

MAX_CHANGED: Final = 10_000
"""The number of changed sessions that are remembered. The positions of earlier changes are too old to continue from."""


class ListRow(NamedTuple):
    """The columns of the table `files` that a list shows, or that its filter examines."""

    session_id: str
    draft: int
    cwd: str
    tags: str
    filter_text: str
    agent: str
    automated: int
    info: bytes


class SessionChange(NamedTuple):
    """The position of the last change of a session, and of each column that filters examine."""

    position: int
    draft: int = 0
    cwd: int = 0
    tags: int = 0
    filter_text: int = 0
    agent: int = 0
    automated: int = 0
    removed_row: ListRow | None = None
    """The last row of a session whose file no longer exists."""


class ListChanges:
    """The changed sessions since the index was built, in the order of their last change."""

    def __init__(self) -> None:
        self.position = 0
        """The position of the last change."""
        self.oldest = 0
        """The oldest position after which every change is known."""
        self._changed: dict[str, SessionChange] = {}
        """The last change of each session, the earliest first."""
        self._log: list[tuple[int, str]] = []
        """The position and the session of each change. Some are superseded by later changes of the same session."""

    def clear(self) -> None:
        """Discard all changes, because the index is rebuilt. Earlier positions are invalid then."""
        self.position += 1
        self.oldest = self.position
        self._changed.clear()
        self._log.clear()

    def record(self, before: ListRow | None, after: ListRow | None) -> None:
        """Record that a row was replaced by another. None means no row."""
        if before == after:
            return
        if before is not None and after is not None and before.session_id == after.session_id:
            self._record(before.session_id, before, after)
        else:
            if before is not None:
                self._record(before.session_id, before, None)
            if after is not None:
                self._record(after.session_id, None, after)
        while len(self._changed) > MAX_CHANGED:
            self.oldest = self._changed.pop(next(iter(self._changed))).position

    def since(self, position: int, up_to: int, limit: int) -> list[tuple[str, SessionChange]]:
        """Return the first `limit` sessions whose last change is in a range, in the order of these changes.

        The cost depends on the number of changes in the range, not on the number of sessions.
        """
        found: list[tuple[str, SessionChange]] = []
        for index in range(bisect_right(self._log, position, key=itemgetter(0)), len(self._log)):
            changed_at, session_id = self._log[index]
            if changed_at > up_to or len(found) == limit:
                break
            change = self._changed.get(session_id)
            if change is not None and change.position == changed_at:
                found.append((session_id, change))
        return found

    def _record(self, session_id: str, before: ListRow | None, after: ListRow | None) -> None:
        self.position += 1
        now = self.position
        last = self._changed.pop(session_id, SessionChange(0))._replace(position=now)
        if after is None:
            # If a second file of this session was removed, the session had the columns of either.
            other, row, last = last.removed_row, before, last._replace(removed_row=before)
        elif before is None:
            other, row, last = last.removed_row, after, last._replace(removed_row=None)
        else:
            other, row = before, after
        if other is not None and row is not None:
            last = SessionChange(
                now,
                now if other.draft != row.draft else last.draft,
                now if other.cwd != row.cwd else last.cwd,
                now if other.tags != row.tags else last.tags,
                now if other.filter_text != row.filter_text else last.filter_text,
                now if other.agent != row.agent else last.agent,
                now if other.automated != row.automated else last.automated,
                last.removed_row,
            )
        self._changed[session_id] = last
        self._log.append((now, session_id))
        if len(self._log) > 2 * MAX_CHANGED:
            self._log = [(change.position, name) for name, change in self._changed.items()]
