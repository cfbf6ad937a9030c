"""Brings two copies of one session together."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sessiond.protocol import methods as m, types as t
from sessiond.session.union.difference import LineKey, Own, own_lines, parents_of
from sessiond.session.union.merge import ancestry, merge, read_own, tags_in
from sessiond.sync.copying import Copying, SessionChangedError, SyncSide
from sessiond.sync.counterpart import Counterpart
from sessiond.sync.report import SessionProblem, SyncReport

_ATTEMPTS: Final = 5
_BUSY: Final = "it is being written to; the next sync completes it"
_REFUSED: Final = "entry {name}: the two sides have different content under this id, and each keeps its own"


@dataclass(frozen=True, slots=True)
class CopyKeys:
    """The lines of one copy as keys, and its state."""

    keys: list[LineKey]
    at: t.After
    leaf_id: str | None
    tag_seqs: list[int]
    header_tags: list[str]


async def read_keys(daemon: Counterpart, session_id: str, trash_id: str | None = None) -> CopyKeys:
    """Read the ids and hashes of a copy, page by page."""
    keys: list[LineKey] = []
    after: int | None = 0
    while after is not None:
        page = await daemon.call(
            m.SYNC_IDS, t.SyncIdsParams(session_id=session_id, trash_id=trash_id, after=after)
        )
        keys += map(LineKey, page.seqs, page.ids, page.hashes, page.parents)
        after = page.next_after
    at = t.After(log_id=page.log_id or "trash", seq=page.last_seq)
    return CopyKeys(keys, at, page.leaf_id, page.tag_seqs, page.header_tags)


class Merging:
    """Merges copies of sessions between two sides."""

    def __init__(self, here: SyncSide, there: SyncSide, report: SyncReport, copying: Copying) -> None:
        self._here = here
        self._there = there
        self._report = report
        self._copying = copying

    async def merge(self, session_id: str) -> None:
        """Give each side that is a target the lines that it lacks, and both the lines of the merge rule."""
        for _ in range(_ATTEMPTS):
            try:
                await self._merge(session_id)
            except SessionChangedError:
                continue
            return
        self._report.problems.append(SessionProblem(session_id, _BUSY))

    async def _merge(self, session_id: str) -> None:
        mine, theirs = await asyncio.gather(
            read_keys(self._here.daemon, session_id), read_keys(self._there.daemon, session_id)
        )
        own_here, own_there = own_lines(mine.keys, theirs.keys), own_lines(theirs.keys, mine.keys)
        lines_here, lines_there = await asyncio.gather(
            self._copying.read(self._here.daemon, session_id, own_here.seqs),
            self._copying.read(self._there.daemon, session_id, own_there.seqs),
        )
        merged: list[bytes] = []
        if lines_here and lines_there:
            merged = merge(
                read_own(lines_here), read_own(lines_there), mine.leaf_id, theirs.leaf_id,
                common_tags=await self._common_tags(session_id, mine, own_here),
                is_above=ancestry((parents_of(mine.keys), parents_of(theirs.keys))),
            )  # fmt: skip
        if self._there.is_target:
            await self._copying.add(
                self._here,
                self._there,
                session_id,
                _with_merged(lines_here, merged),
                theirs.at,
                own_here.superseding,
            )
        if self._here.is_target:
            await self._copying.add(
                self._there,
                self._here,
                session_id,
                _with_merged(lines_there, merged),
                mine.at,
                own_there.superseding,
            )
        if merged:
            self._report.merged.append(session_id)
        self._report.problems += [
            SessionProblem(session_id, _REFUSED.format(name=name), name)
            for name in dict.fromkeys((*own_here.refused, *own_there.refused))
        ]

    async def _common_tags(self, session_id: str, copy: CopyKeys, own: Own) -> Sequence[str]:
        """Return the tags that the common lines set, by their last one."""
        common = [seq for seq in copy.tag_seqs if seq not in own.seqs]
        for line in await self._copying.read(self._here.daemon, session_id, common[-1:]):
            return tags_in(line) or []
        return copy.header_tags


def _with_merged(own: Sequence[bytes], merged: Sequence[bytes]) -> list[bytes]:
    return [*own, *merged]
