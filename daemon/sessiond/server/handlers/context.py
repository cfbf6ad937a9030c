"""The handler of `session/context`: builds the context of a leaf, converts, counts and explains it."""

from collections.abc import Coroutine
from typing import Any

from msgspec import Raw

from sessiond.hub.errors import ContextTooLarge
from sessiond.hub.session import blob_resolution
from sessiond.hub.session.live import LiveSession
from sessiond.protocol import types as t
from sessiond.server.connection.client import MAX_REPLY_BYTES, Client
from sessiond.server.connection.encoding import converted
from sessiond.session.context import tokens
from sessiond.session.context.context import total_bytes
from sessiond.session.tree import steps
from sessiond.session.tree.steps import Steps


def context_(
    _client: Client, live: LiveSession, params: t.ContextParams
) -> Coroutine[Any, Any, t.ContextResult]:
    """Build the context of a leaf with `live.context`; convert and explain it as requested.

    Raises `EntryNotFound`, `ContextTooLarge`.
    """
    return _context(live, live.row_at(params.leaf_id), params)


async def _context(live: LiveSession, leaf: int, params: t.ContextParams) -> t.ContextResult:
    tree = live.tree
    counts = await live.drive(steps.count_messages(tree, leaf))
    seen = await live.context(leaf)
    missing: list[str] = []
    if params.resolve_blobs:
        seen, missing = await blob_resolution.resolve_context(seen, live.blobs, max_bytes=MAX_REPLY_BYTES)
    counted = await live.drive(tokens.count(tree, leaf, seen))
    messages, entry_ids = seen.messages, seen.entry_ids
    written = prompt_id = None
    if params.format != "agent":
        from sessiond.hub.session import provider_formats  # many modules, which most daemons do not need

        provided = await provider_formats.from_context(live, leaf, seen, params.format)
        written, prompt_id, entry_ids = provided.written, provided.prompt_id, provided.entry_ids
        messages = written.messages
    _check_size(await live.drive(total_bytes(messages)))
    explanation = None
    if params.explain:
        from sessiond.session.formats import explain  # all formats, which most daemons do not need

        rows = await live.drive(explain.explain(tree, leaf, seen, live.read_rows, written, prompt_id))
        explanation = await live.drive(converted(rows, t.Explained))
    return t.ContextResult(
        messages=await live.drive(_rows(entry_ids, messages)), models=seen.models,
        thinking_level=seen.thinking_level, mode=seen.mode, injected_ttsr_rules=seen.injected_ttsr_rules,
        leaf_id=seen.leaf_id, mode_data=_json(seen.mode_data),
        configured_thinking_level=seen.configured_thinking_level, service_tier=_json(seen.service_tier),
        format=params.format, system=_json(None if written is None else written.system),
        tokens=counted.tokens, tokens_estimated=counted.estimated, explanation=explanation,
        missing_blobs=missing, message_count=counts.all, off_path_count=counts.off_path,
    )  # fmt: skip


def _rows(entry_ids: list[str], messages: list[Raw]) -> Steps[list[t.ContextMessage]]:
    """Pair each message with its entry, in steps."""
    rows: list[t.ContextMessage] = []
    for start in range(0, len(messages), steps.ROWS_A_STEP):
        part = slice(start, start + steps.ROWS_A_STEP)
        rows += [
            t.ContextMessage(entry_id=entry_id, message=message)
            for entry_id, message in zip(entry_ids[part], messages[part], strict=True)
        ]
        yield
    return rows


def _check_size(size: int) -> None:
    """Raise `ContextTooLarge` if messages of `size` bytes do not fit into a frame."""
    if size > MAX_REPLY_BYTES:
        raise ContextTooLarge(size, MAX_REPLY_BYTES)


def _json(value: Raw | None) -> Raw:
    return Raw(b"null") if value is None else value
