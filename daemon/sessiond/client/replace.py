"""Replaces the running daemon: by a newer version, or by a restart of the same one.

`start.lock` is held from before the old daemon is asked to end until the new one is ready. Otherwise, a client of the
old version that loses its connection would immediately start the old version again. Daemons are only asked to end; this
module kills none.
"""

from __future__ import annotations

import contextlib
import time

from sessiond import __version__
from sessiond.client.daemon_socket import (
    DaemonConnectionError,
    DaemonNotRunningError,
    FoundDaemon,
    OlderDaemonError,
    VersionMismatchError,
    find_daemon,
)
from sessiond.client.start import hold_start_lock, start_successor
from sessiond.client.wire import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    DisconnectedError,
    InvalidResponseError,
    MessageReader,
    frame,
    members,
    refusal,
)
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

RESPONSE_SECONDS = 30.0


class DaemonNotStoppedError(DaemonConnectionError):
    """Raised when a daemon that is to be replaced does not end."""

    sentence = "The daemon at {path} did not end: {reason}."

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path=path, reason=reason)


def replace_if_older(locations: Locations) -> LightSocket:
    """Connect to a daemon that shares a version of the protocol and is no older sessiond. An older one is replaced.

    A daemon that shares a version is replaced only if this client is the only one.

    Raises:
        VersionMismatchError: The running daemon is newer, or the new daemon shares no version either.
        OlderDaemonError: Other clients are attached to the older daemon, or the new daemon is older as well.
        DaemonNotStoppedError: The old daemon did not end.
    """

    def is_older(found: FoundDaemon) -> bool:
        theirs = _versions_of(found)
        if versions.common(theirs):
            return _is_older_and_idle(found)
        if max(theirs, default=0) < versions.OLDEST:
            return True
        raise VersionMismatchError(found.endpoint, theirs)

    _replace(locations, is_older, f"a client is sessiond {__version__}, which is newer", DRAIN_SECONDS)
    with (found := _find_running(locations)).sock:
        theirs = _versions_of(found)
    if not versions.common(theirs):
        raise VersionMismatchError(found.endpoint, theirs)
    if versions.is_older(found.build, __version__):
        advice = "Another program has started it again; for a service, run: sessiond install-service"
        raise OlderDaemonError(found.build, found.endpoint.get("pid"), advice)
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
    if response["error"].get("code") == METHOD_NOT_FOUND:
        return found.protocol_versions() or []  # 0.1.0 had no such method at first
    error = refusal(response["error"])
    if error.kind != "unsupportedVersion":
        raise InvalidResponseError(f"it refuses `server/hello`: {error.message:.200}")
    supported = error.details.get("supportedVersions")
    return (
        [version for version in supported if isinstance(version, int)] if isinstance(supported, list) else []
    )


def _is_older_and_idle(found: FoundDaemon) -> bool:
    """Return whether a daemon is an older sessiond without other clients. With some, raises `OlderDaemonError`."""
    status = _request(found, "server/status", {}).get("result") or {}
    build = str(status.get("version", ""))
    if not versions.is_older(build, __version__):
        return False
    if status.get("clientCount", status.get("clients")) == 1:  # `clients` until 0.1.0; this connection is one
        return True
    raise OlderDaemonError(
        build, status.get("pid"), "Other clients are attached to it. Replace it: sessiond restart"
    )


def _drain(found: FoundDaemon, reason: str, drain_seconds: float, deadline: float) -> None:
    """Ask a daemon to end, and wait until it has closed. Raises `DaemonNotStoppedError`, `DisconnectedError`."""
    response = _request(found, "server/drain", {"note": reason, "timeoutMs": round(drain_seconds * 1000)})
    if "error" in response and response["error"].get("code") == INVALID_PARAMS:
        response = _request(found, "server/drain", {})  # another version has other names for them
    if "error" in response:
        raise DaemonNotStoppedError(found.path, str(response["error"].get("message")).rstrip("."))
    try:
        while time.monotonic() < deadline:
            found.sock.settimeout(max(0.1, deadline - time.monotonic()))
            if not found.sock.recv(65_536):
                return
    except TimeoutError:
        pass
    except ConnectionError as error:
        raise DisconnectedError from error
    raise DaemonNotStoppedError(found.path, f"process {response['result'].get('pid')} has not ended yet")


def _request(found: FoundDaemon, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send one request and return the response: an object with `result` or `error`.

    Raises `DisconnectedError` when the daemon ends instead, and `DaemonNotStoppedError` after a timeout.
    """
    reader = MessageReader(found.sock)
    reader.wait(RESPONSE_SECONDS)
    try:
        found.sock.sendall(frame({"jsonrpc": "2.0", "id": method, "method": method, "params": params}))
        while True:
            message = {name: value for name, (value, _, _) in members(reader.read()).items()}
            if "method" not in message and message.get("id") in (method, None):
                break
    except TimeoutError as error:
        raise DaemonNotStoppedError(
            found.path, f"it did not respond within {RESPONSE_SECONDS:.0f} seconds"
        ) from error
    except ConnectionError as error:
        raise DisconnectedError from error
    if not isinstance(message.get("error", message.get("result")), dict):
        raise InvalidResponseError("a response without result or error")
    return message
