"""Whether some lines are a session at all: editors ask of every file that ends in .jsonl."""

from sessiond.session.tree.codes import BAD, HEADER, OTHER
from sessiond.session.tree.tree import Tree


def is_session(tree: Tree) -> bool:
    """Whether there is a header, or at least an entry of a kind that sessions have."""
    if tree.header is not None or tree.slot_title is not None:
        return True
    return any(tree.kind(row) not in (BAD, HEADER, OTHER) for row in range(min(tree.committed, _LOOKED_AT)))


_LOOKED_AT = 1_000
