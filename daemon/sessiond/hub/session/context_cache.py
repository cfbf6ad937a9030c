"""Caches the last context of a session, because the next request usually adds a few rows to it."""

import time
from dataclasses import dataclass
from typing import Final

from sessiond.hub.session.derived_cache import DerivableSession
from sessiond.session.context.context import Context, build_context, extend_context, total_bytes
from sessiond.session.tree.tree import Tree

MAX_BYTES: Final = 32 * 1024 * 1024
"""A context with more bytes than this is not cached."""
MAX_SECONDS: Final = 60.0
"""A cached context is dropped after this time without a request."""


@dataclass(frozen=True, slots=True)
class _CachedContext:
    """A context, its row, and the time of the last request for it."""

    tree: Tree
    row: int
    context: Context
    at: float


class ContextCache:
    """Builds the contexts of one session, and caches the last one."""

    def __init__(self, source: DerivableSession) -> None:
        self._source = source
        self._cached: _CachedContext | None = None

    async def at(self, leaf_row: int) -> Context:
        """Return the context of a model at a row."""
        source, tree, cached, context = self._source, self._source.tree, self._cached, None
        if cached is not None and cached.tree is tree:
            context = await source.drive(
                extend_context(tree, cached.context, cached.row, leaf_row, source.read_rows)
            )
        if context is None:
            context = await source.drive(build_context(tree, leaf_row, source.read_rows))
        if await source.drive(total_bytes(context.messages)) < MAX_BYTES:
            self._cached = _CachedContext(tree, leaf_row, context, time.monotonic())
        return context

    def drop_unused(self) -> None:
        """Drop the context if it was not requested for `MAX_SECONDS`."""
        if self._cached is not None and time.monotonic() - self._cached.at > MAX_SECONDS:
            self._cached = None
