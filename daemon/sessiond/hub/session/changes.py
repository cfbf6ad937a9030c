"""What new lines meant for their session as a whole: where the leaf went, and what lists show of it."""

from typing import Final, NamedTuple

from sessiond.hub.session.observers import Aspect
from sessiond.session.tree.tree import KIND, NONE, Tree

_LABEL: Final = KIND["label"]
_BRANCH_SUMMARY: Final = KIND["branch_summary"]


class SessionBefore(NamedTuple):
    """How a session stood before lines came."""

    rows: int
    leaf_id: str | None
    title: str | None
    tags: tuple[str, ...]


def facts(tree: Tree) -> SessionBefore:
    """How a session stands, by its committed rows."""
    return SessionBefore(tree.committed, tree.leaf_id, tree.title, tree.tags)


def leaf_moved(before: SessionBefore, tree: Tree) -> bool:
    """Whether the leaf went elsewhere than to a new entry; a branch summary says by itself that it did."""
    if tree.leaf_id == before.leaf_id:
        return False
    leaf = tree.leaf
    return leaf == NONE or leaf < before.rows or tree.kind(leaf) == _BRANCH_SUMMARY


def aspects(before: SessionBefore, tree: Tree) -> list[Aspect]:
    """What of a session has changed since, in the words of `session/changed`."""
    changed: list[Aspect] = []
    if tree.title != before.title:
        changed.append("title")
    if tree.tags != before.tags:
        changed.append("tags")
    if any(tree.kind(row) == _LABEL for row in range(before.rows, tree.committed)):
        changed.append("labels")
    return changed
