"""The logs of the store by session, kept up to date for imports without reading the status of every log each time."""

import threading

from sessiond.store.base import Store


class StoredLogs:
    """The logs of a store as of the last `update`.

    Attributes:
        refs: The ref of the log of each session, by the id of the session.
        ids: The id of the session of each log, by the ref of the log.
    """

    def __init__(self, store: Store) -> None:
        self.refs: dict[str, str] = {}
        self.ids: dict[str, str] = {}
        self._others: dict[str, list[str]] = {}  # further logs with the id of a session, which are rare
        self._put: set[str] = set()  # the refs of logs that the census has not found yet
        self._census = store.census()
        self._lock = threading.Lock()

    def update(self) -> None:
        """Find the logs that were added, moved or removed. Blocks. Raises `StorageFailed`."""
        with self._lock:
            changes = self._census.poll()
            for ref in changes.gone:
                self._drop(ref)
            for stored in changes.found:
                self._add(stored.session_id, stored.ref)
            for ref in self._put.difference(stored.ref for stored in changes.found):
                self._drop(ref)  # it was removed before the census could find it
            self._put.clear()

    def put(self, session_id: str, ref: str) -> None:
        """Take a log that was created or moved just now, before the next update finds it. Blocks."""
        with self._lock:
            former = self.refs.get(session_id)
            if former is not None and former != ref:
                self._drop(former)
            if ref not in self.ids:
                self._put.add(ref)
            self._add(session_id, ref)

    def _add(self, session_id: str, ref: str) -> None:
        former = self.refs.get(session_id)
        if former is not None and former != ref and former in self.ids:
            self._others.setdefault(session_id, []).append(former)
        self.refs[session_id] = ref
        self.ids[ref] = session_id

    def _drop(self, ref: str) -> None:
        session_id = self.ids.pop(ref, None)
        if session_id is None or self.refs.get(session_id) != ref:
            return
        others = [ref for ref in self._others.pop(session_id, ()) if ref in self.ids]
        if others:
            self.refs[session_id] = others.pop()
            self._others[session_id] = others
        else:
            del self.refs[session_id]
