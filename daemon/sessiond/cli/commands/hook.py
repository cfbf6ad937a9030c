"""The command hook: tells the daemon that an agent has written to a session.

Agents wait for their hooks, so it waits for the daemon no longer than a few milliseconds, and always succeeds. If none
runs that would follow the agent, a process of its own starts one, for which the hook does not wait: an agent may delete
a session that no daemon has read (decision 0061).
"""

from __future__ import annotations

import os
import time

# `signal` imports enum, which takes half a Python start. Its C module has no stub.
from _signal import ITIMER_REAL, SIGALRM, setitimer, signal  # type: ignore[import-not-found]

from sessiond.agent_names import SILENT_OUTPUT, TAKES_NOTE
from sessiond.client.daemon_socket import find_socket
from sessiond.client.light_json import decode, encode
from sessiond.client.wire import MessageReader, frame, members
from sessiond.paths import find_locations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.paths import Locations

START_EVENT = "SessionStart"
"""The event at which a session begins or continues, in the agents that accept a note then."""
END_EVENT = "SessionEnd"
"""The event at which a session ends, in the same agents."""
READ_SECONDS = 0.015
"""Seconds that the agent may take to write the event. After that, the daemon is notified without the file's path."""
RESPONSE_SECONDS = 0.02
"""Seconds that the daemon may take to respond. It usually takes a twentieth of that."""
LAST_SECONDS = 0.1
"""Seconds until the process ends if it cannot reach the daemon. A daemon with a full queue refuses immediately."""
START_SECONDS = 10.0
"""Seconds that a daemon may take to start."""
PAUSE_SECONDS = 60.0
"""Seconds without an attempt after one has failed. The modification time of `start.lock` is their end."""

_MAX_EVENT_BYTES = 1 << 20
_MAX_PATH = 4096
_MAX_ID = 512
_MAX_SHELLS = 4
_SHELLS = (b"sh", b"dash", b"bash", b"ash", b"busybox", b"ksh", b"mksh", b"zsh", b"fish")
"""Programs by which agents run the commands of hooks."""
_MAX_INHERITED = 1024
"""Descriptors of the agent that a process that starts the daemon closes."""


def hook(args: ParsedArguments) -> int:
    """Report one event of an agent to the daemon."""
    return run(args.required("AGENT"))


def run(agent: str) -> int:
    """Report the event on standard input to the daemon, if one runs, and print its note. Returns 0 in every case."""
    output = SILENT_OUTPUT.get(agent, "").encode()
    try:
        event = _fields(_read_event())
        _limit(LAST_SECONDS, lambda *_: _end(output))
        output = _noted(_wake(_params(agent, event))) or output
    except BaseException:  # noqa: BLE001 - the agent must not notice anything
        _end(output)
    setitimer(ITIMER_REAL, 0)
    _print(output)
    return 0


def _limit(seconds: float, handler: Callable[..., object]) -> None:
    """Call a function after a number of seconds, also while the process waits for the system."""
    signal(SIGALRM, handler)
    setitimer(ITIMER_REAL, seconds)


def _end(output: bytes) -> NoReturn:
    _print(output)
    os._exit(0)


def _print(output: bytes) -> None:
    if output:
        try:
            os.write(1, output)
        except OSError:
            return  # the agent has gone


def _stop_reading(*_: object) -> NoReturn:
    raise TimeoutError


def _read_event() -> bytes:
    """Return the event, or its first part; the rest is read and dropped, so that the agent can write it."""
    if os.isatty(0):
        return b""
    parts: list[bytes] = []
    size = 0
    try:
        _limit(READ_SECONDS, _stop_reading)
        while part := os.read(0, 1 << 16):
            if size <= _MAX_EVENT_BYTES:
                parts.append(part)
            size += len(part)
        setitimer(ITIMER_REAL, 0)
    except TimeoutError:
        return b""
    return b"".join(parts) if size <= _MAX_EVENT_BYTES else b""


def _fields(event: bytes) -> dict[str, Any]:
    """Return the members of the event; none if it is not a JSON object."""
    try:
        fields = decode(event.decode())
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _params(agent: str, event: dict[str, Any]) -> dict[str, Any]:
    """Return the params of `agent/wake` for an event: the session, its folder at its start, the process."""
    params: dict[str, Any] = {"agent": agent}
    if (path := _path(event.get("transcript_path"))) is not None:
        params["path"] = path
    is_start = event.get("hook_event_name") == START_EVENT and agent in TAKES_NOTE
    if is_start and (folder := _path(event.get("cwd"))) is not None:
        params["startingIn"] = folder
    session_id = event.get("session_id")
    if isinstance(session_id, str) and 0 < len(session_id) <= _MAX_ID:
        params["sessionId"] = session_id
    if event.get("hook_event_name") == END_EVENT:
        params["ended"] = True
    return params | _process()


def _process() -> dict[str, int]:
    """Return the process of the agent, which is the parent or has a shell between; {} if `/proc` does not show it."""
    pid = os.getppid()
    try:
        for _ in range(_MAX_SHELLS):
            with open(f"/proc/{pid}/stat", "rb") as file:
                before, _, after = file.read().rpartition(b")")
            fields = after.split()
            if before.partition(b"(")[2] not in _SHELLS:
                return {"pid": pid, "startTime": int(fields[19])}
            pid = int(fields[1])
    except (OSError, ValueError, IndexError):
        return {}
    return {}


def _path(value: object) -> str | None:
    if isinstance(value, str) and value.startswith("/") and len(value) <= _MAX_PATH and "\0" not in value:
        return value
    return None


def _wake(params: dict[str, Any]) -> object:
    """Send `agent/wake` to a running daemon of this machine, and wait a moment for its result."""
    locations = find_locations()
    sock = find_socket(locations, time.monotonic())
    if sock is None:
        if _may_start(locations, params["agent"]):
            _start(locations)
        return None
    with sock:
        sock.settimeout(RESPONSE_SECONDS)
        sock.sendall(frame({"jsonrpc": "2.0", "id": 1, "method": "agent/wake", "params": params}))
        setitimer(ITIMER_REAL, RESPONSE_SECONDS)  # for the whole response, also if it comes in small pieces
        reader = MessageReader(sock)
        while "id" not in (found := members(reader.read())):
            pass  # notifications
    return found["result"][0] if "result" in found else None


def _may_start(locations: Locations, agent: str) -> bool:
    """Return whether a daemon would follow the agent, and no attempt to start one has failed just now."""
    if os.environ.get("SESSIOND_NO_AUTOSTART"):
        return False
    try:
        with open(locations.config_file, "rb") as file:
            if agent.encode() not in file.read(
                _MAX_EVENT_BYTES
            ):  # a TOML parser takes longer than the hook may
                return False
        return os.stat(locations.start_lock).st_mtime <= time.time()  # noqa: PTH116 - pathlib takes milliseconds
    except FileNotFoundError:
        return os.path.exists(locations.config_file)  # noqa: PTH110 - as above
    except OSError:
        return False


def _start(locations: Locations) -> None:
    """Have another process start the daemon. It inherits no descriptor for whose end the agent could wait."""
    if os.fork():
        return
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nowhere, number)
        os.closerange(3, _MAX_INHERITED)
        _start_here(locations)
    finally:
        os._exit(0)


def _start_here(locations: Locations) -> None:
    """Start the daemon. If that fails, no hook tries it again for some time."""
    from sessiond.client.daemon_socket import DaemonConnectionError
    from sessiond.client.start import start
    from sessiond.paths import UnsafeFolderError

    try:
        start(locations, time.monotonic() + START_SECONDS).close()
    except (DaemonConnectionError, UnsafeFolderError, OSError):
        later = time.time() + PAUSE_SECONDS
        os.utime(locations.start_lock, (later, later))


def _noted(result: object) -> bytes:
    """Return what gives the note in a result to the agent's model; b"" without one."""
    note = result.get("note") if isinstance(result, dict) else None
    if not isinstance(note, str):
        return b""
    context = {"hookEventName": START_EVENT, "additionalContext": note}
    return encode({"hookSpecificOutput": context}).encode()
