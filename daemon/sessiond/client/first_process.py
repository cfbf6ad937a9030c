"""The first process of the terminal that this process runs in, read from `/proc`. `terminal` interprets it.

A terminal lives as long as its first process: the session leader. A process that left the terminal's session
(`setsid`, a hook, a language server) still belongs to the terminal of its ancestors.
"""
# Without pathlib, whose import would take 5 of the 25 ms that a command may take.
# ruff: noqa: PTH208

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

_STDIN_STDERR_STDOUT = (0, 2, 1)


class FirstProcess:
    """The first process of a terminal, or of a session of processes without a terminal.

    Attributes:
        pid: Its process id.
        start_time: Its start time, in clock ticks after boot; None without `/proc`.
        device: Its terminal device (`pts-3`); None when it has no terminal.
        parent: The id of its parent process; 0 when the parent is outside this process-id namespace; None when the
            session leader is unknown.
        environ: Its initial environment; None when it cannot be read.
        parent_environ: The initial environment of its parent; None when it cannot be read.
    """

    __slots__ = ("device", "environ", "parent", "parent_environ", "pid", "start_time")

    def __init__(
        self,
        pid: int,
        start_time: int | None = None,
        device: str | None = None,
        *,
        parent: int | None = None,
        environ: Mapping[str, str] | None = None,
        parent_environ: Mapping[str, str] | None = None,
    ) -> None:
        self.pid = pid
        self.start_time = start_time
        self.device = device
        self.parent = parent
        self.environ = environ
        self.parent_environ = parent_environ


class ProcessStatus:
    """The fields of `/proc/PID/stat` that this package uses."""

    __slots__ = ("device", "parent", "pid", "session", "start_time")

    def __init__(self, pid: int, stat: bytes) -> None:
        # The command in field 2 may contain spaces and brackets, so the last bracket ends it; field 3 follows.
        fields = stat.rpartition(b")")[2].split()
        self.pid = pid
        self.parent = int(fields[1])
        self.session = int(fields[3])
        self.device = int(fields[4])
        self.start_time = int(fields[19])


def first_process(servers: Collection[int] = (), variables: Mapping[str, str] | None = None) -> FirstProcess:
    """Return the first process of the terminal of this process, or of its session when it has no terminal.

    Args:
        servers: Process ids of multiplexers that the environment names.
        variables: The environment variables of the pane. If no ancestor has a terminal and no standard
            stream is one, the result is the session leader that one of `servers` started with these variables.
    """
    own = read_status(os.getpid())
    if own is None:
        return _without_proc()
    ancestors = [own, *_ancestors(own)]
    for process in ancestors:
        if process.device:
            return _of_terminal(process)
    leader = _leader_of_open_terminal() or _pane(servers, variables or {})
    if leader is not None:
        return _of_terminal(leader)
    eldest = _eldest(own)
    return FirstProcess(eldest.pid, eldest.start_time, _open_terminal())


def device_name(device: int) -> str:
    """Return the name of a terminal device number: `pts-3`, or `MAJOR-MINOR` for other devices."""
    major, minor = os.major(device), os.minor(device)
    return f"pts-{minor}" if major == 136 else f"{major}-{minor}"


def read_status(pid: int) -> ProcessStatus | None:
    """Return the status of a process from `/proc`; None when it is not visible."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return ProcessStatus(pid, file.read())
    except OSError:
        return None


def _of_terminal(process: ProcessStatus) -> FirstProcess:
    leader = read_status(process.session) if process.session else None
    device = device_name(process.device)
    if leader is None:  # it is outside this process-id namespace
        eldest = _eldest(process)
        return FirstProcess(eldest.pid, eldest.start_time, device)
    return FirstProcess(
        leader.pid,
        leader.start_time,
        device,
        parent=leader.parent,
        environ=_environ(leader.pid),
        parent_environ=_environ(leader.parent),
    )


def _ancestors(process: ProcessStatus) -> Iterator[ProcessStatus]:
    parent = read_status(process.parent)
    while parent is not None:
        yield parent
        parent = read_status(parent.parent)


def _eldest(process: ProcessStatus) -> ProcessStatus:
    """Return the session leader of a process.

    If the leader has ended or is not visible, its oldest ancestor of the same session is returned instead, which has
    the same terminal.
    """
    leader = read_status(process.session) if process.session else None
    if leader is not None:
        return leader
    eldest = process
    for ancestor in _ancestors(process):
        if ancestor.session != process.session:
            break
        eldest = ancestor
    return eldest


def _leader_of_open_terminal() -> ProcessStatus | None:
    """Return the leader of the session whose terminal is open as a standard stream (`setsid` in a shell)."""
    devices = {os.fstat(descriptor).st_rdev for descriptor in _STDIN_STDERR_STDOUT if os.isatty(descriptor)}
    if not devices:
        return None
    return next((leader for leader in _leaders() if leader.device in devices), None)


def _pane(servers: Collection[int], variables: Mapping[str, str]) -> ProcessStatus | None:
    if not servers or not variables:
        return None
    for leader in _leaders():
        if leader.device and leader.parent in servers:
            given = _environ(leader.pid)
            if given is not None and all(given.get(name) == value for name, value in variables.items()):
                return leader
    return None


def _leaders() -> Iterator[ProcessStatus]:
    """Yield every visible session leader."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            process = read_status(int(name))
            if process is not None and process.session == process.pid:
                yield process


def _environ(pid: int) -> dict[str, str] | None:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = [variable.partition(b"=") for variable in file.read().split(b"\0") if variable]
    except OSError:
        return None
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def _without_proc() -> FirstProcess:
    """Return the first process without `/proc` (macOS): the session leader's id and the open terminal."""
    return FirstProcess(os.getsid(0) or os.getpid(), device=_open_terminal())


def _open_terminal() -> str | None:
    for descriptor in _STDIN_STDERR_STDOUT:
        try:
            return os.ttyname(descriptor).removeprefix("/dev/").replace("/", "-")
        except OSError:
            continue
    return None
