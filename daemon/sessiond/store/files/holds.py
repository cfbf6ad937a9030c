"""Holds of living terminals on sessions: one JSON file for each terminal, so that another daemon knows them.

A file that is not a valid hold is ignored and never overwritten. It is reported once, and moved aside when its
terminal needs the name.
"""

import logging
import os
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from sessiond.store.files import paths
from sessiond.store.files.folders import make_folder, move_to_free_name, new_file, sync_folder, temporary
from sessiond.store.files.syscalls import Syscalls, refusals_of
from sessiond.store.records import Hold, Process

log = logging.getLogger(__name__)

SUFFIX: Final = ".json"
DAMAGED: Final = "damaged"
"""Suffix of a file that was moved aside: `<name>.damaged`, then `<name>.damaged.2` …"""

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAX_BYTES = 256 * 1024


class _Process(msgspec.Struct, rename="camel", forbid_unknown_fields=False):
    pid: Annotated[int, Meta(ge=1, lt=2**31)]
    start_time: Annotated[int, Meta(ge=0, lt=2**62)]
    boot_id: Annotated[str, Meta(max_length=128)] | None = None


class _File(msgspec.Struct, rename="camel"):
    version: Literal[1]
    terminal: Annotated[str, Meta(min_length=1, max_length=128)]
    kind: Annotated[str, Meta(max_length=128)]
    process: _Process
    sessions: dict[str, str]


_decode = msgspec.json.Decoder(_File).decode


def read_holds(folder: Path) -> list[Hold]:
    """Return the holds of a folder. A file that is not a valid hold is reported to the log and stays."""
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except FileNotFoundError:
        return []
    except OSError as error:
        log.warning("the holds of terminals cannot be listed: %s: %s", folder, error.strerror)
        return []
    found = []
    for name in sorted(name for name in names if name.endswith(SUFFIX) and not name.startswith(".")):
        try:
            found.append(read_hold(folder / name))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, RecursionError) as error:
            log.warning("%s is no hold of a terminal, so nothing is held by it: %s", folder / name, error)
    return found


def write_hold(folder: Path, hold: Hold, calls: Syscalls) -> None:
    """Store a hold durably in place of the terminal's previous one. A file that is not a valid hold is moved aside."""
    path = _path(folder, hold.terminal_id)
    text = msgspec.json.encode(
        _File(
            version=1,
            terminal=hold.terminal_id,
            kind=hold.kind,
            process=_Process(hold.process.pid, hold.process.start_time, hold.process.boot_id),
            sessions=dict(hold.sessions),
        )
    )
    with refusals_of(path):
        make_folder(folder, calls)
        _move_damaged_aside(path, calls)
        temp = temporary(path)
        os.close(new_file(temp, [text, b"\n"], calls))
        try:
            calls.rename(temp, path)
        except OSError:
            temp.unlink()
            raise
        sync_folder(folder, calls)


def remove_hold(folder: Path, terminal_id: str, calls: Syscalls) -> None:
    """Remove the hold of a terminal. A file that is not a valid hold stays."""
    path = _path(folder, terminal_id)
    with refusals_of(path):
        try:
            read_hold(path)
        except (FileNotFoundError, ValueError, RecursionError):
            return
        path.unlink(missing_ok=True)
        sync_folder(folder, calls)


def _path(folder: Path, terminal_id: str) -> Path:
    return folder / f"{paths.terminal_name(terminal_id)}{SUFFIX}"


def read_hold(path: Path) -> Hold:
    """Return the hold in a file.

    Raises:
        OSError: The file cannot be read.
        ValueError: The file is not a hold of the terminal that its name encodes.
        RecursionError: The file is nested too deeply.
    """
    fd = os.open(path, _FLAGS)
    try:
        data = os.read(fd, _MAX_BYTES + 1)
    finally:
        os.close(fd)
    if len(data) > _MAX_BYTES:
        raise ValueError("it is too large")
    file = _decode(data)
    if f"{paths.terminal_name(file.terminal)}{SUFFIX}" != path.name:
        raise ValueError("it names another terminal")
    process = Process(file.process.pid, file.process.start_time, file.process.boot_id)
    sessions = {cwd: session_id for cwd, session_id in file.sessions.items() if paths.is_known_id(session_id)}
    return Hold(file.terminal, file.kind, process, sessions)


def _move_damaged_aside(path: Path, calls: Syscalls) -> None:
    try:
        read_hold(path)
    except FileNotFoundError:
        return
    except (OSError, ValueError, RecursionError) as error:
        for name in paths.names_beside(path.name, DAMAGED):
            try:
                move_to_free_name(path, path.with_name(name), calls)
            except FileExistsError:
                continue
            log.warning("%s was no hold of a terminal (%s); it is kept as %s", path, error, name)
            return
