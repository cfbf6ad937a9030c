"""The part of the hub that deletion, restoration and moves of sessions call."""

from typing import Protocol

from sessiond.hub.session.live import LiveSession
from sessiond.protocol import types as t


class RetentionHost(Protocol):
    """The part of the hub that deletion, restoration and moves call."""

    def info(self, live: LiveSession) -> t.SessionInfo:
        """Return the description of an open session on the wire."""

    def refuse_when_draining(self) -> None:
        """Raise `Draining` while the daemon shuts down."""

    def log_moved(self, ref: str) -> None:
        """Update what is known of the logs: one was added or removed at `ref`."""
