"""Compares sources with their sessions: reads each source again, and finds the entries that its session lacks.

Runs in a child process if the sessions are in files. A large source is read part by part into a file, and the lines of
its entries are read from there when they are compared. Nothing is stored.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from sessiond.agents.companions import Companions
from sessiond.hub.transfer import foreign_files, import_reading, leading_file, streaming
from sessiond.hub.transfer.entry_files import entries_in
from sessiond.hub.transfer.foreign_files import NotImported, ReadSource
from sessiond.hub.transfer.scanned_log import ScannedLog
from sessiond.hub.transfer.spool import Spool
from sessiond.session.content import extract_blobs
from sessiond.session.dialects import imported_log, recorded
from sessiond.session.dialects.import_builder import IMPORT_TYPE, Imported
from sessiond.session.tree import entries, lines
from sessiond.store.base import Store
from sessiond.store.errors import LogNotFound, StorageFailed

MAX_NAMED: Final = 3
"""Limit of the entries that a comparison names."""
_OF_STORAGE: Final = ("parentId", entries.COMMAND_FIELD)
"""Fields of an entry that depend on the session in which it was stored."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A source and the log of the session that has its content."""

    path: str
    ref: str


@dataclass(frozen=True, slots=True)
class SourceComparison:
    """The result of comparing a source with its session.

    Attributes:
        path: The source.
        entry_count: The number of its entries.
        missing: The ids of the first entries that the session lacks.
        missing_count: The number of all these.
        different: The ids of the first entries that the session has with other content.
        different_count: The number of all these.
        failure: Why the source or the log could not be read; None if both were.
    """

    path: str
    entry_count: int = 0
    missing: Sequence[str] = ()
    missing_count: int = 0
    different: Sequence[str] = ()
    different_count: int = 0
    failure: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the session has all entries of the source, unchanged."""
        return self.failure is None and not self.missing_count and not self.different_count


def compare(pairs: Sequence[Pair], store: Store, spool: Spool) -> list[SourceComparison]:
    """Compare sources with their logs. Blocks.

    Args:
        pairs: The sources with their logs.
        store: The store of the logs.
        spool: Takes the long texts of the sources. It is cleared at the end.
    """
    companions = Companions()
    results: list[SourceComparison] = []
    for pair in pairs:
        try:
            results.append(_compared(pair, store, companions, spool))
        except (NotImported, OSError, StorageFailed, LogNotFound) as error:
            results.append(SourceComparison(pair.path, failure=str(error)))
        finally:
            spool.clear()
    return results


def _compared(pair: Pair, store: Store, companions: Companions, spool: Spool) -> SourceComparison:
    source = _read(pair.path, companions, spool)
    log = ScannedLog(pair.ref, store)
    for data in store.scan(pair.ref):
        log.take(data)
    log.tree.finish()
    imported = _as_stored(source, pair.path, log)
    missing = [entry.id for entry in imported_log.missing(imported, log.tree)]
    different = [] if imported.is_state else list(_different(imported, log))
    return SourceComparison(
        pair.path,
        len(imported.entries),
        missing[:MAX_NAMED],
        len(missing),
        different[:MAX_NAMED],
        len(different),
    )


def _read(path: str, companions: Companions, spool: Spool) -> ReadSource:
    """Read a source; a large one part by part, so that the lines of its entries are in a file of the spool."""
    if import_reading.is_large(path):
        log = streaming.read(path, None, companions, spool, cwd=None, title_space=False)
        if log is not None:
            entries = entries_in(log.path, log.count, header=True)
            return ReadSource(replace(log.imported, entries=entries), log.state)
    return foreign_files.read(path, None, companions, spool)


def _as_stored(source: ReadSource, path: str, log: ScannedLog) -> Imported:
    """Return what was read, as an import into the session has it: see `importing`."""
    imported = source.imported
    if recorded.is_recorded(log.tree, imported):
        imported = recorded.joined(imported, log.tree, log.read)
    imported = imported_log.without_history(imported, log.tree)
    role = leading_file.role_of(path, source.state.status, imported, log.tree)
    return imported_log.beside_by_content(imported, log.tree, log.read, is_other=role.is_other)


def _different(imported: Imported, log: ScannedLog) -> Iterable[str]:
    """Yield the ids of the entries that the log has with other content."""
    for entry in imported.entries:
        row = log.tree.any_row(entry.id)
        if row is None:
            continue
        stored = log.read([row])[0]
        expected = imported_log.with_usage(entry, imported.dialect)
        if stored != expected and _content(stored) not in (_content(expected), None):
            yield entry.id


def _content(line: bytes) -> object:
    """Return an entry without large content, which has the same references wherever it is stored.

    Returns:
        None for a line of the source that is stored as it was, because the session could not take it.
    """
    if extract_blobs.may_need_extraction(line):
        line = extract_blobs.extract(line).draft
    try:
        value = lines.loads(line)
    except lines.NotAnEntry:
        return line
    if value.get("customType") == IMPORT_TYPE:
        return None
    return msgspec.json.encode(
        {name: value[name] for name in sorted(value) if name not in _OF_STORAGE}, order="sorted"
    )
