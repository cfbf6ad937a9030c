#!/usr/bin/env python3
"""Print the identity of this terminal, by the recipe in protocol.md. Needs only Python."""

from __future__ import annotations

import binascii
import os
import sys
from collections.abc import Mapping

Row = tuple[str, str, str, list[str], bool]

# kind, variable of the pane or window, variable of the instance, values of TERM_PROGRAM, is it a multiplexer
ROWS: list[Row] = [
    ("tmux", "TMUX_PANE", "TMUX", ["tmux"], True),
    ("screen", "WINDOW", "STY", [], True),
    ("kitty", "KITTY_WINDOW_ID", "KITTY_PID", ["kitty"], False),
    ("zellij", "ZELLIJ_PANE_ID", "ZELLIJ_SESSION_NAME", [], True),
    ("cmux", "CMUX_SURFACE_ID", "", [], True),
    ("wezterm", "WEZTERM_PANE", "WEZTERM_UNIX_SOCKET", ["WezTerm"], False),
    ("terminal", "TERM_SESSION_ID", "", ["iTerm.app", "Apple_Terminal"], False),
    ("windows-terminal", "WT_SESSION", "", [], False),
    ("gnome-terminal", "GNOME_TERMINAL_SCREEN", "", [], False),
    ("tilix", "TILIX_ID", "", [], False),
    ("terminator", "TERMINATOR_UUID", "", [], False),
]


def stat(pid: int) -> tuple[int, int, int, int]:
    """Return (parent, session, device, start time) of a process; session -1 if it is not visible."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0, -1, 0, 0
    return int(fields[1]), int(fields[3]), int(fields[4]), int(fields[19])


def environ_of(pid: int) -> dict[str, str] | None:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = [line.partition(b"=") for line in file.read().split(b"\0") if line]
    except OSError:
        return None
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def set_rows(environ: Mapping[str, str]) -> list[Row]:
    return [row for row in ROWS if environ.get(row[2] if row[0] == "screen" else row[1])]


def values(row: Row, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the place and the instance."""
    kind, place, instance = row[0], environ.get(row[1], ""), environ.get(row[2], "")
    if kind == "tmux":
        instance = instance.split(",")[-2] if "," in instance else ""
    if kind == "screen":
        place = place or "0"
    return place, instance


def server(row: Row, environ: Mapping[str, str]) -> str | None:
    """Return the process id of the program that starts the panes, as text, or None if no variable names it."""
    return values(row, environ)[1].partition(".")[0] if row[0] in ("tmux", "screen", "kitty") else None


def name(row: Row, environ: Mapping[str, str]) -> str:
    place, instance = values(row, environ)
    return f"{row[0]}:{place}@{instance}" if instance else f"{row[0]}:{place}"


def is_inside_editor() -> bool:
    if os.environ.get("VSCODE_PID"):
        return True
    if os.environ.get("TERM", "").startswith(("tmux", "screen")):
        return False
    marks = ("NVIM", "VIM_TERMINAL", "INSIDE_EMACS", "ZED_TERM")
    return os.environ.get("TERM_PROGRAM") in ("vscode", "zed") or any(map(os.environ.get, marks))


def row_by_environment() -> Row | None:
    rows = set_rows(os.environ)
    rows = [row for row in rows if row[4]] or rows
    if len(rows) != 1 or is_inside_editor():
        return None
    program = os.environ.get("TERM_PROGRAM", "")
    is_innermost = rows[0][4] and os.environ.get("TERM", "").startswith(("tmux", "screen"))
    return rows[0] if not program or program in rows[0][3] or is_innermost else None


def process_on_terminal() -> int | None:
    """Return the first of this process and its ancestors that has a terminal, else the leader of an open one."""
    pid = os.getpid()
    while pid:
        if stat(pid)[2]:
            return pid
        pid = stat(pid)[0]
    devices = {os.fstat(text).st_rdev for text in (0, 1, 2) if os.isatty(text)}
    row = row_by_environment()
    for pid in [int(item.name) for item in os.scandir("/proc") if item.name.isdigit()]:
        facts = stat(pid)
        if facts[1] == pid and (facts[2] in devices or (facts[2] and is_pane(pid, facts[0], row))):
            return pid
    return None


def is_pane(pid: int, parent: int, row: Row | None) -> bool:
    """Return whether a process was started in the pane that the variables of this process name."""
    if row is None or server(row, os.environ) != str(parent):
        return False
    given = environ_of(pid) or {}
    return all(given.get(text) == os.environ.get(text) for text in row[1:3] if text)


def device_name(device: int) -> str:
    major, minor = os.major(device), os.minor(device)
    return f"pts-{minor}" if major == 136 else f"{major}-{minor}"


def eldest(pid: int) -> int:
    """Return the session leader, or the oldest ancestor of the same session if the leader is not visible."""
    session = stat(pid)[1]
    if session and stat(session)[1] >= 0:
        return session
    while stat(stat(pid)[0])[1] == session:
        pid = stat(pid)[0]
    return pid


def identity() -> str | None:
    if os.environ.get("SESSIOND_TERMINAL"):
        return os.environ["SESSIOND_TERMINAL"]
    pid = process_on_terminal()
    tty = None
    if pid is not None:
        first = eldest(pid)
        tty = f"tty:{device_name(stat(pid)[2])}@{stat(first)[3]}"
        if (
            first == stat(pid)[1]
        ):  # the leader is visible, so its parent shows which variables belong to the leader
            parent = stat(first)[0]
            given, inherited = environ_of(first), environ_of(parent)
            given = dict(os.environ) if given is None else given
            for row in set_rows(given):
                number = server(row, given)
                if number is not None:
                    if number == str(parent):
                        return name(row, given)
                elif inherited is not None and any(
                    given.get(text) != inherited.get(text) for text in row[1:3] if text
                ):
                    return name(row, given)
            return tty
    elif device := next((os.ttyname(text) for text in (0, 2, 1) if os.isatty(text)), None):
        # A terminal that leads no session: only its name and the session of this process are known.
        tty = f"tty:{device.removeprefix('/dev/').replace('/', '-')}@{stat(eldest(os.getpid()))[3]}"
    named = row_by_environment()
    return name(named, os.environ) if named else tty


def legal(text: str) -> str:
    allowed = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._%@+:-"
    raw = os.fsencode(text)
    name = "".join(chr(number) if number in allowed else f"%{number:02X}" for number in raw)
    if name.startswith("."):
        name = "%2E" + name[1:]
    return name if len(name) <= 128 else f"{name[:119]}+{binascii.crc32(raw):08x}"


found = identity()
if found is None:
    sys.exit(1)
print(legal(found))
