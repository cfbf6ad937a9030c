"""The identity of the terminal that this process runs in; breadcrumbs and holds refer to it.

The algorithm is that of protocol.md ("The identity of a terminal"), which editors and scripts also follow. Every
terminal that is started from a pane inherits a variable such as `TMUX_PANE`, so it identifies this terminal only if
the program that started this terminal has set it. This module runs no other program, and it imports little, since
every command of the thin client uses it.
"""
# Without pathlib, whose import would take 5 of the 25 ms that a command may take.
# ruff: noqa: PTH109

from __future__ import annotations

import os
from binascii import crc32

from sessiond.client.first_process import FirstProcess, first_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# The characters that `protocol.types.Terminal` allows in an id; importing that module takes longer than a command.
_ALLOWED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._%@+:-")
_MAX_ID_BYTES = 128

_EDITOR_VARIABLES = ("NVIM", "VIM_TERMINAL", "INSIDE_EMACS", "ZED_TERM")
"""Set for programs inside an editor, whose other variables are inherited from the editor's terminal."""


class TerminalKind:
    """A kind of terminal, and the variables that identify one.

    Attributes:
        kind: Its name on the wire.
        place: The variable that names the pane or window.
        instance: The variable that distinguishes instances with equal pane names, or None.
        programs: The values of `TERM_PROGRAM` that the program sets or leaves unchanged.
        is_multiplexer: Whether panes outlive the window that shows them.
        names_server: Whether the instance contains the process id of the program that starts the panes.
    """

    __slots__ = ("instance", "is_multiplexer", "kind", "names_server", "place", "programs")

    def __init__(
        self,
        kind: str,
        place: str,
        instance: str | None = None,
        *,
        programs: tuple[str, ...] = (),
        is_multiplexer: bool = False,
        names_server: bool = False,
    ) -> None:
        self.kind = kind
        self.place = place
        self.instance = instance
        self.programs = programs
        self.is_multiplexer = is_multiplexer
        self.names_server = names_server

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that together identify one terminal."""
        return (self.place,) if self.instance is None else (self.place, self.instance)

    @property
    def marker(self) -> str:
        """The variable that is set in every terminal of this kind."""
        return self.instance if self.kind == "screen" and self.instance else self.place

    def values(self, environ: Mapping[str, str]) -> tuple[str, str | None]:
        """Return the place and the instance from the variables; "" and None where they are not set."""
        place = environ.get(self.place, "")
        instance = (environ.get(self.instance) or None) if self.instance else None
        if self.kind == "tmux":
            # TMUX is "<socket>,<server pid>,<session>"; each server numbers its panes from 0.
            instance = (instance or "").rpartition(",")[0].rpartition(",")[2] or None
        elif self.kind == "screen":
            place = place or "0"
        return place, instance

    def name(self, environ: Mapping[str, str]) -> str:
        """Return the id from the variables, before `_legal` escapes it."""
        place, instance = self.values(environ)
        return f"{self.kind}:{place}@{instance}" if instance else f"{self.kind}:{place}"

    def server(self, environ: Mapping[str, str]) -> int | None:
        """Return the process id of the program that starts the panes, or None when the variables do not contain it."""
        if not self.names_server:
            return None
        digits = (self.values(environ)[1] or "").partition(".")[0]
        return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 12 else None


ROWS = (
    TerminalKind("tmux", "TMUX_PANE", "TMUX", programs=("tmux",), is_multiplexer=True, names_server=True),
    TerminalKind("screen", "WINDOW", "STY", is_multiplexer=True, names_server=True),
    TerminalKind("kitty", "KITTY_WINDOW_ID", "KITTY_PID", programs=("kitty",), names_server=True),
    TerminalKind("zellij", "ZELLIJ_PANE_ID", "ZELLIJ_SESSION_NAME", is_multiplexer=True),
    TerminalKind("cmux", "CMUX_SURFACE_ID", is_multiplexer=True),
    TerminalKind("wezterm", "WEZTERM_PANE", "WEZTERM_UNIX_SOCKET", programs=("WezTerm",)),
    TerminalKind("terminal", "TERM_SESSION_ID", programs=("iTerm.app", "Apple_Terminal")),
    TerminalKind("windows-terminal", "WT_SESSION"),
    TerminalKind("gnome-terminal", "GNOME_TERMINAL_SCREEN"),
    TerminalKind("tilix", "TILIX_ID"),
    TerminalKind("terminator", "TERMINATOR_UUID"),
)
"""In the order in which they are tried: first those whose program is identified by its process id."""


def here() -> dict[str, str | int] | None:
    """Return the terminal of this process as the wire's `Terminal`, or None when it has none."""
    return identify(os.environ, _first_process(os.environ), cwd=_cwd())


def identify(
    environ: Mapping[str, str], first: FirstProcess | None = None, *, cwd: str | None = None
) -> dict[str, str | int] | None:
    """Return the terminal as `{id, kind, pid?, startTime?, cwd?}`, or None when there is none.

    Args:
        environ: The environment of the process.
        first: The first process of its terminal, or of its session.
        cwd: Its working directory.
    """
    found = _named(environ) or _by_parent(environ, first) or _by_environment(environ, first) or _device(first)
    if found is None:
        return None
    kind, name = found
    terminal: dict[str, str | int] = {"id": _legal(name), "kind": kind}
    if first is not None:
        terminal["pid"] = first.pid
        if first.start_time is not None:
            terminal["startTime"] = first.start_time
    if cwd is not None:
        terminal["cwd"] = cwd
    return terminal


def _first_process(environ: Mapping[str, str]) -> FirstProcess:
    row = None if _is_inside_editor(environ) else _row_by_environment(environ)
    server = None if row is None else row.server(environ)
    if row is None or server is None:
        return first_process()
    return first_process((server,), {name: environ[name] for name in row.variables if name in environ})


def _named(environ: Mapping[str, str]) -> tuple[str, str] | None:
    name = environ.get("SESSIOND_TERMINAL")
    return ("named", name) if name else None


def _by_parent(environ: Mapping[str, str], first: FirstProcess | None) -> tuple[str, str] | None:
    """Return kind and name that the program that started this terminal gave it, if that program is known."""
    if first is None or first.device is None or first.parent is None:
        return None
    given = environ if first.environ is None else first.environ
    for row in _rows_in(given):
        if _is_set_by_parent(row, given, first):
            return row.kind, row.name(given)
    return _device(first)


def _is_set_by_parent(row: TerminalKind, given: Mapping[str, str], first: FirstProcess) -> bool:
    if row.names_server:
        return row.server(given) == first.parent
    if first.parent_environ is None:
        return False
    return any(given.get(name) != first.parent_environ.get(name) for name in row.variables)


def _by_environment(environ: Mapping[str, str], first: FirstProcess | None) -> tuple[str, str] | None:
    """Return kind and name from the variables alone, when the program that set them is unknown."""
    row = None if _is_inside_editor(environ) else _row_by_environment(environ)
    return None if row is None else (row.kind, row.name(environ))


def _row_by_environment(environ: Mapping[str, str]) -> TerminalKind | None:
    """Return the only row whose variables are set; None if they are ambiguous or may be inherited."""
    rows = list(_rows_in(environ))
    rows = [row for row in rows if row.is_multiplexer] or rows
    if len(rows) != 1:
        return None
    (row,) = rows
    term, program = environ.get("TERM", ""), environ.get("TERM_PROGRAM", "")
    is_innermost = row.is_multiplexer and term.startswith(("tmux", "screen"))
    return row if not program or program in row.programs or is_innermost else None


def _rows_in(environ: Mapping[str, str]) -> Iterator[TerminalKind]:
    return (row for row in ROWS if environ.get(row.marker))


def _is_inside_editor(environ: Mapping[str, str]) -> bool:
    if environ.get("VSCODE_PID"):
        return True  # its extensions, which have no terminal; it does not set this variable in its terminals
    if environ.get("TERM", "").startswith(("tmux", "screen")):
        return False  # a multiplexer was started in the editor's terminal and has set its own variables
    return environ.get("TERM_PROGRAM") in ("vscode", "zed") or any(map(environ.get, _EDITOR_VARIABLES))


def _device(first: FirstProcess | None) -> tuple[str, str] | None:
    if first is None or first.device is None:
        return None
    # Device numbers are reused. Without /proc the process id distinguishes two uses almost as well.
    use = f"pid{first.pid}" if first.start_time is None else str(first.start_time)
    return "tty", f"tty:{first.device}@{use}"


def _legal(name: str) -> str:
    """Return the name with characters illegal in an id as `%XX`; a long name is cut and ends in a checksum."""
    raw = name.encode("utf-8", "surrogateescape")
    text = "".join(chr(byte) if byte in _ALLOWED else f"%{byte:02X}" for byte in raw)
    if text.startswith("."):
        text = "%2E" + text[1:]  # the id becomes a file name: never hidden, never a parent folder
    if len(text) > _MAX_ID_BYTES:
        text = f"{text[: _MAX_ID_BYTES - 9]}+{crc32(raw):08x}"
    return text


def _cwd() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None  # the folder was removed
