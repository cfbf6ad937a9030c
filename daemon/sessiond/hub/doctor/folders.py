"""Checks the folders of sessiond: unknown and leftover files, file types, owners and permissions."""

import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from sessiond.hub.doctor.rights import check_rights
from sessiond.hub.doctor.scope import Scope
from sessiond.paths import OTHERS_MAY_WRITE, UnsafeFolderError, obstacle, require_text
from sessiond.store.files import paths
from sessiond.store.files.holds import read_hold
from sessiond.store.files.originals import FOLDER, is_original
from sessiond.store.files.remains import is_beside
from sessiond.store.files.trash import is_log_in_trash, note_of

TEMPORARY: Final = re.compile(r"\..+\.[0-9a-f]{12}\.tmp")
"""The names that `store/files/folders.temporary` gives to files."""
_YOUNG_SECONDS: Final = 3600.0
"""A temporary file younger than this many seconds may belong to a write in progress."""
_BLOB: Final = re.compile(r"[0-9a-f]{64}")
_OF_STATE: Final = re.compile(
    r"(daemon|start)\.lock|endpoint\.json(\.new)?|tcp-token|server-id|scrub\.json(\.new)?|log-ids|open-indexes|mirrors|secret-rules|for-agents|setup|acp|index\.db(-wal|-shm|-journal|-seal)?|(commands|imports|sync|forgotten)\.db(-wal|-shm|-journal)?|sessiond\.log(\.[0-9]+)?"
)
_OF_DATA: Final = re.compile(r"history\.db(-wal|-shm|-journal)?")
_QUARANTINED_HISTORY: Final = re.compile(r"history\.db\.damaged-[0-9]+")
_QUARANTINED_HOLD: Final = re.compile(r".+\.json\.damaged(\.[0-9]+)?")
_QUARANTINED_OF_STATE: Final = {
    re.compile(r"index\.db(-wal|-shm|-journal|-seal)?\.damaged-.+"): "it is a damaged index",
    re.compile(r"commands\.db\.damaged-.+"): "it is a damaged journal of commands",
    re.compile(r"imports\.db\.damaged-.+"): "it has damaged records of imports",
    re.compile(r"sync\.db\.damaged-.+"): "it has damaged records of syncs",
}
"""The meaning of the names of quarantined files in the state folder."""


def check_folders(scope: Scope) -> Iterator[None]:
    """Check everything but the content of files: names, types, owners and permissions."""
    for top in (scope.locations.state, scope.locations.runtime):
        try:
            require_text(top)
        except UnsafeFolderError as unsafe:
            scope.add("unusableFolder", unsafe.reason, top)
    for top in (scope.locations.data, scope.locations.state, scope.locations.runtime):
        _check_root(scope, top)
        yield
    _check_config(scope)
    yield from _check_state(scope)
    yield from _check_data(scope)
    for root in (scope.sessions_folder, scope.drafts):
        for folder in _inside(scope, root):
            if not stat.S_ISDIR(folder.status.st_mode):
                _check_file_between_folders(scope, folder)
                continue
            for entry in _inside(scope, Path(folder.path)):
                _check_log_or_companion(scope, entry)
            yield
    for entry in _inside(scope, scope.blobs_folder):
        if not _is_leftover(scope, entry) and not _BLOB.fullmatch(entry.name):
            scope.add("unknownFile", "it is not a blob", entry.path)
    yield
    _check_originals(scope)
    for entry in _inside(scope, scope.trash):
        _check_trashed(scope, entry)
    yield


def _check_originals(scope: Scope) -> None:
    for entry in _inside(scope, scope.data / FOLDER):
        if not _is_leftover(scope, entry) and not is_original(entry.name):
            scope.add("unknownFile", "it is not an original of an agent's file", entry.path)


class _Entry:
    """An entry of a folder, with its status. Symbolic links are not followed."""

    __slots__ = ("name", "path", "status")

    def __init__(self, path: str, name: str, status: os.stat_result) -> None:
        self.path = path
        self.name = name
        self.status = status

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.status.st_mode)


def _inside(scope: Scope, folder: Path) -> Iterator[_Entry]:
    """Yield the entries of a folder that pass the permission check, and report the others.

    A folder that does not exist has no entries.
    """
    try:
        with os.scandir(folder) as names:
            entries = sorted(names, key=lambda item: item.name)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        scope.add("unusableFolder", "it is not a folder", str(folder))
        return
    except OSError as error:
        scope.add("unreadable", f"it cannot be listed: {error.strerror}", str(folder))
        return
    for entry in entries:
        with suppress(FileNotFoundError):
            found = _Entry(entry.path, entry.name, entry.stat(follow_symlinks=False))
            if check_rights(scope, found.path, found.status):
                yield found


def _check_root(scope: Scope, folder: str) -> None:
    try:
        status = os.lstat(folder)
    except FileNotFoundError:
        if (reason := obstacle(folder)) is not None:
            scope.add("unusableFolder", f"it cannot be created: {reason}", folder)
        return
    except OSError as error:
        scope.add("unusableFolder", f"it cannot be examined: {obstacle(folder) or error.strerror}", folder)
        return
    if check_rights(scope, folder, status) and not stat.S_ISDIR(status.st_mode):
        scope.add("unusableFolder", "it is not a folder", folder)


def _check_config(scope: Scope) -> None:
    """Check that no other user can write the configuration file, which may name a program that the daemon runs."""
    path = scope.locations.config_file
    with suppress(OSError):
        status = os.stat(path)  # noqa: PTH116
        if status.st_uid not in (os.geteuid(), 0) or status.st_mode & OTHERS_MAY_WRITE:
            check_rights(scope, path, status)


def _check_state(scope: Scope) -> Iterator[None]:
    for entry in _inside(scope, Path(scope.locations.state)):
        if entry.name == "terminal-sessions":
            for crumb in _inside(scope, Path(entry.path)):
                _is_leftover(scope, crumb)
        elif entry.name == "terminal-holds":
            for hold in _inside(scope, Path(entry.path)):
                if not _is_leftover(scope, hold):
                    _check_hold(scope, hold)
        elif quarantined := next(
            (pattern for pattern in _QUARANTINED_OF_STATE if pattern.fullmatch(entry.name)), None
        ):
            scope.add("quarantinedDatabase", _QUARANTINED_OF_STATE[quarantined], entry.path)
        elif not _OF_STATE.fullmatch(entry.name) and not _is_top(scope, entry.path):
            scope.add("unknownFile", "it is not a file of sessiond", entry.path)
        yield


def _check_hold(scope: Scope, entry: _Entry) -> None:
    if _QUARANTINED_HOLD.fullmatch(entry.name):
        scope.add("quarantinedHold", "it is a damaged hold of a terminal", entry.path)
        return
    try:
        read_hold(Path(entry.path))
    except FileNotFoundError:
        pass  # its terminal has ended in the meantime
    except (OSError, ValueError, RecursionError) as error:
        scope.add("damagedHold", f"it is not a hold of a terminal: {error}", entry.path)


def _check_data(scope: Scope) -> Iterator[None]:
    known = (
        scope.sessions_folder,
        scope.drafts,
        scope.trash,
        scope.blobs_folder,
        scope.data / paths.EXPORTS,
        scope.data / FOLDER,
    )
    folders = {str(path) for path in known}
    for entry in _inside(scope, scope.data):
        if _QUARANTINED_HISTORY.fullmatch(entry.name):
            scope.add("quarantinedDatabase", "it is a damaged history of prompts", entry.path)
        elif (
            entry.path not in folders
            and not _OF_DATA.fullmatch(entry.name)
            and not _OF_STATE.fullmatch(entry.name)
            and not _is_top(scope, entry.path)
        ):
            scope.add("unknownFile", "it is not a file of sessiond", entry.path)
        yield


def _is_top(scope: Scope, path: str) -> bool:
    """Return whether a path is one of sessiond's own folders, which may contain each other.

    For example, if there is no runtime folder, the folder of the socket is in the state folder.
    """
    locations = scope.locations
    return os.path.realpath(path) in {
        os.path.realpath(folder)
        for folder in (locations.data, locations.state, locations.runtime, locations.config)
    } | {
        os.path.realpath(os.path.join(locations.state, name))
        for name in ("terminal-sessions", "terminal-holds")
    }


def _check_file_between_folders(scope: Scope, entry: _Entry) -> None:
    if not _is_leftover(scope, entry):
        _check_log_or_companion(scope, entry)


def _check_log_or_companion(scope: Scope, entry: _Entry) -> None:
    if _is_leftover(scope, entry):
        return
    log = is_beside(entry.name)
    if log is not None and entry.is_file:
        _report_companion(scope, entry, Path(entry.path).with_name(log))
    elif paths.session_id_of(entry.name) is None:
        scope.add("unknownFile", "it is not a session file", entry.path)
    elif not entry.is_file:
        scope.add(
            "unknownFile",
            "it has the name of a session file, but is not a file",
            entry.path,
            severity="warning",
        )
    elif entry.name.endswith(paths.PACKED_SUFFIX) and os.path.lexists(paths.plain_name(entry.path)):
        scope.add("doublePackedFile", "its plain file is beside it", entry.path)
    elif entry.status.st_nlink > 1:
        scope.add("hardLink", f"it has {entry.status.st_nlink} names", entry.path)


def _report_companion(scope: Scope, entry: _Entry, log: Path) -> None:
    kind = "a torn tail" if ".torn-" in entry.name else "an original from before a rewrite"
    holds = f"{entry.status.st_size:,} bytes, {_lines_in(entry.path)} whole lines"
    if paths.is_packed(entry.name):
        kind, holds = "a packed file", f"{entry.status.st_size:,} bytes"
    if os.path.lexists(log):
        scope.add("preservedFile", f"it is {kind} of the session beside it: {holds}", entry.path)
    else:
        scope.add("orphanedFile", f"it is {kind} of a session that does not exist: {holds}", entry.path)


def _lines_in(path: str) -> str:
    lines, size = 0, 0
    try:
        with open(path, "rb") as file:
            while size < 64 * 1024 * 1024 and (data := file.read(1 << 20)):
                lines, size = lines + data.count(b"\n"), size + len(data)
    except OSError:
        return "unknown"
    return f"{lines:,}"


def _check_trashed(scope: Scope, entry: _Entry) -> None:
    if entry.is_file and is_log_in_trash(entry.name) and not os.path.lexists(note_of(Path(entry.path))):
        scope.add("missingTrashNote", "its former path is not recorded", entry.path)
    else:
        _is_leftover(scope, entry)


def _is_leftover(scope: Scope, entry: _Entry) -> bool:
    """Return whether an entry is a temporary file, and report it if it is too old for a write in progress."""
    if not entry.is_file or not TEMPORARY.fullmatch(entry.name):
        return False
    if time.time() - entry.status.st_mtime > _YOUNG_SECONDS:
        scope.add("staleTemporaryFile", f"a daemon left it ({entry.status.st_size:,} bytes)", entry.path)
    return True
