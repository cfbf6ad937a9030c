"""Which open sessions the index must be told about: those of which their files do not say the same.

A session that was only opened and read is left to its file, as one that is closed is. Of one that has changed here the
index is told once for each change, however many sessions are open and however often it is asked.
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
"""How long the loop is held at a time while sessions are described."""


@dataclass(frozen=True, slots=True)
class OpenFacts:
    """What lists and searches show of an open session. `labels` are pairs of an entry's id and its label."""

    listed: t.ListedSession
    labels: tuple[tuple[str, str], ...]


class OpenChanges(NamedTuple):
    """What the index must be told: the facts of changed sessions by ref, and the refs whose files speak again."""

    changed: Mapping[str, OpenFacts]
    returned: frozenset[str]


@dataclass
class OpenTracker:
    """What the index was told of open sessions.

    `open_sessions` are those that may be other than in their files, `describe` says what the wire says of one, and
    `lists` whether lists show a ref.
    """

    open_sessions: Callable[[], "Iterable[LiveSession]"]
    describe: "Callable[[LiveSession], t.SessionInfo]"
    lists: Callable[[str], bool]
    _seen: "dict[LiveSession, Any]" = field(default_factory=dict)
    """The `facts_key` of each session that is not as in its file."""
    _refs: "dict[LiveSession, str]" = field(default_factory=dict)
    """Of these, where each lies that the index was told about."""

    def told(self) -> "dict[str, LiveSession]":
        """The sessions that speak for themselves, by their refs, as the index knows them."""
        return {ref: live for live, ref in self._refs.items()}

    async def changes(self) -> OpenChanges:
        """What the index does not know yet. It must be told all of it, before anybody asks again."""
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
            if self.lists(ref) and not isinstance(live.log.trouble, LogReplaced):
                try:
                    changed[ref] = self._facts_of(live)
                except (StorageFailed, LogReplaced):
                    continue  # its file says what can be said; it is tried again with the next question
                except Exception:  # one session must not spoil the answers about all others
                    log.exception("open session %s cannot be listed from memory", live.session_id)
                    continue
                refs[live] = ref
            seen[live] = key
        returned = frozenset(self._refs.values()) - frozenset(refs.values())
        self._seen, self._refs = seen, refs
        return OpenChanges(changed, returned)

    def holds(self) -> bool:
        """Whether the sessions that were left to their files still are as these say, and no other has moved."""
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
        listed = session_info.standing_of(session, live.tree, live.read_rows)
        if listed.path is not None:
            listed = msgspec.structs.replace(listed, path=lines.sound(listed.path))
        return OpenFacts(listed, tuple((target, label.text) for target, label in live.tree.labels.items()))
