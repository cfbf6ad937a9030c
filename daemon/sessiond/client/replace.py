"""Replaces the running daemon: by a newer version, or by a restart of the same one.

`start.lock` is held from before the old daemon is asked to end until the new one is ready. Otherwise, a client of the
old version that loses its connection would start the old version again at once. Daemons are only asked to end; this
module kills none.
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
"""Seconds for the whole replacement, in addition to the time that requests in flight may take."""

WITHIN = 10.0
"""Default for the seconds that the old daemon may take for requests in flight."""

_AN_ANSWER = 30.0


class DaemonStays(CannotConnect):
    """Raised when a daemon that is to be replaced does not end."""

    sentence = "The daemon at {path} did not end: {reason}."

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path=path, reason=reason)


def replaced_if_older(places: Locations) -> socket.socket:
    """Connect to a daemon that shares a version of the protocol. A daemon with only older versions is replaced.

    Raises:
        VersionMismatch: The running daemon is newer, or the new daemon shares no version either.
        DaemonStays: The old daemon did not end.
    """

    def is_older(found: Reached) -> bool:
        theirs = _spoken_by(found)
        if versions.common(theirs):
            return False
        if max(theirs, default=0) < versions.OLDEST:
            return True
        raise VersionMismatch(found.told, theirs)

    _replaced(places, is_older, "it supports only older versions of the protocol", WITHIN)
    with (found := _reached_again(places)).sock:
        theirs = _spoken_by(found)
    if not versions.common(theirs):
        raise VersionMismatch(found.told, theirs)
    # The caller makes its own handshake, and a connection accepts only one.
    return _reached_again(places).sock


def restart(places: Locations, *, within: float = WITHIN) -> dict[str, Any] | None:
    """Restart the daemon, or start it.

    Args:
        places: The folders of the daemon.
        within: Seconds that the old daemon may take for requests in flight.

    Returns:
        The endpoint file of the old daemon (see `server/process/endpoint.py`), or None if none ran.
    """
    return _replaced(places, lambda found: True, "sessiond restart", within)


@contextlib.contextmanager
def make_room(places: Locations, reason: str) -> Iterator[None]:
    """End the running daemon; none runs during the block, and no client starts one.

    Raises:
        DaemonStays: The daemon did not end.
        DaemonNotStarted: Other clients held `start.lock` all the time.
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
    """Replace the daemon if `leaves` is true for it. Returns its endpoint file; None if it stays or none ran."""
    deadline = time.monotonic() + PATIENCE + within
    make_private(places.state)
    with only_starter(places, deadline):
        found = reach(places, deadline)
        if found is not None:
            # `Disconnected`: the daemon ended before the request or because of it; both complete the first step.
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
    """Return the versions that the daemon reports; the endpoint file may be that of its predecessor."""
    answer = _asked(found, "server/hello", {"protocolVersions": versions.spoken()})
    if "result" in answer:
        return versions.spoken()  # the daemon supports at least one of them
    data = answer["error"].get("data") or {}
    if data.get("kind") != "unsupportedVersion":
        raise BadReply(f"it refuses `server/hello`: {answer['error'].get('message')!s:.200}")
    details = data.get("details") or {}
    return [it for it in details.get("supportedVersions") or [] if isinstance(it, int)]


def _drain(found: Reached, reason: str, within: float, deadline: float) -> None:
    """Ask a daemon to end, and wait until it has closed. Raises `DaemonStays`, `Disconnected`."""
    answer = _asked(found, "server/drain", {"note": reason, "timeoutMs": round(within * 1000)})
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
    """Send one request and return the response: an object with `result` or `error`.

    Raises `Disconnected` when the daemon ends instead, and `DaemonStays` when it does not respond in time.
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
        raise DaemonStays(found.path, f"it did not respond within {_AN_ANSWER:.0f} seconds") from error
    except ConnectionError as error:
        raise Disconnected from error
    if "result" not in message and not isinstance(message.get("error"), dict):
        raise BadReply("a response without result or error")
    return message
