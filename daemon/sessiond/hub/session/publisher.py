"""Announces the committed lines of a session to its subscribers and to the observers of the hub."""

import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Generic

from sessiond.hub.session import changes
from sessiond.hub.session.batches import Batch
from sessiond.hub.session.log_reader import LogReader
from sessiond.hub.session.observers import Aspect, GrowthObserver, Session, SessionObserver
from sessiond.hub.session.subscribers import LARGE, REPLAY_SLICE, Subscribers
from sessiond.hub.session.tree_watches import TreeWatches
from sessiond.protocol import methods as m, types as t
from sessiond.session.tree.tree import BAD, HEADER
from sessiond.store.errors import LogReplaced, StorageFailed

log = logging.getLogger(__name__)

_FOREIGN: Final = t.Origin(kind="foreign")


class Publisher(Generic[Session]):
    """Announces the committed lines of one session, in log order.

    Args:
        session: The session, as observers receive it.
        reader: The log of the session.
        subscribers: The subscribers of the session.
        tree_watches: The watches of its tree.
        observer: The observer of sessions that are created or changed.
        growth_observer: The observer of new rows.
        title_changed: Called when the title has changed.
    """

    def __init__(
        self,
        session: Session,
        reader: LogReader,
        subscribers: Subscribers,
        tree_watches: TreeWatches,
        observer: SessionObserver[Session],
        growth_observer: GrowthObserver[Session],
        title_changed: Callable[[], None],
    ) -> None:
        self.is_promotion_pending = False
        """Whether the draft session was promoted and the next announcement must report it."""
        self._session = session
        self._reader = reader
        self._subscribers = subscribers
        self._tree_watches = tree_watches
        self._observer = observer
        self._growth_observer = growth_observer
        self._title_changed = title_changed

    @property
    def has_subscribers(self) -> bool:
        """Whether clients have subscribed to the session."""
        return len(self._subscribers) > 0

    def changed(self, aspects: Sequence[Aspect], origin: t.Origin) -> None:
        """Announce that fields have changed which lists show."""
        self._observer.changed(self._session, aspects, origin)

    def committed(self, batch: Batch, first: int, before: changes.SessionBefore | None) -> None:
        """Announce a committed batch.

        Args:
            batch: The batch.
            first: Its first row.
            before: The facts of the session before it; None if it cannot have changed more than the leaf.
        """
        subscribers = self._subscribers
        if batch.size > LARGE:
            subscribers.catch_up()
        elif len(subscribers):
            seq = first
            for origin, requests in itertools.groupby(batch.requests, lambda request: request.origin):
                rows = [row for request in requests for row in request.rows]
                following = seq + len(rows)
                # Only plain requests share a batch, and the leaf after each of these is its entry.
                leaf_id = batch.leaf_id if following == first + batch.count else rows[-1].id
                subscribers.appended([row.line[:-1] for row in rows], range(seq, following), origin, leaf_id)
                seq = following
        if before is not None:
            self._announce_changes(before, batch.requests[-1].origin)
        self._tree_watches.note_growth()
        self._growth_observer.grew(self._session, first)

    def read_again(self, before: changes.SessionBefore, origins: Mapping[str, t.Origin]) -> None:
        """Announce the lines that were read since `before`, among which are lines of clients.

        If they cannot be read, all subscriptions are canceled.

        Args:
            before: The facts of the session before the lines.
            origins: The origins of the entries that clients sent, by entry id. All others are another program's.
        """
        try:
            self._announce_lines(before, origins)
        except (StorageFailed, LogReplaced) as error:
            log.warning("session %s: lines cannot be announced: %s", self._subscribers.session_id, error)
            self._subscribers.lag_all()

    def ingested(self, before: changes.SessionBefore, origins: Mapping[str, t.Origin]) -> None:
        """Announce the lines that were read since `before`: of other programs, except those that `origins` has."""
        self._announce_lines(before, origins)

    def _announce_lines(self, before: changes.SessionBefore, origins: Mapping[str, t.Origin]) -> None:
        """Announce lines that were read from the log, each run of one origin as one notification."""
        tree, subscribers = self._reader.tree, self._subscribers
        rows = [row for row in range(before.rows, tree.committed) if tree.kind(row) not in (BAD, HEADER)]
        if not rows:
            return
        if len(subscribers) and tree.end - tree.span(rows[0])[0] > REPLAY_SLICE:
            subscribers.catch_up()
        elif len(subscribers):
            for origin, run in itertools.groupby(rows, lambda row: origins.get(tree.id(row) or "", _FOREIGN)):
                some = list(run)
                subscribers.appended(self._reader.read_rows(some), some, origin, tree.leaf_id)
        self._announce_changes(before, origins.get(tree.id(rows[-1]) or "", _FOREIGN))
        self._tree_watches.note_growth()
        self._growth_observer.grew(self._session, before.rows)

    def _announce_changes(self, before: changes.SessionBefore, origin: t.Origin) -> None:
        """Notify subscribers if the leaf moved, and the observer if fields that lists show changed."""
        tree, subscribers = self._reader.tree, self._subscribers
        if changes.leaf_moved(before, tree) and len(subscribers):
            note = t.LeafMovedNote(
                session_id=subscribers.session_id, leaf_id=tree.leaf_id, previous_leaf_id=before.leaf_id,
                log_id=self._reader.log.log_id, seq=tree.seq, origin=origin,
            )  # fmt: skip
            subscribers.notify(m.LEAF_MOVED, note)
        changed = changes.aspects(before, tree)
        if self.is_promotion_pending:
            self.is_promotion_pending = False
            changed[:0] = ("isDraft",) if self._reader.log.path is None else ("isDraft", "path")
        if "title" in changed:
            self._title_changed()
        if changed:
            self._observer.changed(self._session, changed, origin)
