"""Checks session files: reads each one completely, with the code that opens sessions."""

import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from sessiond.agents.recognition import ForeignProgram, foreign_program_of
from sessiond.hub.doctor.scope import Scope
from sessiond.session.content import blobs
from sessiond.session.tree.log_inspection import tree_of_log
from sessiond.session.tree.problems import LineProblem
from sessiond.session.tree.tree import Tree
from sessiond.store.errors import DamagedPackedLog
from sessiond.store.files.census import Root, id_of_log
from sessiond.store.files.packing import table_of

_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_OVERLAP: Final = blobs.REFERENCE_BYTES + 3  # with its quotes, and a backslash before them
_TRIES: Final = 20
_SETTLE_SECONDS: Final = 0.05
"""An incomplete line may be a write in progress. It is reported if the file stays unchanged for this many seconds."""
_MAX_PROBLEMS: Final = 100
"""Limit of problems that are listed for a file. The rest is counted."""


@dataclass(slots=True)
class Logs:
    """The facts that were read from all session files.

    Attributes:
        named: The hashes in all references of each file, also of those that a text only mentions.
        needed: The hashes of the blobs that each file needs.
        by_id: The files with each session id.
        own: The files in the data folder.
    """

    named: dict[str, set[str]] = field(default_factory=dict)
    needed: dict[str, set[str]] = field(default_factory=dict)
    by_id: dict[str, list[str]] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)


class _Examined(NamedTuple):
    """The tree of one file, and the hashes in it, as in `Logs`."""

    tree: Tree
    named: set[str]
    needed: set[str]


@dataclass(slots=True)
class FileToExamine:
    """A session file of the scope: its size, whether it is in the data folder, and whether it is a draft."""

    path: str
    size: int
    own: bool
    draft: bool


def check_logs(scope: Scope, found: Logs) -> Iterator[None]:
    """Read every session file of the scope, and add its blobs and its id to `found`."""
    logs = list(all_logs(scope))
    total, done = sum(log.size for log in logs) or 1, 0
    for log in logs:
        scope.progress = "Reading sessions", 5 + 70 * done // total
        _check_log(scope, log, found)
        yield
        done += log.size
        scope.sessions += 1
        scope.session_bytes += log.size
    for session_id, where in found.by_id.items():
        for path in where[1:]:
            scope.add(
                "duplicateSessionId",
                f"it has session {session_id}, as {where[0]} does",
                path,
                session_id=session_id,
            )


def all_logs(scope: Scope) -> Iterator[FileToExamine]:
    """Yield the session files of the scope."""
    own = (scope.sessions_folder, scope.drafts)
    if scope.only:
        for path in scope.only:
            draft = Path(path).is_relative_to(scope.drafts)
            kept = any(Path(path).is_relative_to(root) for root in own)
            yield from _logs_at(scope, path, own=kept, draft=draft)
        return
    for root in own:
        yield from _logs_at(scope, str(root), own=True, draft=root == scope.drafts)
    for folder in scope.config.roots.folders:
        if not os.path.isdir(folder):  # noqa: PTH112 - a text of the configuration
            scope.add("missingRoot", "[roots] names it, and it is no folder", folder)
        else:
            yield from _logs_at(scope, os.path.realpath(folder), own=False, draft=False)


def _logs_at(scope: Scope, path: str, *, own: bool, draft: bool) -> Iterator[FileToExamine]:
    """Yield the file at a path, or the session files in that folder and in its direct subfolders."""
    folders, root = [path], Root(path, own=own)
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    except OSError as error:
        scope.add("unreadable", f"it cannot be examined: {error.strerror}", path)
        return
    if not stat.S_ISDIR(status.st_mode):
        yield FileToExamine(path, status.st_size, own, draft)
        return
    for folder in folders:
        try:
            with os.scandir(folder) as entries:
                names = sorted(entries, key=lambda item: item.name)
        except OSError as error:
            if not own:  # the check of folders reports those of the data folder
                scope.add("unreadable", f"it cannot be listed: {error.strerror}", folder)
            continue
        all_names = {entry.name for entry in names}
        for entry in names:
            if entry.is_dir(follow_symlinks=False):
                if folder == path:
                    folders.append(entry.path)
            elif id_of_log(entry.name, all_names, root) is not None and entry.is_file(follow_symlinks=False):
                with suppress(FileNotFoundError):
                    yield FileToExamine(entry.path, entry.stat(follow_symlinks=False).st_size, own, draft)


def _check_log(scope: Scope, log: FileToExamine, found: Logs) -> None:
    try:
        descriptor = os.open(log.path, _FLAGS)
    except FileNotFoundError:
        return  # it was moved after it was listed
    except OSError as error:
        scope.add("unreadable", f"it cannot be read: {error.strerror}", log.path)
        return
    try:
        examined = _examined(scope, log, descriptor)
    except DamagedPackedLog as error:
        scope.add("damagedPackedFile", error.reason, log.path)
        return
    except OSError as error:
        scope.add("unreadable", f"it cannot be read: {error.strerror}", log.path)
        return
    except Exception as error:  # noqa: BLE001 - one file must not end the examination of the others
        scope.add("unreadable", f"it cannot be examined: {error!r:.200}", log.path)
        return
    finally:
        os.close(descriptor)
    if examined is None:
        return
    tree, named, needed = examined
    _report_problems(scope, log, tree)
    _report_age(scope, log, tree)
    if log.own and not os.access(log.path, os.W_OK):
        scope.add("readOnlyFile", "it may not be written", log.path)
    found.named[log.path], found.needed[log.path] = named, needed
    if log.own:
        found.own.add(log.path)
    if tree.header is not None:
        found.by_id.setdefault(tree.header.id, []).append(log.path)


def _examined(scope: Scope, log: FileToExamine, descriptor: int) -> _Examined | None:
    """Return what is in a file; None if it is no session, which is reported."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        scope.add("unknownFile", "it is not a file", log.path, severity="warning")
        return None
    table = table_of(log.path, descriptor)
    if table is not None:
        examined = _read(table.size, lambda start, end: table.read(descriptor, start, end))
        for damage in table.damages:
            scope.add("damagedPackedFile", str(damage), log.path)
        return examined
    program = foreign_program_of(lambda size: os.pread(descriptor, size, 0))
    if program is not None:
        _report_foreign(scope, log, program)
        return None
    return _settled(descriptor)


def _report_foreign(scope: Scope, log: FileToExamine, program: ForeignProgram) -> None:
    scope.add("foreignDialect", f"it is a session file of another program ({program.name})", log.path)


def _settled(descriptor: int) -> _Examined:
    """Return what is in a file. A torn line is ignored while the file is written."""
    for _ in range(_TRIES):
        before = os.fstat(descriptor)
        examined = _read(before.st_size, lambda start, end: os.pread(descriptor, end - start, start))
        if not examined.tree.tail:
            return examined
        time.sleep(_SETTLE_SECONDS)
        now = os.fstat(descriptor)
        if (now.st_size, now.st_mtime_ns) == (before.st_size, before.st_mtime_ns):
            return examined
    examined.tree.drop_tail()  # the file changed during every attempt
    return examined


def _read(size: int, read_bytes: Callable[[int, int], bytes]) -> _Examined:
    named: set[str] = set()
    needed: set[str] = set()
    before = b""

    def read(start: int, end: int) -> bytes:
        nonlocal before
        data = read_bytes(start, end)
        before = before[-_OVERLAP:] + data
        named.update(blobs.referenced_hashes(before))
        needed.update(blobs.hashes_in_places(before))
        return data

    return _Examined(tree_of_log(size, read), named, needed)


def _report_problems(scope: Scope, log: FileToExamine, tree: Tree) -> None:
    session_id = None if tree.header is None else tree.header.id
    problems = tree.problems
    for problem in problems[:_MAX_PROBLEMS]:
        _report_problem(scope, log, problem, session_id)
    if len(problems) > _MAX_PROBLEMS:
        more = f"{len(problems) - _MAX_PROBLEMS:,} more problems in this file"
        scope.add("moreProblems", more, log.path, session_id=session_id)


def _report_problem(scope: Scope, log: FileToExamine, problem: LineProblem, session_id: str | None) -> None:
    scope.add(
        problem.kind,
        problem.reason,
        log.path,
        severity=problem.severity,
        session_id=session_id,
        line=problem.line,
        byte_offset=problem.offset,
        fixable=None if log.own or scope.only else False,
    )


def _report_age(scope: Scope, log: FileToExamine, tree: Tree) -> None:
    """Report a draft session that has exceeded the age limit, and a modification time in the future."""
    try:
        modified = os.stat(log.path, follow_symlinks=False).st_mtime  # noqa: PTH116
    except OSError:
        return
    now, oldest = time.time(), scope.config.drafts.max_age
    if log.draft and oldest is not None and now - modified > oldest and not tree.has_assistant():
        scope.add("staleDraft", f"it was last written {_days(now - modified)} days ago", log.path)
    if modified - now > 86_400:
        scope.add("wrongClock", f"it was written {_days(modified - now)} days in the future", log.path)


def _days(seconds: float) -> str:
    return f"{seconds / 86_400:,.0f}"
