"""Reads the facts of logs for the index, as a whole or from their ends, and caches the trees of logs that grow."""

import logging
from dataclasses import dataclass, replace
from typing import Final

from sessiond.hub.index.columns import COLUMNS, FileRow, columns_of, identity_of, storable
from sessiond.hub.index.committed_entries import TAIL_BYTES
from sessiond.hub.index.facts import (
    HEAD_BYTES,
    SMALL_FILE,
    LogFacts,
    bytes_of,
    hash_of,
    read_ends,
    read_in_steps,
)
from sessiond.session.tree import steps
from sessiond.session.tree.tree import Tree
from sessiond.store.base import Store
from sessiond.store.errors import LogNotFound, StorageFailed
from sessiond.store.records import Stored

log = logging.getLogger(__name__)

_MAX_TREES: Final = 4
"""The number of cached trees. They belong to files that other programs write: a new line then costs one line only."""


@dataclass(frozen=True, slots=True)
class ReadFacts:
    """The facts that were read from a log, and its columns in the table `files`."""

    facts: LogFacts
    columns: list[object]
    is_continuation: bool
    """Whether the indexed part is unchanged at the beginning of the file."""

    @property
    def is_provisional(self) -> bool:
        """Whether only the beginning and the end of the log were read."""
        return self.facts.listed is not None and self.facts.listed.provisional


class FactsReader:
    """Reads logs that are not open. `failures` holds the reason why a log is not in the index, by ref."""

    def __init__(self, store: Store) -> None:
        self.failures: dict[str, str] = {}
        self._store = store
        self._trees: dict[str, tuple[str, Tree]] = {}

    def read(self, stored: Stored, known: FileRow | None) -> ReadFacts | None:
        """Read a whole log. Returns None if it does not exist any more.

        Args:
            stored: The log.
            known: Its row, if there is one.
        """
        return steps.run(self.read_in_steps(stored, known))

    def read_in_steps(self, stored: Stored, known: FileRow | None) -> steps.Steps[ReadFacts | None]:
        """Read a whole log in small steps; see `read`."""
        self.failures.pop(stored.ref, None)
        try:
            file, stored = stored, self._store.measured(stored)
            is_continuation = known is not None and self._continues(stored, known)
            facts = yield from read_in_steps(
                self._store, stored, self._tree_for(stored, grown=is_continuation)
            )
            facts = replace(facts, stored=file)
            return ReadFacts(facts, storable(columns_of(facts), facts.labels), is_continuation)
        except LogNotFound:
            return None  # it disappeared meanwhile
        except StorageFailed as error:
            log.warning("a session file cannot be read for the index: %s", error)
            return self._failed(stored, error.reason)
        except Exception as error:  # an error of one file must not affect the results of others
            log.exception("session file %s cannot be indexed", stored.ref)
            return self._failed(stored, f"it cannot be indexed: {error!r:.200}")

    def read_ends(self, stored: Stored, known: FileRow | None) -> ReadFacts | None:
        """Read the ends of a log, or the whole log if it is small or they do not suffice; see `read`."""
        if stored.size > SMALL_FILE and not stored.draft:
            try:
                facts = read_ends(self._store, self._store.measured(stored))
                if facts is not None:
                    facts = replace(facts, stored=stored)
                    return ReadFacts(facts, storable(columns_of(facts), ()), is_continuation=False)
            except Exception:
                log.debug("the ends of session file %s cannot be read", stored.ref, exc_info=True)
        return self.read(stored, known)

    def cached_tree(self, ref: str, known: FileRow | None) -> Tree | None:
        """Return the cached tree of a file that has grown recently, or None."""
        identity, tree = self._trees.get(ref, ("", None))
        return tree if known is not None and known.identity == identity else None

    def forget(self, ref: str) -> None:
        """Discard everything about a log that does not exist any more."""
        self.failures.pop(ref, None)
        self._trees.pop(ref, None)

    def clear(self) -> None:
        """Discard everything."""
        self.failures.clear()
        self._trees.clear()

    def _failed(self, stored: Stored, reason: str) -> ReadFacts:
        """Return a row without facts and with an empty stamp, so that the next daemon reads the file again."""
        self.forget(stored.ref)
        self.failures[stored.ref] = reason
        facts = LogFacts(stored, b"", None, (), b"[]")
        columns = columns_of(facts)
        columns[COLUMNS.index("stamp")] = ""
        return ReadFacts(facts, columns, is_continuation=False)

    def _continues(self, stored: Stored, known: FileRow) -> bool:
        """Whether the indexed part is unchanged at the beginning of a file."""
        if known.identity != identity_of(stored) or stored.size < known.indexed_bytes:
            return False
        if known.indexed_bytes >= HEAD_BYTES and known.head != hash_of(
            bytes_of(self._store, stored.ref, 0, HEAD_BYTES)
        ):
            return False
        tail = bytes_of(
            self._store, stored.ref, max(0, known.indexed_bytes - TAIL_BYTES), known.indexed_bytes
        )
        return not known.indexed_bytes or hash_of(tail) == known.tail

    def _tree_for(self, stored: Stored, *, grown: bool) -> Tree:
        """Return the tree to read a file into: the cached one if the file only grew."""
        identity, tree = self._trees.pop(stored.ref, ("", None))
        if not grown:
            return Tree()
        if tree is None or identity != identity_of(stored) or stored.size < tree.end or tree.tail:
            tree = Tree()
        self._trees[stored.ref] = (identity_of(stored), tree)
        while len(self._trees) > _MAX_TREES:
            del self._trees[next(iter(self._trees))]
        return tree
