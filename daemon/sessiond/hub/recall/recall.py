"""Answers `session/recall`."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from sessiond.hub.index.index import Index, on_current_path
from sessiond.hub.recall import matters, pack
from sessiond.hub.recall.ranking import Finder, Passage
from sessiond.hub.redaction.provider_keys import ProviderKeys
from sessiond.hub.redaction.redactor import Redactor
from sessiond.protocol import types as t


class Recall:
    """Finds the passages of all sessions that answer a question.

    Args:
        index: The index of the sessions.
        keys: Returns the finder of provider keys, which are removed from passages.
    """

    def __init__(self, index: Index, keys: Callable[[], Awaitable[ProviderKeys]]) -> None:
        self._index = index
        self._keys = keys
        self._finder = Finder()

    async def run(self, params: t.RecallParams) -> t.RecallResult:
        """Return the passages that answer a question. Raises `StorageFailed`."""
        found, unsearched, open_now = await self._index.ask_indexed(
            lambda index: self._finder.find(index.database, index.resolved(params)), params.wait_ms
        )
        on_path = await on_current_path(
            [(passage.ref, passage.seq, passage.on_path) for passage in found], open_now
        )
        placed = [
            replace(passage, on_path=is_on_path)
            for passage, is_on_path in zip(found, on_path, strict=True)
            if is_on_path is not None
        ]
        return await asyncio.to_thread(_packed, placed, params, await self._keys(), unsearched)


def _packed(
    found: Sequence[Passage], params: t.RecallParams, keys: ProviderKeys, unsearched: t.UnsearchedTexts
) -> t.RecallResult:
    passages, tokens, omitted = pack.pack(matters.order(found), params, Redactor(keys))
    return t.RecallResult(
        passages=passages,
        tokens=tokens,
        omitted_count=omitted,
        redaction_incomplete=not keys.load(),
        unsearched=unsearched,
    )
