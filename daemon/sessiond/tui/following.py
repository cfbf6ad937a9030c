"""The browser's connection to the daemon: restored after a loss, with the session open for notifications.

The asynchronous client is imported after the first picture, in a thread: its import takes as long as the picture.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from sessiond.client import dial
from sessiond.client.backoff import pauses
from sessiond.client.daemon_socket import DaemonConnectionError, VersionMismatchError
from sessiond.client.wire import DisconnectedError, InvalidResponseError, RpcError
from sessiond.paths import Locations, find_locations
from sessiond.protocol import methods as m, types as t

if TYPE_CHECKING:
    from sessiond.client.daemon import Daemon
    from sessiond.client.notifications import Notifications
    from sessiond.client.receiver import NotificationParams

AWAY = (DaemonConnectionError, DisconnectedError, InvalidResponseError, TimeoutError)
"""Exceptions of requests while there is no daemon."""

_NEWS = (m.TREE_CHANGED.name, m.TREE_LAPSED.name, m.CHANGED.name, m.DELETED.name)


class Follower(Protocol):
    """Receives events about a session. No method may wait or raise."""

    def attached(self, session: t.SessionInfo) -> None:
        """The session is open and notifications follow; the tree must be watched."""

    def away(self) -> None:
        """There is no daemon. The connection is tried again."""

    def refused(self, error: RpcError | VersionMismatchError) -> None:
        """The daemon refused the session or the connection."""

    def received(self, note: NotificationParams) -> None:
        """A notification about the session arrived."""


class Following:
    """One connection at a time, for a browser that shows one session after another."""

    def __init__(self, locations: Locations | None, session_id: str) -> None:
        self._locations = locations or find_locations()
        self._session_id = session_id
        self._daemon: Daemon | None = None
        self._notes: Notifications | None = None
        self._again = asyncio.Event()
        self._tried = asyncio.Event()

    @property
    def daemon(self) -> Daemon:
        """The daemon, for requests. Raises `DisconnectedError` while there is no connection."""
        if self._daemon is None:
            raise DisconnectedError
        return self._daemon

    async def first_attempt(self) -> None:
        """Wait until the first attempt to connect has succeeded or failed; keys may be pressed before that."""
        await self._tried.wait()

    async def switch_to(self, session_id: str) -> None:
        """Follow this session from now on; if it is the same, open it again."""
        self._session_id = session_id
        self._again.set()
        if self._notes is not None:
            await self._notes.aclose()

    async def start_daemon(self) -> None:
        """Start a daemon if none runs. Raises `DaemonConnectionError`."""
        (await asyncio.to_thread(dial.connect, self._locations, autostart=True)).close()

    async def run(self, follower: Follower) -> None:
        """Connect, and pass events to `follower`. Runs until it is canceled. A lost connection is restored."""
        await asyncio.to_thread(_import_client)
        from sessiond.client.daemon import connect

        tries = pauses()
        while True:
            try:
                # It is not started automatically, since the user may have stopped it.
                async with connect(
                    locations=self._locations, autostart=False, name="sessiond tree"
                ) as daemon:
                    self._daemon = daemon
                    self._tried.set()
                    tries = pauses()
                    await self._stay(daemon, follower)
            except VersionMismatchError as error:
                follower.refused(error)
            except AWAY:
                follower.away()
            except RpcError as error:  # a refused handshake
                follower.refused(error)
            finally:
                self._daemon = None
                self._tried.set()
            await asyncio.sleep(next(tries))

    async def _stay(self, daemon: Daemon, follower: Follower) -> None:
        """Stay attached until the connection ends, which the next request over it reports."""
        while True:
            self._again.clear()
            session_id = self._session_id
            self._notes = daemon.notifications(*_NEWS)
            try:
                session = (await daemon.open(session_id, bind=False)).session
                if session_id == self._session_id:
                    follower.attached(session)
                    await self._deliver(self._notes, session.session_id, follower)
            except RpcError as error:
                if session_id == self._session_id:
                    follower.refused(error)
                    await self._again.wait()
            finally:
                await self._notes.aclose()

    async def _deliver(self, notes: Notifications, session_id: str, follower: Follower) -> None:
        """Pass on notifications until some were missed, or another session is requested."""
        from sessiond.client.notifications import NotificationsMissedError

        try:
            async for note in notes:
                if _session_of(note) in (None, session_id):
                    follower.received(note)
        except NotificationsMissedError:
            return


def _import_client() -> None:
    import sessiond.client.daemon  # noqa: F401 - see above


def _session_of(note: NotificationParams) -> str | None:
    """Return the session that a notification is about; None for that of a watch, which has an id."""
    if isinstance(note, t.DeletedNote):
        return note.session_id
    return note.session.session_id if isinstance(note, t.ChangedNote) else None
