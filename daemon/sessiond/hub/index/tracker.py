"""Tracks the open sessions that differ from their files, and reports their changes to the index.

A session that was only opened and read is indexed from its file, like a closed one. Each change of a session is
reported once, however many sessions are open and however often the index is queried.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from sessiond.hub import session_info
from sessiond.protocol import types as t
from sessiond.session.tree import lines
from sessiond.store.errors import LogReplaced, StorageFailed

if TYPE_CHECKING:
    from sessiond.hub.session.live import LiveSession

log = logging.getLogger(__name__)

STEP_SECONDS: Final = 0.002
"""The maximum time that sessions are described in one turn of the event loop."""


@dataclass(frozen=True, slots=True)
class OpenFacts:
    """The facts of an open session for lists and searches. `labels` are pairs of an entry id and a label."""

    listed: t.ListedSession
    labels: tuple[tuple[str, str], ...]


class OpenChanges(NamedTuple):
    """A report to the index: the facts of changed sessions by ref, and the refs to read from their files again."""

    changed: Mapping[str, OpenFacts]
    released: frozenset[str]


@dataclass
class OpenTracker:
    """The reports to the index about open sessions.

    `open_sessions` returns those that may differ from their files, `describe` the protocol's description of one, and
    `lists` whether lists show a ref.
    """

    open_sessions: Callable[[], "Iterable[LiveSession]"]
    describe: "Callable[[LiveSession], t.SessionInfo]"
    lists: Callable[[str], bool]
    _seen: "dict[LiveSession, Any]" = field(default_factory=dict)
    """The `facts_key` of each session that differs from its file."""
    _refs: "dict[LiveSession, str]" = field(default_factory=dict)
    """The ref of each of these sessions, as reported to the index."""

    def overrides(self) -> "dict[str, LiveSession]":
        """Return the sessions that override their files, by the refs that the index has."""
        return {ref: live for live, ref in self._refs.items()}

    async def changes(self) -> OpenChanges:
        """Return the changes since the last call. The caller must apply all of them before the next question."""
        seen: dict[LiveSession, Any] = {}
        changed: dict[str, OpenFacts] = {}
        refs: dict[LiveSession, str] = {}
        began = time.perf_counter()
        for live in self.open_sessions():
            if live.is_as_in_file or live.ephemeral:
                continue
            key = live.facts_key()
            if self._seen.get(live) == key:
                seen[live] = key
                if live in self._refs:
                    refs[live] = self._refs[live]
                continue
            if time.perf_counter() - began > STEP_SECONDS:
                await asyncio.sleep(0)
                began, key = time.perf_counter(), live.facts_key()
            ref = live.log.ref
            if self.lists(ref) and not isinstance(live.log.write_error, LogReplaced):
                try:
                    changed[ref] = self._facts_of(live)
                except (StorageFailed, LogReplaced):
                    continue  # the file is used; the next question tries again
                except Exception:  # an error of one session must not affect the results of others
                    log.exception("open session %s cannot be listed from memory", live.session_id)
                    continue
                refs[live] = ref
            seen[live] = key
        released = frozenset(self._refs.values()) - frozenset(refs.values())
        self._seen, self._refs = seen, refs
        return OpenChanges(changed, released)

    def is_current(self) -> bool:
        """Whether the last report is still valid: no other session differs from its file, and no session has moved."""
        refs, seen = self._refs, self._seen
        for live in self.open_sessions():
            if live in refs:
                if live.log.ref != refs[live]:
                    return False
            elif not live.is_as_in_file and live not in seen and not live.ephemeral:
                return False
        return True

    def _facts_of(self, live: "LiveSession") -> OpenFacts:
        session = self.describe(live)
        listed = session_info.list_row(session, live.tree, live.read_rows)
        if listed.path is not None:
            listed = msgspec.structs.replace(listed, path=lines.valid_text(listed.path))
        return OpenFacts(listed, tuple((target, label.text) for target, label in live.tree.labels.items()))
