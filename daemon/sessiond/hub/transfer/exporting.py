"""Exports a session: reads its lines in steps, and passes them with their blobs to the conversion.

The lines are converted in a child process, or in a thread if they are few. The daemon never holds all of them. The log
is only read.
"""

import asyncio
import logging
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET

from sessiond.hub.errors import ChildNotStarted, IncompatibleParams, refuse_unless_absolute
from sessiond.hub.execution.child_process import run_on_pieces
from sessiond.hub.execution.progress import ReportPercentage
from sessiond.hub.redaction.provider_keys import ProviderKeys
from sessiond.hub.session import entry_placement
from sessiond.hub.session.blob_resolution import BlobFinder
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.log_reader import Moment
from sessiond.hub.transfer.export_conversion import Conversion, Converted, convert
from sessiond.hub.transfer.export_file import ExportFile
from sessiond.hub.transfer.lines_with_blobs import LinePiece, in_pieces
from sessiond.protocol import types as t
from sessiond.session.content import fields
from sessiond.session.dialects.exported import ExportedSession
from sessiond.session.tree import fork, lines, steps
from sessiond.session.tree.steps import ROWS_A_STEP, Steps, count_messages
from sessiond.store.base import Store

log = logging.getLogger(__name__)

SMALL_BYTES: Final = 512 * 1024
"""Limit of the lines and blobs of an export that is converted in a thread. A larger one needs a child process."""
THREAD_BYTES: Final = 16 * 1024 * 1024
"""The same limit if the system starts no process."""
_READ: Final = 50
"""Progress in percent when everything is read."""
MAX_LISTED: Final = 1_000
"""Limit of each list of a result."""
_NOVA_NAMES: Final = {
    "plan": "current_plan", "updatedAt": "last_updated", "parentSessionId": "fork_parent_id",
}  # fmt: skip
"""NOVA's names of the fields of a working state whose names differ in more than the spelling."""


_WHOLE: Final = frozenset(("html", "jsonl", "operator", "go", "nova"))
"""The formats with all branches, and the format of a state, which has no branches."""


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
        leaf = moment.leaf if params.leaf_id is UNSET else live.row_at(params.leaf_id)
        counts = await live.drive(count_messages(live.tree, leaf))
        is_whole = params.leaf_id is UNSET and params.format in _WHOLE
        if params.leaf_id is UNSET:
            batches = _all_lines(live, moment, report)
            about = replace(about, leaf=moment.leaf_id)
        else:
            row = live.row_at(params.leaf_id)
            path = fork.fork_lines(
                live.tree, row, live.read_rows, header=b"", new_id=lambda: entry_placement.free_id(live.tree)
            )
            batches = _in_batches((await live.drive(path))[1:])
            name = f"{about.session_id[:100]}-{fields.digest(about.session_id, params.leaf_id or '')[:8]}"
            about = replace(about, session_id=name, parent_session=about.session_id)
        work = Conversion(
            session=about, ends_at_last=params.leaf_id is not UNSET, format=params.format,
            redact=params.redact, state={} if state is None else nova_state(state), keys=self._keys,
            file=None if target is None else ExportFile(target, overwrite=params.overwrite),
        )  # fmt: skip
        find = BlobFinder(live.blobs)
        with live.in_use():
            converted = await _converted((in_pieces(batch, find) async for batch in batches), work)
        return msgspec.structs.replace(
            _result(converted, find.missing, params, target),
            message_count=counts.all,
            off_path_count=0 if is_whole else counts.off_path,
        )


async def _converted(pieces: AsyncIterator[Iterator[LinePiece]], work: Conversion) -> Converted:
    """Convert in a thread if the lines and blobs have at most `SMALL_BYTES`, otherwise in a child process.

    A thread is also used for up to `THREAD_BYTES` if the system starts no process.
    """
    begun: list[LinePiece] = []
    ended = await _take(pieces, begun, SMALL_BYTES)
    if not ended:
        try:
            return await run_on_pieces(convert, _resumed(begun, pieces), work)
        except ChildNotStarted as error:
            if not await _take(pieces, begun, THREAD_BYTES):
                raise
            log.warning("an export slows down other requests: %s", error)
        except BaseException:
            if work.file is not None:
                await asyncio.to_thread(work.file.remove_unfinished)
            raise
    return await asyncio.to_thread(convert, begun, work)


async def _take(pieces: AsyncIterator[Iterator[LinePiece]], taken: list[LinePiece], size: int) -> bool:
    """Add pieces to the taken ones, until they have more than `size` bytes. Returns whether no pieces are left."""
    async for some in pieces:
        taken += await asyncio.to_thread(list, some)
        if sum(piece.size for piece in taken) > size:
            return False
    return True


async def _resumed(
    begun: list[LinePiece], pieces: AsyncIterator[Iterator[LinePiece]]
) -> AsyncIterator[Iterable[LinePiece]]:
    yield begun
    async for some in pieces:
        yield some


def _about(live: LiveSession, moment: Moment) -> ExportedSession:
    """Describe the exported session, without its entries."""
    header = live.tree.header
    return ExportedSession(
        session_id=live.session_id, timestamp="" if header is None else header.timestamp,
        cwd="" if header is None else header.cwd, title=moment.title, tags=moment.tags,
        parent_session=None if header is None else header.parent_session, entries=[], leaf=None,
        agent=None if live.tree.origin is None else live.tree.origin.agent,
    )  # fmt: skip


def _target(params: t.ExportParams, files: Store) -> Path | None:
    if params.path is None:
        return None
    refuse_unless_absolute(params.path, "path")
    target = Path(os.path.realpath(params.path))
    if files.holds(str(target)):
        raise IncompatibleParams("path is in a folder of sessiond; choose another folder")
    return target


async def _all_lines(
    live: LiveSession, moment: Moment, report: ReportPercentage
) -> AsyncIterator[Sequence[bytes]]:
    rows = await live.drive(_entry_rows(live, moment))
    done = 0
    for batch in steps.batches(live.tree, rows):
        yield await live.drive(live.read_in_steps(batch))
        done += len(batch)
        report(f"Reading {len(rows):,} entries", _READ * done // len(rows))


def _entry_rows(live: LiveSession, moment: Moment) -> Steps[list[int]]:
    rows: list[int] = []
    for start in range(1, moment.committed, ROWS_A_STEP):
        rows += filter(live.tree.is_entry, range(start, min(start + ROWS_A_STEP, moment.committed)))
        yield
    return rows


async def _in_batches(found: Sequence[bytes]) -> AsyncIterator[Sequence[bytes]]:
    for start in range(0, len(found), ROWS_A_STEP):
        yield found[start : start + ROWS_A_STEP]


def _result(
    converted: Converted, missing: Iterable[str], params: t.ExportParams, target: Path | None
) -> t.ExportResult:
    absent = list(missing)
    return t.ExportResult(
        format=params.format, text=converted.text,
        path=None if target is None else lines.valid_text(str(target)),
        size_bytes=converted.size, entry_count=converted.entries, lost=_most_frequent(converted.lost),
        lost_count=sum(converted.lost.values()), carried=_most_frequent(converted.carried),
        carried_count=sum(converted.carried.values()),
        redacted=[
            t.Redaction(kind=kind, entry_id=None if entry is None else lines.valid_text(entry), count=count)
            for (entry, kind), count in islice(converted.redacted.items(), MAX_LISTED)
        ],
        redacted_counts=_by_kind(converted.redacted),
        redaction_incomplete=params.redact and converted.lacks_keys,
        missing_blobs=absent[:MAX_LISTED], missing_blob_count=len(absent),
        picture_paths=[lines.valid_text(str(path)) for path in converted.pictures[:MAX_LISTED]],
        picture_count=len(converted.pictures),
    )  # fmt: skip


def _most_frequent(counts: dict[str, int]) -> list[t.Loss]:
    """Return the most frequent losses by name."""
    listed = nlargest(MAX_LISTED, counts.items(), key=lambda pair: pair[1])
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
    return _NOVA_NAMES.get(name) or "".join(
        f"_{letter.lower()}" if letter.isupper() else letter for letter in name
    )
