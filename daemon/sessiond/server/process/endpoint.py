"""`endpoint.json`: the address and identity of the running daemon, for all that share the state folder.

The file does not prove that a daemon runs: a killed daemon does not remove it. The lock determines which daemon runs,
and the socket determines which one answers.
"""

import os
import signal
from pathlib import Path

import msgspec

import sessiond
from sessiond.protocol import versions
from sessiond.rpc.process import boot_id, start_time


class Endpoint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The identity of a daemon.

    `epoch` is different after each start. `boot_id`, `pid` and `start_time` (clock ticks after boot) together identify
    one process permanently. The first and the last are null on systems without /proc.
    """

    socket: str
    epoch: str
    boot_id: str | None
    pid: int
    start_time: int | None
    build: str
    protocol: tuple[int, int]  # the oldest and the newest version that it supports
    tcp: str | None = None  # host and port of the TCP listener, if it is open


def describe(socket: str, epoch: str, tcp: str | None = None) -> Endpoint:
    """Return the endpoint of this process."""
    return Endpoint(
        socket=socket,
        epoch=epoch,
        boot_id=boot_id(),
        pid=os.getpid(),
        start_time=start_time(os.getpid()),
        build=sessiond.__version__,
        protocol=(versions.OLDEST, versions.NEWEST),
        tcp=tcp,
    )


def publish(path: str, endpoint: Endpoint) -> None:
    """Write the file atomically, readable for the owner only. The caller must hold the daemon's lock.

    There is no fsync: its content is not valid after a power failure, and a torn file is treated as missing.
    """
    text = msgspec.json.format(msgspec.json.encode(endpoint)) + b"\n"
    temporary = f"{path}.new"
    descriptor = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
    )
    with open(descriptor, "wb") as file:
        file.write(text)
    Path(temporary).rename(path)


def read(path: str) -> Endpoint | None:
    """Return the endpoint of the last daemon, or None if the file is missing or unreadable."""
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=Endpoint)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def withdraw(path: str) -> None:
    """Remove the file when the daemon ends normally."""
    Path(path).unlink(missing_ok=True)


def is_alive(endpoint: Endpoint) -> bool:
    """Return whether the process of the endpoint still runs on this machine. False if that is unknown."""
    known = endpoint.boot_id is not None and endpoint.start_time is not None
    return known and endpoint.boot_id == boot_id() and endpoint.start_time == start_time(endpoint.pid)


def wake(endpoint: Endpoint) -> bool:
    """Ask the process of the endpoint to check its socket now. Returns False if it does not run on this machine.

    If the socket was removed, a client need not wait for the next regular check. The signal is sent only to the exact
    process that wrote the endpoint.
    """
    if not is_alive(endpoint):
        return False
    try:
        os.kill(endpoint.pid, signal.SIGHUP)
    except OSError:
        return False
    return True
