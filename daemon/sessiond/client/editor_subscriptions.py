"""The subscriptions and watches of an editor, which end with the daemon that had them."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET, Raw

from sessiond.client.message_parts import decode_note, decode_opened, session_id_of, watch_id_of
from sessiond.protocol import methods as m, types as t
from sessiond.rpc.message import Head, encode_notification

_SUBSCRIBING: Final = frozenset({m.CREATE.name, m.OPEN.name, m.CONTINUE.name, m.FORK.name, m.SUBSCRIBE.name})
_UNSUBSCRIBING: Final = frozenset({m.CLOSE.name, m.UNSUBSCRIBE.name, m.DELETE.name})


def target_of(method: str, head: Head) -> str | None:
    """Return the session or the watch that a request ends; None for other requests."""
    if method in _UNSUBSCRIBING:
        return session_id_of(head)
    return watch_id_of(head.params) if method == m.UNWATCH.name else None


class EditorSubscriptions:
    """Records the subscriptions of an editor, and notifies it of those that have ended."""

    def __init__(self) -> None:
        self._positions: dict[str, t.After] = {}
        """For each session the position of the last entry that the editor was sent."""
        self._watches: dict[str, bool] = {}
        """The watches with the current daemon, and whether each is of a tree."""

    def record_response(self, method: str, target: str | None, result: Raw) -> None:
        """Record the effect of a successful request; `target` is the value of `target_of`."""
        if method in _SUBSCRIBING:
            self._subscribe(result)
        elif method in (m.WATCH.name, m.WATCH_TREE.name):
            if (watch_id := watch_id_of(result)) is not None:
                self._watches[watch_id] = method == m.WATCH_TREE.name
        elif method == m.UNWATCH.name:
            self._watches.pop(target or "", None)
        elif target is not None:
            self._positions.pop(target, None)

    def record_notification(self, method: str, head: Head) -> None:
        """Record the position that a notification has reached, or the end of a subscription or watch."""
        if method in (m.WATCH_LAPSED.name, m.TREE_LAPSED.name):
            self._watches.pop(watch_id_of(head.params) or "", None)
        if method not in (m.APPENDED.name, m.LAGGED.name, m.DELETED.name) or head.params is UNSET:
            return
        try:
            note = decode_note(head.params)
        except msgspec.DecodeError:
            return
        known = self._positions.get(note.session_id)
        if method != m.APPENDED.name:
            self._positions.pop(note.session_id, None)
        elif known is not None and (note.log_id != known.log_id or note.to_seq > known.seq):
            self._positions[note.session_id] = t.After(log_id=note.log_id, seq=note.to_seq)

    def lapse(self) -> list[bytes]:
        """Forget everything, and return the notifications by which the editor subscribes and watches again."""
        lagged = [
            encode_notification(
                m.LAGGED.name, t.LaggedNote(session_id=session_id, log_id=known.log_id, last_seq=known.seq)
            )
            for session_id, known in self._positions.items()
        ]
        message = "The daemon that sent the changes ended."
        lapsed = [
            encode_notification(
                m.TREE_LAPSED.name, t.TreeLapsedNote(watch_id=watch, reason="daemonEnded", message=message)
            )
            if is_tree
            else encode_notification(
                m.WATCH_LAPSED.name, t.WatchLapsedNote(watch_id=watch, reason="daemonEnded", message=message)
            )
            for watch, is_tree in self._watches.items()
        ]
        self._positions.clear()
        self._watches.clear()
        return lagged + lapsed

    def _subscribe(self, result: Raw) -> None:
        try:
            opened = decode_opened(result)
        except msgspec.DecodeError:
            return
        seq = opened.to_seq if opened.to_seq is not None else opened.session.last_seq
        self._positions[opened.session.session_id] = t.After(log_id=opened.session.log_id, seq=seq)
