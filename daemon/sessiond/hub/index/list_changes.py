"""The order in which sessions changed, so that a client receives only changes that it has not received yet.

Every change of a session's list row gets the next position. Only the last change of a session is stored, so the memory
depends on the number of sessions and not on how often they change. Used on the index thread.
"""

from typing import Final, NamedTuple

MAX_CHANGED: Final = 10_000
"""The number of changed sessions that are remembered. The positions of earlier changes are too old to continue from."""


class ListRow(NamedTuple):
    """The columns of the table `files` that a list shows, or that its filter examines."""

    session_id: str
    draft: int
    cwd: str
    tags: str
    matter: str
    info: bytes


class SessionChange(NamedTuple):
    """The position of the last change of a session, and of each column that filters examine."""

    position: int
    draft: int = 0
    cwd: int = 0
    tags: int = 0
    matter: int = 0
    gone: ListRow | None = None
    """The last row of a session whose file no longer exists."""


class ListChanges:
    """The changed sessions since the index was built, in the order of their last change."""

    def __init__(self) -> None:
        self.position = 0
        """The position of the last change."""
        self.oldest = 0
        """The oldest position after which every change is known."""
        self._changed: dict[str, SessionChange] = {}

    def forget(self) -> None:
        """Discard all changes, because the index is rebuilt. No earlier position can be continued from."""
        self.position += 1
        self.oldest = self.position
        self._changed.clear()

    def replaced(self, before: ListRow | None, after: ListRow | None) -> None:
        """Record that a row was replaced by another. None means no row."""
        if before == after:
            return
        if before is not None and after is not None and before.session_id == after.session_id:
            self._note(before.session_id, before, after)
        else:
            if before is not None:
                self._note(before.session_id, before, None)
            if after is not None:
                self._note(after.session_id, None, after)
        while len(self._changed) > MAX_CHANGED:
            self.oldest = self._changed.pop(next(iter(self._changed))).position

    def since(self, position: int, up_to: int, most: int) -> list[tuple[str, SessionChange]]:
        """Return the first `most` sessions whose last change is in a range, in the order of these changes."""
        found: list[tuple[str, SessionChange]] = []
        for session_id, change in reversed(self._changed.items()):
            if change.position <= position:
                break
            if change.position <= up_to:
                found.append((session_id, change))
        return found[::-1][:most]

    def _note(self, session_id: str, before: ListRow | None, after: ListRow | None) -> None:
        self.position += 1
        now = self.position
        last = self._changed.pop(session_id, SessionChange(0))._replace(position=now)
        if (
            after is None and last.gone is not None
        ):  # a second file of this session was removed: assume any former row
            last = SessionChange(now, now, now, now, now, before)
        elif after is None:
            last = last._replace(gone=before)
        elif before is None:
            before, last = last.gone, last._replace(gone=None)
        if before is not None and after is not None:
            last = SessionChange(
                now,
                now if before.draft != after.draft else last.draft,
                now if before.cwd != after.cwd else last.cwd,
                now if before.tags != after.tags else last.tags,
                now if before.matter != after.matter else last.matter,
                last.gone,
            )
        self._changed[session_id] = last
