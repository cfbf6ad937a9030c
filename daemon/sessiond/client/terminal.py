"""Which terminal this process sits in: the identity that `session/continue` is scoped to.

The chain goes from the most lasting to the least: what `SESSIOND_TERMINAL` says, the pane of a multiplexer,
the window of a terminal program, the tty (facts: pi-omp §2.14). A pane comes before the tty because it stays
the same place when it is detached and attached elsewhere. Reads variables and `/proc`; never starts or asks
another program, and imports next to nothing, since every command of the thin client passes here.
"""
# Without pathlib, which would cost a command 5 of the 25 ms it has for everything.
# ruff: noqa: PTH109, PTH110

import os
from binascii import crc32
from collections.abc import Mapping

# What `protocol.types.Terminal` allows in an id; importing that module would cost more than a whole command.
_ALLOWED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._%@+:-")
_LONGEST = 128

# A program's variable, the kind it tells, and the variable that tells apart instances which number windows
# alike.
_PROGRAMS = (
    ("KITTY_WINDOW_ID", "kitty", "KITTY_PID"),
    ("WEZTERM_PANE", "wezterm", "WEZTERM_UNIX_SOCKET"),
    ("TERM_SESSION_ID", "terminal", None),  # iTerm2 and Apple Terminal
    ("WT_SESSION", "windows-terminal", None),
    ("GNOME_TERMINAL_SCREEN", "gnome-terminal", None),
    ("TILIX_ID", "tilix", None),
    ("TERMINATOR_UUID", "terminator", None),
)

_EDITOR_MARKS = ("NVIM", "VIM_TERMINAL", "INSIDE_EMACS", "ZED_TERM")
_EDITOR_PROGRAMS = ("vscode", "zed")


def here() -> dict[str, str | int] | None:
    """The terminal of this process as the wire's `Terminal`, or None when it has none."""
    return identify(os.environ, tty=_tty(), leader=leader(), cwd=_cwd())


def identify(
    environ: Mapping[str, str],
    *,
    tty: tuple[str, str] | None = None,
    leader: int | None = None,
    cwd: str | None = None,
) -> dict[str, str | int] | None:
    """The terminal that these facts speak of, `{id, kind, pid?, cwd?}`, or None when they speak of none.

    `tty` is the device's name without `/dev/`, and what tells its present use from an earlier one, for the
    numbers of ttys are given out again: the session leader's start time in clock ticks since boot, or its
    process id. `leader` is that process id: while it lives, the terminal does.
    """
    found = _given(environ) or _variables(environ, tty) or _device(tty)
    if found is None:
        return None
    kind, name = found
    terminal: dict[str, str | int] = {"id": _legal(name), "kind": kind}
    if leader is not None:
        terminal["pid"] = leader
    if cwd is not None:
        terminal["cwd"] = cwd
    return terminal


def leader() -> int | None:
    """The process that this terminal lives and dies with, or None where no `/proc` tells.

    That is the session leader. A leader outside of this container has no number here (`getsid` says 0), and one
    that is gone has left its children to the terminal; then it is the oldest ancestor of the same session.
    """
    session = os.getsid(0)
    if session and os.path.exists(f"/proc/{session}"):
        return session
    oldest, pid = None, os.getpid()
    while pid and (facts := _stat(pid)) is not None and int(facts[3]) == session:
        oldest, pid = pid, int(facts[1])
    return oldest or session or None


def _given(environ: Mapping[str, str]) -> tuple[str, str] | None:
    name = environ.get("SESSIOND_TERMINAL")
    return ("named", name) if name else None


def _variables(environ: Mapping[str, str], tty: tuple[str, str] | None) -> tuple[str, str] | None:
    # The terminals inside an editor inherit the variables of the terminal that the editor was started from;
    # all of them would be taken for that one. Their tty is their own, so it decides.
    if tty is not None and _inside_editor(environ):
        return None
    return _multiplexer(environ) or _program(environ)


def _inside_editor(environ: Mapping[str, str]) -> bool:
    if environ.get("TERM", "").startswith(("tmux", "screen")):
        return False  # a multiplexer was started in the editor's terminal and named itself
    return environ.get("TERM_PROGRAM") in _EDITOR_PROGRAMS or any(environ.get(mark) for mark in _EDITOR_MARKS)


def _multiplexer(environ: Mapping[str, str]) -> tuple[str, str] | None:
    if pane := environ.get("TMUX_PANE"):
        # TMUX is "<socket>,<server pid>,<session>"; panes are numbered anew by each server.
        server = environ.get("TMUX", "").rpartition(",")[0].rpartition(",")[2]
        return "tmux", _of("tmux", pane, server)
    if pane := environ.get("ZELLIJ_PANE_ID"):
        return "zellij", _of("zellij", pane, environ.get("ZELLIJ_SESSION_NAME"))
    if screen := environ.get("STY"):
        return "screen", _of("screen", environ.get("WINDOW") or "0", screen)
    if surface := environ.get("CMUX_SURFACE_ID"):
        return "cmux", _of("cmux", surface, None)
    return None


def _program(environ: Mapping[str, str]) -> tuple[str, str] | None:
    for variable, kind, instance in _PROGRAMS:
        if value := environ.get(variable):
            return kind, _of(kind, value, environ.get(instance) if instance else None)
    return None


def _device(tty: tuple[str, str] | None) -> tuple[str, str] | None:
    if tty is None:
        return None
    name, use = tty
    return "tty", _of("tty", name.replace("/", "-"), use)


def _of(kind: str, place: str, instance: str | None) -> str:
    return f"{kind}:{place}@{instance}" if instance else f"{kind}:{place}"


def _legal(name: str) -> str:
    """The name with what an id may not hold as `%XX`; a long one is cut and ends in a checksum."""
    raw = name.encode("utf-8", "surrogateescape")
    text = "".join(chr(byte) if byte in _ALLOWED else f"%{byte:02X}" for byte in raw)
    if text.startswith("."):
        text = "%2E" + text[1:]  # the id becomes a file name: never hidden, never a parent folder
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - 9]}+{crc32(raw):08x}"
    return text


def _tty() -> tuple[str, str] | None:
    leader = os.getsid(0)
    try:
        with open(f"/proc/{leader}/stat", "rb") as file:
            controlling, started = leader_facts(file.read())
    except OSError:
        # No /proc (macOS): the leader's process id tells two uses of a tty apart nearly as well.
        controlling, started = None, f"pid{leader}"
    name = _open_tty() or controlling
    return None if name is None else (name, started)


def leader_facts(stat: bytes) -> tuple[str | None, str]:
    """The pseudo-terminal, if any, and the start time in a session leader's `/proc/<pid>/stat` (7, 22)."""
    fields = _fields(stat)
    device = int(fields[4])
    pty = f"pts/{os.minor(device)}" if 136 <= os.major(device) <= 143 else None
    return pty, fields[19].decode("ascii")


def _stat(pid: int) -> list[bytes] | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return _fields(file.read())
    except OSError:
        return None


def _fields(stat: bytes) -> list[bytes]:
    """Field 3 and what follows; the command in field 2 may hold spaces and brackets, so its end is looked for."""
    return stat.rpartition(b")")[2].split()


def _open_tty() -> str | None:
    for descriptor in (0, 2, 1):
        try:
            return os.ttyname(descriptor).removeprefix("/dev/")
        except OSError:
            continue
    return None


def _cwd() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None  # the folder was removed under us
