"""Finds the entries that refer to an entry: children, labels, `leaf` lines, compactions, branch summaries, edits."""

from typing import Final

import msgspec

from sessiond.session.tree import payloads, steps
from sessiond.session.tree.chains import Chains
from sessiond.session.tree.codes import KIND
from sessiond.session.tree.steps import ROWS_A_STEP, Read, Steps
from sessiond.session.tree.tree import Tree

FIELDS: Final = ("parentId", "targetId", "firstKeptEntryId", "fromId")
"""The members that hold the id of another entry."""

_REFERRING_KINDS: Final = frozenset(
    KIND[name] for name in ("label", "leaf", "compaction", "branch_summary", "context_edit")
)


class _References(msgspec.Struct, rename="camel", gc=False):
    target_id: str | None = None
    first_kept_entry_id: str | None = None
    from_id: str | None = None

    @property
    def ids(self) -> tuple[str | None, ...]:
        return self.target_id, self.first_kept_entry_id, self.from_id


_references = msgspec.json.Decoder(_References)


def referring_rows(tree: Tree, chains: Chains, row: int, read: Read) -> Steps[list[int]]:
    """Return the rows that refer to the entry of a row, in log order.

    Args:
        tree: The tree of the session.
        chains: Its chains, which include all committed rows.
        row: The row of the entry.
        read: Returns the entries of rows.

    """
    entry_id = tree.id(row)
    found: set[int] = set()
    for child in chains.children(row):
        found.add(child)
        if len(found) % ROWS_A_STEP == 0:
            yield
    candidates: list[int] = []
    for start in range(0, tree.committed, ROWS_A_STEP):
        end = min(start + ROWS_A_STEP, tree.committed)
        candidates += [number for number in range(start, end) if tree.kind(number) in _REFERRING_KINDS]
        yield
    for batch in steps.batches(tree, candidates):
        for referring, entry in zip(batch, read(batch), strict=True):
            references = payloads.part(_references, entry)
            if references is not None and entry_id in (
                references.target_id,
                references.first_kept_entry_id,
                references.from_id,
            ):
                found.add(referring)
        yield
    return sorted(found)
