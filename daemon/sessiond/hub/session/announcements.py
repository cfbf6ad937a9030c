"""The interface by which the parts of an open session announce new lines; `publisher` implements it."""

from collections.abc import Mapping
from typing import Protocol

from sessiond.hub.session.batches import Batch
from sessiond.hub.session.changes import SessionBefore
from sessiond.protocol import types as t


class Announcements(Protocol):
    """Announces new lines of one session."""

    is_promotion_pending: bool

    @property
    def has_subscribers(self) -> bool:
        """Whether clients receive the lines, so that an announcement takes time."""

    def committed(self, batch: Batch, first: int, before: SessionBefore | None) -> None:
        """Announce a committed batch whose first row is `first`."""

    def read_again(self, before: SessionBefore, origins: Mapping[str, t.Origin]) -> None:
        """Announce lines that were read since `before`, among which are lines of clients."""
