"""Exports a session: reads its lines, restores their blobs, converts them, and returns a text or writes a file.

Lines are read on the event loop in steps. They are converted in a child process, or in a thread if they are few. The
file is written in a thread. The log is only read.
"""

import asyncio
import errno
import logging
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import msgspec
from msgspec import UNSET

from sessiond.hub.errors import IncompatibleParams, TooLarge, refuse_unless_absolute
from sessiond.hub.execution.child_process import ChildNotStarted, run_in_child_process
from sessiond.hub.execution.progress import ReportPercentage
from sessiond.hub.redaction.provider_keys import ProviderKeys
from sessiond.hub.session import entry_placement
from sessiond.hub.session.blobs import SessionBlobs
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.log_reader import Moment
from sessiond.hub.transfer.export_conversion import Conversion, Converted, blocks_of, convert
from sessiond.protocol import types as t
from sessiond.session.content import fields, restore_blobs
from sessiond.session.dialects.exported import ExportedSession
from sessiond.session.tree import fork, lines
from sessiond.session.tree.steps import ROWS_A_STEP, Steps, clear_lists
from sessiond.store.base import Store
from sessiond.store.errors import StorageFailed
from sessiond.store.files.folders import new_file, sync_folder
from sessiond.store.files.syscalls import Syscalls

log = logging.getLogger(__name__)

MAX_INLINE: Final = 16 * 1024 * 1024
"""Limit of an export that is returned as text, in bytes. A larger one requires a path."""
SMALL_BYTES: Final = 512 * 1024
"""Limit of entries, in bytes, up to which an export is converted in a thread. For more, a child process is started."""
MAX_LISTED: Final = 1_000
"""Limit of each list of a result."""
_ROWS_A_STEP: Final = 64
_READ: Final = 50
"""Progress in percent when everything is read."""
_NOVA_NAMES: Final = {
    "plan": "current_plan", "updatedAt": "last_updated", "parentSessionId": "fork_parent_id",
}  # fmt: skip
"""NOVA's names of the fields of a working state that differ in more than the spelling."""


class Exports:
    """Exports the sessions of one store."""

    def __init__(self, files: Store, keys: ProviderKeys) -> None:
        self._files = files
        self._keys = keys

    async def run(
        self,
        live: LiveSession,
        moment: Moment,
        params: t.ExportParams,
        state: t.WorkingState | None,
        report: ReportPercentage,
    ) -> t.ExportResult:
        """Export a session.

        Args:
            live: The session.
            moment: The state of the session to export.
            params: The request.
            state: The working state at that moment, for NOVA.
            report: Receives progress.

        Raises:
            EntryNotFound: The requested leaf does not exist.
            IncompatibleParams: The path is not absolute, is in a folder of sessiond, is a folder, or exists.
            TooLarge: The export is larger than `MAX_INLINE` and the request has no path.
            StorageFailed: The folder of the path does not exist or accepts no files.
            OSError: A file cannot be written.
        """
        target = _target(params, self._files)
        about = _about(live, moment)
        if params.leaf_id is UNSET:
            found = await live.drive(_all_lines(live, moment, report))
            about = replace(about, leaf=moment.leaf_id)
        else:
            row = live.row_at(params.leaf_id)
            path = fork.fork_lines(
                live.tree, row, live.read_rows, header=b"", new_id=lambda: entry_placement.free_id(live.tree)
            )
            found = (await live.drive(path))[1:]
            name = f"{about.session_id[:100]}-{fields.digest(about.session_id, params.leaf_id or '')[:8]}"
            about = replace(about, session_id=name, parent_session=about.session_id)
        report(f"Writing {len(found):,} entries", _READ)
        work, missing = await asyncio.to_thread(
            _described, about, found, params, live.blobs, target, state, self._keys
        )
        await live.drive(clear_lists(found))
        converted = await _converted(work)
        return await asyncio.to_thread(_written, converted, missing, params, target)


async def _converted(work: Conversion) -> Converted:
    """Convert in a child process if the entries exceed `SMALL_BYTES`, otherwise in a thread.

    A thread is also used if the system starts no process.
    """
    if sum(map(len, work.blocks)) > SMALL_BYTES:
        try:
            return await run_in_child_process(convert, work)
        except ChildNotStarted as error:
            log.warning("an export slows down other requests: %s", error)
    return await asyncio.to_thread(convert, work)


def _about(live: LiveSession, moment: Moment) -> ExportedSession:
    """Describe the exported session, without its entries."""
    header = live.tree.header
    return ExportedSession(
        session_id=live.session_id, timestamp="" if header is None else header.timestamp,
        cwd="" if header is None else header.cwd, title=moment.title, tags=moment.tags,
        parent_session=None if header is None else header.parent_session, entries=[], leaf=None,
    )  # fmt: skip


def _target(params: t.ExportParams, files: Store) -> Path | None:
    if params.path is None:
        return None
    refuse_unless_absolute(params.path, "path")
    target = Path(os.path.realpath(params.path))
    if files.holds(str(target)):
        raise IncompatibleParams("path is in a folder of sessiond; choose another folder")
    return target


def _all_lines(live: LiveSession, moment: Moment, report: ReportPercentage) -> Steps[list[bytes]]:
    tree = live.tree
    rows: list[int] = []
    for start in range(1, moment.committed, ROWS_A_STEP):
        rows += filter(tree.is_entry, range(start, min(start + ROWS_A_STEP, moment.committed)))
        yield
    found: list[bytes] = []
    for start in range(0, len(rows), _ROWS_A_STEP):
        found += live.read_rows(rows[start : start + _ROWS_A_STEP])
        report(f"Reading {len(rows):,} entries", _READ * len(found) // len(rows))
        yield
    return found


def _described(
    about: ExportedSession, found: Sequence[bytes], params: t.ExportParams, blobs: SessionBlobs, target: Path | None,
    state: t.WorkingState | None, keys: ProviderKeys,
) -> tuple[Conversion, list[str]]:  # fmt: skip
    """Return the input of the conversion, with blobs restored, and the hashes of missing blobs."""
    missing: dict[str, None] = {}

    def find(digest: str) -> bytes | None:
        data = blobs.find(digest)
        if data is None:
            missing[digest] = None
        return data

    work = Conversion(
        session=about, blocks=blocks_of(restore_blobs.restore(line, find) for line in found),
        ends_at_last=params.leaf_id is not UNSET, format=params.format, redact=params.redact,
        pictures=None if target is None else quote(_folder_beside(target).name),
        state={} if state is None else nova_state(state), keys=keys,
    )  # fmt: skip
    return work, list(missing)


def _written(
    converted: Converted, missing: list[str], params: t.ExportParams, target: Path | None
) -> t.ExportResult:
    text: str | None = None
    beside: list[Path] = []
    data = converted.data
    if target is not None:
        _refuse_existing(target, overwrite=params.overwrite)
        beside = _write_pictures(target, converted.pictures)
        _write(data, target, overwrite=params.overwrite)
    elif len(data) > MAX_INLINE:
        raise TooLarge("the exported text (give a path to write it to a file)", len(data), MAX_INLINE)
    else:
        text = lines.valid_text(data.decode("utf-8", "replace"))
    return t.ExportResult(
        format=params.format, text=text, path=None if target is None else lines.valid_text(str(target)),
        size_bytes=len(data), entry_count=converted.entries, lost=_most_frequent(converted.lost),
        lost_count=sum(converted.lost.values()), carried=_most_frequent(converted.carried),
        carried_count=sum(converted.carried.values()),
        redacted=[
            t.Redaction(kind=kind, entry_id=None if entry is None else lines.valid_text(entry), count=count)
            for (entry, kind), count in islice(converted.redacted.items(), MAX_LISTED)
        ],
        redacted_counts=_by_kind(converted.redacted),
        redaction_incomplete=params.redact and converted.lacks_keys,
        missing_blobs=missing[:MAX_LISTED], missing_blob_count=len(missing),
        picture_paths=[lines.valid_text(str(path)) for path in beside[:MAX_LISTED]], picture_count=len(beside),
    )  # fmt: skip


def _folder_beside(target: Path) -> Path:
    """Return the folder for the pictures of a transcript."""
    return target.with_name(f"{target.stem}.pictures")


def _write_pictures(target: Path, pictures: dict[str, bytes]) -> list[Path]:
    """Write the pictures that do not exist yet, and return their paths. Their names depend on their content."""
    folder = _folder_beside(target)
    if pictures:
        try:
            folder.mkdir(exist_ok=True)
        except FileExistsError:
            raise IncompatibleParams(f"{folder} exists already, and is not a folder for pictures") from None
    paths = {folder / name: picture for name, picture in pictures.items()}
    for path, picture in paths.items():
        if not path.is_file() or path.stat().st_size != len(picture):
            _write(picture, path, overwrite=False)
    return list(paths)


def _refuse_existing(target: Path, *, overwrite: bool) -> None:
    """Raise `IncompatibleParams` if the target exists, before pictures are written. `_write` checks again."""
    if not overwrite and os.path.lexists(target):
        raise IncompatibleParams(f"{target} exists already; use overwrite, or choose another path")


def _most_frequent(counts: dict[str, int]) -> list[t.Loss]:
    """Return the most frequent losses by name."""
    listed = nlargest(MAX_LISTED, counts.items(), key=lambda it: it[1])
    return [t.Loss(name=lines.valid_text(name), count=count) for name, count in sorted(listed)]


def _by_kind(redacted: dict[tuple[str | None, str], int]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for (_, kind), count in redacted.items():
        counts[kind] += count
    return dict(sorted(counts.items()))


def nova_state(state: t.WorkingState) -> dict[str, Any]:
    """Return a working state with the field names of NOVA's `SessionState.to_dict`."""
    values = {_nova_name(name): value for name, value in msgspec.to_builtins(state).items()}
    values["metrics"] = {_nova_name(name): value for name, value in values["metrics"].items()}
    return values


def _nova_name(name: str) -> str:
    """Return NOVA's name of a field: in snake case, unless it has another one."""
    return _NOVA_NAMES.get(name) or "".join(f"_{it.lower()}" if it.isupper() else it for it in name)


def _write(data: bytes, target: Path, *, overwrite: bool) -> None:
    """Write a file atomically, with access for its owner only. It is durable when this returns."""
    calls = Syscalls()
    made = target.with_name(f".{target.name[:160]}.{os.urandom(6).hex()}.tmp")
    try:
        os.close(new_file(made, [data], calls))
    except FileNotFoundError as error:
        reason = "no file can be created in" if target.parent.is_dir() else "there is no folder"
        raise StorageFailed(f"{reason} {target.parent}", path=str(target), errno=error.errno) from None
    try:
        if overwrite:
            made.replace(target)
        else:
            os.link(made, target)  # fails if the target exists
    except FileExistsError:
        raise IncompatibleParams(f"{target} exists already; use overwrite, or choose another path") from None
    except OSError as error:
        if error.errno == errno.EISDIR:
            raise IncompatibleParams(f"{target} is a folder") from None
        raise
    finally:
        made.unlink(missing_ok=True)
    sync_folder(target.parent, calls)
