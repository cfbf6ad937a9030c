"""Reads from one entry what a request to a model used: model, tokens, and the cost that its agent recorded.

A request can be in several entries and in several sessions: an agent splits an answer into lines, a fork or a resumed
session repeats the lines of its source. All of them have the same `key`. The report of usage counts each key once
(decision 0045). Numbers about the requests of a sub-agent in the result of a tool are not read, because the sub-agent
has a session of its own.
"""

import hashlib
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from sessiond.session.content.search_text import milliseconds
from sessiond.session.state.token_counts import as_count, cost_of, tokens_of
from sessiond.session.tree import payloads

UNKNOWN: Final = "unknown"
"""The name of a model or provider that an agent did not record."""
_TYPES: Final = frozenset(("usage", "model_usage", "compaction", "branch_summary"))
_MARK: Final = b'"usage"'
_SHORTEST_UNIQUE_ID: Final = 16
"""Minimum characters of a response id that no other server gives. Local servers count from 1, or repeat an id."""
_KEY_BYTES: Final = 12
_NAME_CHARACTERS: Final = 200
_END_OF_TIME: Final = 253_402_300_800_000
"""Milliseconds from 1970 to the year 10000."""


@dataclass(frozen=True, slots=True)
class RecordedUsage:
    """The usage of one request.

    Attributes:
        key: Identifies the request, in every copy of its entry.
        at: Its time in milliseconds since 1970; None if it is not known.
        provider: The provider of the model; `unknown` if it is not recorded.
        model: The model; `unknown` if it is not recorded.
        speed: The speed for which the provider has other prices, such as `fast`; empty for the usual one.
        input: Tokens of the prompt that were not cached.
        output: Tokens of the answer, including those of reasoning.
        cache_read: Tokens of the prompt that were read from a cache.
        cache_write: Tokens of the prompt that were written to a cache.
        cache_write_1h: The part of `cache_write` that is kept for an hour, which costs more.
        reasoning: The part of `output` that is reasoning; None if that is not recorded.
        cost: The cost in US dollars that the agent recorded; None if it recorded none.
    """

    key: bytes
    at: int | None
    provider: str
    model: str
    speed: str
    input: int
    output: int
    cache_read: int
    cache_write: int
    cache_write_1h: int
    reasoning: int | None
    cost: float | None


def usage_of_entry(entry: bytes) -> RecordedUsage | None:
    """Return the usage that an entry (`Tree.entry`) records, or None if it records none, or only zeros."""
    if _MARK not in entry:
        return None
    found = payloads.part(_entry, entry)
    if found is None:
        return None
    message = found.message
    if found.type == "message":
        if message is None or message.role != "assistant":
            return None
        model = message.response_model if _is_name(message.response_model) else message.model
        return _usage(found, message.usage, message.provider, model, message.response_id, message.timestamp)
    if found.type in _TYPES:
        return _usage(found, found.usage, found.provider, found.model, found.response_id, None)
    return None


def _usage(
    entry: "_Entry", usage: Any, provider: Any, model: Any, response_id: Any, time: Any
) -> RecordedUsage | None:
    if not isinstance(usage, dict):
        return None
    tokens, cost = tokens_of(usage), cost_of(usage.get("cost")).total
    extra = usage.get("orchestration")  # billed, but not part of the other numbers
    if isinstance(extra, dict):
        tokens.add(tokens_of(extra))
    parts = tokens.input + tokens.output + tokens.cache_read + tokens.cache_write
    if not parts and not tokens.total and not cost:
        return None
    lifetimes = usage.get("cttl")
    long_lived = as_count(lifetimes.get("ephemeral1h")) if isinstance(lifetimes, dict) else 0
    reasoning = usage.get("reasoningTokens")
    speed = usage.get("speed")
    at = milliseconds(entry.timestamp) if isinstance(entry.timestamp, str) else None
    if at is None and type(time) in (int, float) and 0 <= time < _END_OF_TIME:
        at = int(time)
    return RecordedUsage(
        _key(entry, response_id, usage),
        at,
        _name(provider),
        _name(model),
        speed[:_NAME_CHARACTERS] if isinstance(speed, str) and speed != "standard" else "",
        tokens.input if parts else tokens.total,
        tokens.output,
        tokens.cache_read,
        tokens.cache_write,
        min(long_lived, tokens.cache_write),
        None if reasoning is None else min(as_count(reasoning), tokens.output),
        cost or None,
    )


def _key(entry: "_Entry", response_id: Any, usage: dict[str, Any]) -> bytes:
    if _is_name(entry.request_key):
        return _hash(entry.request_key)
    if isinstance(response_id, str) and len(response_id) >= _SHORTEST_UNIQUE_ID:
        return _hash(response_id)
    return _hash(str(entry.id), str(entry.timestamp), repr(usage))


def _hash(*parts: str) -> bytes:
    joined = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=_KEY_BYTES).digest()


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _name(value: Any) -> str:
    return value[:_NAME_CHARACTERS] if isinstance(value, str) and value else UNKNOWN


class _Message(msgspec.Struct, rename="camel", gc=False):
    role: Any = None
    provider: Any = None
    model: Any = None
    response_model: Any = None
    response_id: Any = None
    usage: Any = None
    timestamp: Any = None


class _Entry(msgspec.Struct, rename="camel"):
    type: Any = None
    id: Any = None
    timestamp: Any = None
    message: _Message | None = None
    provider: Any = None
    model: Any = None
    response_id: Any = None
    request_key: Any = None
    usage: Any = None


_entry: Final = msgspec.json.Decoder(_Entry)
