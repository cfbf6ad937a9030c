"""Determines whether a file is a session. Editors use this for each file whose name ends in `.jsonl`."""

from sessiond.session.tree.codes import BAD, HEADER, OTHER
from sessiond.session.tree.tree import Tree


def is_session(tree: Tree) -> bool:
    """Return whether there is a header, a title slot, or an entry of a known type in the first lines."""
    if tree.header is not None or tree.slot_title is not None:
        return True
    return any(tree.kind(row) not in (BAD, HEADER, OTHER) for row in range(min(tree.committed, _MAX_ROWS)))


_MAX_ROWS = 1_000
"""Rows that are examined."""
