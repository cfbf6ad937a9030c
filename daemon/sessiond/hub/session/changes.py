"""Derives the changes that new lines make to a session: the leaf, and the fields that lists show."""

from typing import Final, NamedTuple

from sessiond.hub.session.observers import Aspect
from sessiond.session.tree.origin import FileState, LogOrigin
from sessiond.session.tree.tree import KIND, NONE, Tree

_LABEL: Final = KIND["label"]
_BRANCH_SUMMARY: Final = KIND["branch_summary"]


class SessionBefore(NamedTuple):
    """The facts of a session before new lines."""

    rows: int
    leaf_id: str | None
    title: str | None
    tags: tuple[str, ...]
    origin: LogOrigin | None
    origin_state: FileState
    has_ended: bool


def facts(tree: Tree) -> SessionBefore:
    """Return the facts of a session by its committed rows."""
    return SessionBefore(
        tree.committed, tree.leaf_id, tree.title, tree.tags, tree.origin, tree.origin_state, tree.has_ended
    )


def leaf_moved(before: SessionBefore, tree: Tree) -> bool:
    """Whether the leaf moved other than to a new entry, or to a branch summary, which always moves it."""
    if tree.leaf_id == before.leaf_id:
        return False
    leaf = tree.leaf
    return leaf == NONE or leaf < before.rows or tree.kind(leaf) == _BRANCH_SUMMARY


def aspects(before: SessionBefore, tree: Tree) -> list[Aspect]:
    """Return the aspects that have changed since `before`, as `session/changed` names them."""
    changed: list[Aspect] = []
    if tree.title != before.title:
        changed.append("title")
    if tree.tags != before.tags:
        changed.append("tags")
    if any(tree.kind(row) == _LABEL for row in range(before.rows, tree.committed)):
        changed.append("labels")
    now = tree.origin, tree.origin_state, tree.has_ended
    if now != (before.origin, before.origin_state, before.has_ended):
        changed.append("origin")
    return changed
