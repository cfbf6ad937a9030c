"""Reports of a sync, for people and for programs."""

from typing import Literal

import msgspec

Direction = Literal["sent", "received"]


class Transferred(msgspec.Struct, rename="camel"):
    """The content that one side received from the other."""

    session_count: int = 0
    line_count: int = 0
    blob_count: int = 0
    byte_count: int = 0


class SessionProblem(msgspec.Struct, rename="camel"):
    """A session, or one line of it, that was not synchronized."""

    session_id: str
    message: str
    entry_id: str | None = None


class SyncReport(msgspec.Struct, rename="camel"):
    """The result of a sync.

    Attributes:
        sent: The content that the other side received.
        received: The content that this side received.
        session_count: The number of sessions that were compared.
        unchanged_count: The number of those that were the same on both sides.
        merged: The sessions to which both sides had added, so that the merge rule chose the leaf.
        trashed: The sessions that were moved to the trash, because the other side had deleted them.
        restored: The sessions that left the trash, because the other side had added to them.
        problems: Sessions and lines that stay different.
        is_dry_run: Whether nothing was written.
    """

    sent: Transferred = msgspec.field(default_factory=Transferred)
    received: Transferred = msgspec.field(default_factory=Transferred)
    session_count: int = 0
    unchanged_count: int = 0
    merged: list[str] = msgspec.field(default_factory=list)
    trashed: list[str] = msgspec.field(default_factory=list)
    restored: list[str] = msgspec.field(default_factory=list)
    problems: list[SessionProblem] = msgspec.field(default_factory=list)
    is_dry_run: bool = False

    @property
    def has_changes(self) -> bool:
        """Whether anything was copied, deleted or restored."""
        return bool(
            self.sent.line_count or self.sent.session_count or self.received.line_count
            or self.received.session_count or self.trashed or self.restored
        )  # fmt: skip
