"""`endpoint.json`: where the running daemon listens and who it is, for all who share the state folder.

It proves nothing: a daemon that was killed leaves it behind. The lock decides who runs, the socket who
answers.
"""

import os
import signal
from pathlib import Path

import msgspec

import sessiond
from sessiond.protocol import versions
from sessiond.rpc.process import boot_id, start_time


class Endpoint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the daemon tells of itself.

    `epoch` is new at every start. `boot_id`, `pid` and `start_time` (clock ticks after boot) together name
    one process for ever; the first and the last are null on systems without /proc.
    """

    socket: str
    epoch: str
    boot_id: str | None
    pid: int
    start_time: int | None
    build: str
    protocol: tuple[int, int]  # the oldest and the newest version it speaks
    tcp: str | None = None  # host and port of the TCP listener, where it is open


def describe(socket: str, epoch: str, tcp: str | None = None) -> Endpoint:
    """Describe this process."""
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
    """Write it in one step, for the owner only. Needs the daemon's lock.

    There is no fsync: nothing in it is true after a power cut, and a reader takes a torn one for none.
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
    """Return what the last daemon told, or None when that is missing or unreadable."""
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=Endpoint)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def withdraw(path: str) -> None:
    """Remove it, when a daemon ends in order."""
    Path(path).unlink(missing_ok=True)


def is_alive(endpoint: Endpoint) -> bool:
    """Whether the very process that wrote it still runs here; False also where that cannot be known."""
    known = endpoint.boot_id is not None and endpoint.start_time is not None
    return known and endpoint.boot_id == boot_id() and endpoint.start_time == start_time(endpoint.pid)


def rouse(endpoint: Endpoint) -> bool:
    """Ask the process that holds the lock to look after its socket now; False when it cannot be found here.

    Someone may have removed the socket, and a client should not wait for the next look. The signal goes out
    only to exactly the process that wrote the endpoint.
    """
    if not is_alive(endpoint):
        return False
    try:
        os.kill(endpoint.pid, signal.SIGHUP)
    except OSError:
        return False
    return True
