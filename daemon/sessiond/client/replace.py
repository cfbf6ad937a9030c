"""Replaces the running daemon: by a newer version, or by a restart of the same one.

`start.lock` is held from before the old daemon is asked to end until the new one is ready. Otherwise, a client of the
old version that loses its connection would start the old version again at once. Daemons are only asked to end; this
module kills none.
"""

from __future__ import annotations

import contextlib
import time

from sessiond.client.daemon_socket import (
    DaemonConnectionError,
    DaemonNotRunningError,
    FoundDaemon,
    VersionMismatchError,
    find_daemon,
)
from sessiond.client.start import hold_start_lock, start_successor
from sessiond.client.wire import DisconnectedError, InvalidResponseError, MessageReader, frame, members
from sessiond.paths import Locations, make_private
from sessiond.protocol import versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from sessiond.client.light_socket import LightSocket

REPLACE_SECONDS = 40.0
"""Seconds for the whole replacement, in addition to the time that requests in flight may take."""

DRAIN_SECONDS = 10.0
"""Default for the seconds that the old daemon may take for requests in flight."""

_RESPONSE_SECONDS = 30.0


class DaemonNotStoppedError(DaemonConnectionError):
    """Raised when a daemon that is to be replaced does not end."""

    sentence = "The daemon at {path} did not end: {reason}."

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path=path, reason=reason)


def replace_if_older(locations: Locations) -> LightSocket:
    """Connect to a daemon that shares a version of the protocol. A daemon with only older versions is replaced.

    Raises:
        VersionMismatchError: The running daemon is newer, or the new daemon shares no version either.
        DaemonNotStoppedError: The old daemon did not end.
    """

    def is_older(found: FoundDaemon) -> bool:
        theirs = _versions_of(found)
        if versions.common(theirs):
            return False
        if max(theirs, default=0) < versions.OLDEST:
            return True
        raise VersionMismatchError(found.endpoint, theirs)

    _replace(locations, is_older, "it supports only older versions of the protocol", DRAIN_SECONDS)
    with (found := _find_running(locations)).sock:
        theirs = _versions_of(found)
    if not versions.common(theirs):
        raise VersionMismatchError(found.endpoint, theirs)
    # The caller makes its own handshake, and a connection accepts only one.
    return _find_running(locations).sock


def restart(locations: Locations, *, drain_seconds: float = DRAIN_SECONDS) -> dict[str, Any] | None:
    """Restart the daemon, or start it.

    Args:
        locations: The folders of the daemon.
        drain_seconds: Seconds that the old daemon may take for requests in flight.

    Returns:
        The endpoint file of the old daemon (see `server/process/endpoint.py`), or None if none ran.
    """
    return _replace(locations, lambda found: True, "sessiond restart", drain_seconds)


@contextlib.contextmanager
def daemon_stopped(locations: Locations, reason: str) -> Iterator[None]:
    """End the running daemon; none runs during the block, and no client starts one.

    Raises:
        DaemonNotStoppedError: The daemon did not end.
        DaemonStartError: Other clients held `start.lock` all the time.
    """
    deadline = time.monotonic() + REPLACE_SECONDS
    make_private(locations.state)
    with hold_start_lock(locations, deadline):
        found = find_daemon(locations, deadline)
        if found is not None:
            with found.sock, contextlib.suppress(DisconnectedError):
                _drain(found, reason, DRAIN_SECONDS, deadline)
        yield


def _replace(
    locations: Locations, should_end: Callable[[FoundDaemon], bool], reason: str, drain_seconds: float
) -> dict[str, Any] | None:
    """Replace the daemon if `should_end` is true for it. Returns its endpoint file; None if it stays or none ran."""
    deadline = time.monotonic() + REPLACE_SECONDS + drain_seconds
    make_private(locations.state)
    with hold_start_lock(locations, deadline):
        found = find_daemon(locations, deadline)
        if found is not None:
            # `DisconnectedError`: the daemon ended before the request or because of it; both complete the first step.
            with found.sock, contextlib.suppress(DisconnectedError):
                if not should_end(found):
                    return None
                _drain(found, reason, drain_seconds, deadline)
        start_successor(locations, deadline).sock.close()
    return found.endpoint if found is not None else None


def _find_running(locations: Locations) -> FoundDaemon:
    found = find_daemon(locations, time.monotonic() + 1.0)
    if found is None:
        raise DaemonNotRunningError
    return found


def _versions_of(found: FoundDaemon) -> list[int]:
    """Return the versions that the daemon reports; the endpoint file may be that of its predecessor."""
    response = _request(found, "server/hello", {"protocolVersions": versions.spoken()})
    if "result" in response:
        return versions.spoken()  # the daemon supports at least one of them
    data = response["error"].get("data") or {}
    if data.get("kind") != "unsupportedVersion":
        raise InvalidResponseError(f"it refuses `server/hello`: {response['error'].get('message')!s:.200}")
    details = data.get("details") or {}
    return [it for it in details.get("supportedVersions") or [] if isinstance(it, int)]


def _drain(found: FoundDaemon, reason: str, drain_seconds: float, deadline: float) -> None:
    """Ask a daemon to end, and wait until it has closed. Raises `DaemonNotStoppedError`, `DisconnectedError`."""
    response = _request(found, "server/drain", {"note": reason, "timeoutMs": round(drain_seconds * 1000)})
    if "error" in response:
        raise DaemonNotStoppedError(found.path, str(response["error"].get("message")).rstrip("."))
    found.sock.settimeout(max(0.1, deadline - time.monotonic()))
    try:
        while found.sock.recv(65_536):
            pass
    except TimeoutError as error:
        raise DaemonNotStoppedError(
            found.path, f"process {response['result'].get('pid')} has not ended yet"
        ) from error
    except ConnectionError as error:
        raise DisconnectedError from error


def _request(found: FoundDaemon, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send one request and return the response: an object with `result` or `error`.

    Raises `DisconnectedError` when the daemon ends instead, and `DaemonNotStoppedError` after a timeout.
    """
    found.sock.settimeout(_RESPONSE_SECONDS)
    reader = MessageReader(found.sock)
    try:
        found.sock.sendall(frame({"jsonrpc": "2.0", "id": method, "method": method, "params": params}))
        while True:
            message = {name: value for name, (value, _, _) in members(reader.read()).items()}
            if "method" not in message and message.get("id") in (method, None):
                break
    except TimeoutError as error:
        raise DaemonNotStoppedError(
            found.path, f"it did not respond within {_RESPONSE_SECONDS:.0f} seconds"
        ) from error
    except ConnectionError as error:
        raise DisconnectedError from error
    if "result" not in message and not isinstance(message.get("error"), dict):
        raise InvalidResponseError("a response without result or error")
    return message
