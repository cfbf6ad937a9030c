"""Compares a source with the session that an earlier import of it has stored, and finds what the session lacks.

The comparison of a large source runs in a child process, which writes the entries that the session lacks into a file.
So the daemon's memory does not depend on the size of the source. All functions block.
"""

import os
import time
from collections.abc import Container
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, NamedTuple

from sessiond.agents.recognition import foreign_program_of
from sessiond.hub.index.facts import bytes_of
from sessiond.hub.transfer import foreign_files, leading_file
from sessiond.hub.transfer.entry_files import entries_in
from sessiond.hub.transfer.foreign_files import NotImported, ReadSource
from sessiond.hub.transfer.import_appending import replaces_state
from sessiond.hub.transfer.import_results import BEING_RECORDED
from sessiond.hub.transfer.leading_file import FileRole
from sessiond.hub.transfer.leaf_owner import is_above, is_of_agent
from sessiond.hub.transfer.scanned_log import ScannedLog
from sessiond.hub.transfer.source_state import FileStatus
from sessiond.hub.transfer.spool import NEW_FILE, Spool
from sessiond.session.content.search_text import milliseconds
from sessiond.session.dialects import imported_log, recorded
from sessiond.session.dialects.import_builder import Imported, ImportedEntry
from sessiond.store.base import Store
from sessiond.store.errors import LogNotFound

_BEGINNING_SECONDS: Final = 60.0
"""The age in seconds up to which an empty session of an agent may be one whose recording begins."""


class Unrelated(Enum):
    """Why a log is not the session of a source."""

    GONE = "gone"
    OTHER = "other"


class Growth(NamedTuple):
    """The difference between a source and its session.

    Attributes:
        imported: The session that was read. Its entries are the origin, those that the session lacks, and the
            session's leaf if the source has it.
        lacks: Whether the session lacks entries.
        role: The relation of the source to the session.
        ref: The ref of the log.
        log_status: The status of the file of the log before it was read.
        last: The id of the last entry of the log that has one.
        title: The title of the session.
        is_draft: Whether the session has no answer, and the source adds none.
        cwd: The folder of the session.
        origin_path: The path of the source that leads until now, if the session names it.
        named: The hashes of the blobs that the log names.
        is_import: Whether the log is an import of the source, or of an earlier state or a copy of it.
        lacks_history: Whether the log is a fork that was stored without the history that the source has now.
        replaces_state: Whether the source has a state that becomes that of the session.
        cut_off: The number of messages that are roots of the session although the source has others before them.
        leaf: The leaf of the session.
        is_agents_leaf: Whether the source has set the leaf.
        leaf_is_above: Whether the leaf of the session is an ancestor of that of the source.
    """

    imported: Imported
    lacks: bool
    role: FileRole
    ref: str
    log_status: FileStatus | None
    last: str | None
    title: str | None
    is_draft: bool
    cwd: str
    origin_path: str | None
    named: frozenset[str]
    is_import: bool
    lacks_history: bool
    replaces_state: bool
    cut_off: int
    leaf: str | None
    is_agents_leaf: bool
    leaf_is_above: bool


@dataclass(frozen=True, slots=True)
class FiledGrowth:
    """A growth whose imported entries are in a file of the spool: its path, and their number."""

    growth: Growth
    path: str
    count: int

    def with_entries(self) -> Growth:
        """Return the growth with its entries, whose lines are read when they are asked for."""
        entries = entries_in(self.path, self.count)
        return self.growth._replace(imported=replace(self.growth.imported, entries=entries))


def find(source: ReadSource, path: str, ref: str, store: Store, *, is_followed: bool) -> Growth | Unrelated:
    """Return what a source adds to the session of a log.

    Args:
        source: The result of reading the source. Its entries may be in a file.
        path: The path of the source.
        ref: The log of a session that has the id of the source.
        store: The store with the log.
        is_followed: Whether the program writes the source at present, so that it matters who has set the leaf.

    Raises:
        NotImported: The source may have entries of a turn that is being recorded, or of a recording that begins.
        StorageFailed: The log cannot be read.
        OSError: The file with the entries cannot be read.
    """
    log = _scanned(ref, store)
    if log is None:
        return Unrelated.GONE
    if source.log is not None:
        filed = entries_in(source.log, source.log_count, header=True)
        source = source._replace(imported=replace(source.imported, entries=filed))
    imported = source.imported
    if is_followed and _is_being_begun(log):
        raise NotImported(BEING_RECORDED)
    lacks_history = imported_log.lacks_history(log.tree, log.read, imported)
    is_recorded = recorded.is_recorded(log.tree, imported)
    if is_recorded:
        source = _without_recorded(source, log)
    is_import = is_recorded or imported_log.is_import_of(log.tree, log.read, imported)
    if not is_import and not lacks_history:
        return Unrelated.OTHER
    found = _growth(source, path, log, is_followed=is_followed)
    return found._replace(is_import=is_import, lacks_history=lacks_history)


def find_into_file(
    source: ReadSource, path: str, ref: str, store: Store, spool: Spool, *, is_followed: bool
) -> FiledGrowth | Unrelated:
    """Return what `find` returns, with the entries in a new file of the spool. Raises what it raises."""
    found = find(source, path, ref, store, is_followed=is_followed)
    if isinstance(found, Unrelated):
        return found
    entries, name = found.imported.entries, spool.path()
    with open(os.open(name, NEW_FILE, 0o600), "wb") as file:
        file.writelines(entry.line + b"\n" for entry in entries)
    emptied = replace(found.imported, entries=[], inherited=frozenset())
    return FiledGrowth(found._replace(imported=emptied), str(name), len(entries))


def is_foreign(ref: str, store: Store) -> bool:
    """Return whether a log that the store lists is a session file of another program."""
    return foreign_program_of(lambda size: bytes_of(store, ref, 0, size)) is not None


def _scanned(ref: str, store: Store) -> ScannedLog | None:
    """Return a log of a session; None if it is gone, or one of another program."""
    log = ScannedLog(ref, store)
    try:
        if is_foreign(ref, store):
            return None
        for data in store.scan(ref):
            log.take(data)
    except LogNotFound:
        return None
    log.tree.finish()
    return log


def _is_being_begun(log: ScannedLog) -> bool:
    """Return whether a log is new and empty. `sessiond acp` names the session of the agent in its next request."""
    header = log.tree.header
    created = None if header is None else milliseconds(header.timestamp)
    return len(log.tree) == 1 and created is not None and time.time() - created / 1000 < _BEGINNING_SECONDS


def _growth(source: ReadSource, path: str, log: ScannedLog, *, is_followed: bool) -> Growth:
    whole, rows = source.imported, log.tree
    imported = imported_log.without_history(whole, rows)
    role = leading_file.role_of(path, source.state.status, imported, rows)
    if role.leads:
        imported = imported_log.continued(imported, rows)
    imported = imported_log.beside_by_content(imported, rows, log.read, is_other=role.is_other)
    missing = imported_log.missing(imported, rows)
    leaf = rows.pending_leaf_id
    last = next((name for row in reversed(range(len(rows))) if (name := rows.id(row)) is not None), None)
    return Growth(
        imported=_reduced(imported, {entry.id for entry in missing}, leaf), lacks=bool(missing), role=role,
        ref=log.ref, log_status=log.status, last=last, title=rows.title,
        is_draft=not (rows.has_assistant() or imported.is_answered),
        cwd="" if rows.header is None else rows.header.cwd,
        origin_path=None if rows.origin is None else rows.origin.path, named=frozenset(log.named),
        is_import=True, lacks_history=False,
        replaces_state=imported.is_state and replaces_state(rows, imported),
        cut_off=imported_log.cut_off(whole, rows), leaf=leaf,
        is_agents_leaf=is_followed and role.leads and is_of_agent(rows, log.read, imported),
        leaf_is_above=is_above(rows, leaf, imported.leaf),
    )  # fmt: skip


def _reduced(imported: Imported, missing: Container[str], leaf: str | None) -> Imported:
    """Return a session with only the origin, the missing entries, and the leaf of the stored session."""

    def is_kept(entry: ImportedEntry) -> bool:
        return entry.id == leaf or entry.id in missing

    origin, last = imported.entries[0], imported.conversation_count + 1
    spoken = list(filter(is_kept, imported.entries[1:last]))
    beside = filter(is_kept, imported.entries[last:])
    return replace(imported, entries=[origin, *spoken, *beside], conversation_count=len(spoken))


def _without_recorded(source: ReadSource, log: ScannedLog) -> ReadSource:
    """Return the result of a reading without recorded entries. Raises `NotImported` while a turn is being recorded."""
    quiet = time.time() - source.state.status.modified_ns / 1e9
    if quiet < foreign_files.GROWING_SECONDS and recorded.has_open_turn(log.tree, log.read):
        raise NotImported(BEING_RECORDED)
    return source._replace(imported=recorded.joined(source.imported, log.tree, log.read))
