"""Another daemon in place of the one that runs: of a newer version, or the same one restarted.

Whoever replaces holds `start.lock` from before the old daemon is asked to go until the new one is ready. Otherwise a
client of the old version that loses its connection would start the old version again at once. A daemon is only ever
asked: none is killed here.
"""

from __future__ import annotations

import contextlib
import time

from sessiond.client.daemon_socket import CannotConnect, DaemonNotRunning, Reached, VersionMismatch, reach
from sessiond.client.start import only_starter, spawned
from sessiond.client.wire import BadReply, Disconnected, MessageReader, frame, members
from sessiond.paths import Locations, make_private
from sessiond.protocol import versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from typing import Any

PATIENCE = 40.0
"""Seconds for the whole of it: until the old daemon has finished what it began, and the new one is ready."""

WITHIN = 10.0
"""Seconds that the old daemon may take for what it is being asked."""

_AN_ANSWER = 30.0


class DaemonStays(CannotConnect):
    """Raised when a daemon that is to be replaced does not end."""

    sentence = "The daemon at {path} was asked to make room, and is still there: {reason}."

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path=path, reason=reason)


def replaced_if_older(places: Locations) -> socket.socket:
    """A connection to a daemon that speaks a version of ours, after one that speaks only older ones has made room.

    Raises `VersionMismatch` when what runs is newer than we are, or when the new daemon speaks none of ours either.
    """

    def is_older(found: Reached) -> bool:
        theirs = _spoken_by(found)
        if versions.common(theirs):
            return False
        if max(theirs, default=0) < versions.OLDEST:
            return True
        raise VersionMismatch(found.told, theirs)

    _replaced(places, is_older, "it speaks only older versions of the protocol", WITHIN)
    with (found := _reached_again(places)).sock:
        theirs = _spoken_by(found)
    if not versions.common(theirs):
        raise VersionMismatch(found.told, theirs)
    # Whoever asked for this says `initialize` for itself, and that can be said only once.
    return _reached_again(places).sock


def restart(places: Locations, *, within: float = WITHIN) -> dict[str, Any] | None:
    """Restart the daemon, or start it. `within`: seconds for what the old one is being asked.

    Returns what the old one told of itself (see `server/process/endpoint.py`), or None.
    """
    return _replaced(places, lambda found: True, "sessiond restart", within)


@contextlib.contextmanager
def make_room(places: Locations, reason: str) -> Iterator[None]:
    """No daemon runs for the time of the block, and nobody starts one: the one that ran was asked to go.

    Raises `DaemonStays`, `DaemonNotStarted`: somebody else was starting one all the time.
    """
    deadline = time.monotonic() + PATIENCE
    make_private(places.state)
    with only_starter(places, deadline):
        found = reach(places, deadline)
        if found is not None:
            with found.sock, contextlib.suppress(Disconnected):
                _drain(found, reason, WITHIN, deadline)
        yield


def _replaced(
    places: Locations, leaves: Callable[[Reached], bool], reason: str, within: float
) -> dict[str, Any] | None:
    """Have a daemon go that is to leave, and start another; what the old one told of itself, None if it stays."""
    deadline = time.monotonic() + PATIENCE + within
    make_private(places.state)
    with only_starter(places, deadline):
        found = reach(places, deadline)
        if found is not None:
            # Gone by itself meanwhile is as good as gone because it was asked to.
            with found.sock, contextlib.suppress(Disconnected):
                if not leaves(found):
                    return None
                _drain(found, reason, within, deadline)
        spawned(places, deadline).sock.close()
    return found.told if found is not None else None


def _reached_again(places: Locations) -> Reached:
    found = reach(places, time.monotonic() + 1.0)
    if found is None:
        raise DaemonNotRunning
    return found


def _spoken_by(found: Reached) -> list[int]:
    """Which versions the daemon speaks, by its own word: its endpoint may be that of the one before it."""
    params = {
        "processId": None,
        "capabilities": {},
        "initializationOptions": {"sessiond": {"protocolVersions": versions.spoken()}},
    }
    answer = _asked(found, "initialize", params)
    if "result" in answer:
        return versions.spoken()  # or some of them
    data = answer["error"].get("data") or {}
    if data.get("kind") != "unsupportedVersion":
        raise BadReply(f"it refuses `initialize`: {answer['error'].get('message')!s:.200}")
    return [it for it in data.get("supported") or [] if isinstance(it, int)]


def _drain(found: Reached, reason: str, within: float, deadline: float) -> None:
    """Ask a daemon to make room, and wait until it has closed. Raises `DaemonStays`, `Disconnected`."""
    answer = _asked(found, "server/drain", {"reason": reason, "within": within})
    if "error" in answer:
        raise DaemonStays(found.path, str(answer["error"].get("message")).rstrip("."))
    found.sock.settimeout(max(0.1, deadline - time.monotonic()))
    try:
        while found.sock.recv(65_536):
            pass
    except TimeoutError as error:
        raise DaemonStays(found.path, f"process {answer['result'].get('pid')} has not ended yet") from error
    except ConnectionError as error:
        raise Disconnected from error


def _asked(found: Reached, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """What the daemon answers to one request: an object with `result` or `error`.

    Raises `Disconnected` when it ends instead, `DaemonStays` when it does nothing at all.
    """
    found.sock.settimeout(_AN_ANSWER)
    reader = MessageReader(found.sock)
    try:
        found.sock.sendall(frame({"jsonrpc": "2.0", "id": method, "method": method, "params": params}))
        while True:
            message = {name: value for name, (value, _, _) in members(reader.read()).items()}
            if "method" not in message and message.get("id") in (method, None):
                break
    except TimeoutError as error:
        raise DaemonStays(found.path, f"it gives no answer within {_AN_ANSWER:.0f} seconds") from error
    except ConnectionError as error:
        raise Disconnected from error
    if "result" not in message and not isinstance(message.get("error"), dict):
        raise BadReply("an answer without result or error")
    return message
