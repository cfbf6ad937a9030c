"""Telling of what has been read from a log, not written by a batch of ours; and of what lines meant."""

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from sessiond.hub.session import changes
from sessiond.hub.session.subscribers import REPLAY_SLICE
from sessiond.protocol import methods as m, types as t
from sessiond.session.tree.tree import BAD, HEADER

if TYPE_CHECKING:
    from sessiond.hub.session.live import LiveSession

_FOREIGN: Final = t.Origin(kind="foreign")


def tell_of_lines(live: "LiveSession", before: changes.Facts, ours: Mapping[str, t.Origin]) -> None:
    """Publish what came since `before`, each run of one origin as one notification.

    `ours` says by id which entries a client of ours has sent; all others are another program's.
    """
    tree, watchers = live.tree, live.watchers
    rows = [row for row in range(before.rows, tree.committed) if tree.kind(row) not in (BAD, HEADER)]
    if not rows:
        return
    if len(watchers) and tree.end - tree.span(rows[0])[0] > REPLAY_SLICE:
        watchers.catch_up()
    elif len(watchers):
        for origin, run in itertools.groupby(rows, lambda row: ours.get(tree.id(row) or "", _FOREIGN)):
            some = list(run)
            watchers.appended(live.read_rows(some), some, origin)
    tell_of_meaning(live, before, ours.get(tree.id(rows[-1]) or "", _FOREIGN))
    live.follower.grew(live, before.rows)


def tell_of_meaning(live: "LiveSession", before: changes.Facts, origin: t.Origin) -> None:
    """Say in plain words what new lines meant: to watchers where the leaf went, to all what lists show."""
    tree = live.tree
    if changes.leaf_moved(before, tree) and len(live.watchers):
        note = t.LeafMovedNote(
            session_id=live.session_id, leaf_id=tree.leaf_id, previous_leaf_id=before.leaf_id,
            log_id=live.log.log_id, seq=tree.seq, origin=origin,
        )  # fmt: skip
        live.watchers.tell(m.LEAF_MOVED, note)
    if live.just_promoted:
        live.just_promoted = False
        live.listener.created(live, origin)
    changed = changes.aspects(before, tree)
    if "title" in changed:
        live.title_changed()
    if changed:
        live.listener.changed(live, changed, origin)
