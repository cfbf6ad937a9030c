"""`session/context`: builds the context of a leaf and counts its tokens."""

from msgspec import Raw

from sessiond.hub.live import LiveSession
from sessiond.protocol import types as t
from sessiond.server.client import Client
from sessiond.session import tokens
from sessiond.session.context import Context


async def context_(_client: Client, live: LiveSession, params: t.ContextParams) -> t.ContextResult:
    leaf = live.tree.leaf if params.leaf_id is None else live.row(params.leaf_id)
    tree = live.tree
    seen = await live.context(leaf)
    counted = await live.drive(tokens.count(tree, leaf, seen, live.read_rows))
    return _result(params, seen, counted)


def _result(params: t.ContextParams, seen: Context, counted: tokens.Count) -> t.ContextResult:
    return t.ContextResult(
        messages=seen.messages, entry_ids=seen.entry_ids, models=seen.models,
        thinking_level=seen.thinking_level, mode=seen.mode, injected_ttsr_rules=seen.injected_ttsr_rules,
        leaf_id=seen.leaf_id, mode_data=_json(seen.mode_data),
        configured_thinking_level=seen.configured_thinking_level, service_tier=_json(seen.service_tier),
        format=params.format, system=_json(None), tokens=counted.tokens, tokens_estimated=counted.estimated,
        explanation=None,
    )  # fmt: skip


def _json(value: Raw | None) -> Raw:
    return Raw(b"null") if value is None else value
