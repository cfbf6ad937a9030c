"""Results with entries or messages as decoded dicts."""

from typing import Any

import msgspec

from sessiond.protocol import types as t

Entry = dict[str, Any]


class Entries(t.Wire, frozen=True):
    """`EntriesResult` with decoded entries."""

    log_id: str
    entries: list[Entry]
    seqs: list[int]
    next_cursor: str | None = None
    missing_blobs: list[str] = msgspec.field(default_factory=list)


class SessionContext(t.Wire, frozen=True):
    """`ContextResult` with decoded messages."""

    messages: list[dict[str, Any]]
    entry_ids: list[str]
    models: dict[str, str]
    thinking_level: str
    mode: str
    injected_ttsr_rules: list[str]
    leaf_id: str | None
    mode_data: Any = None
    configured_thinking_level: str | None = None
    service_tier: Any = None
    format: t.Format = "agent"
    system: Any = None
    tokens: int = 0
    tokens_estimated: bool = False
    explanation: list[t.Explained] | None = None
    missing_blobs: list[str] = msgspec.field(default_factory=list)


class AppendedBatch(t.Wire, frozen=True):
    """`AppendedNote` with decoded entries."""

    session_id: str
    log_id: str
    entries: list[Entry]
    seqs: list[int]
    seq: int
    leaf_id: str | None
    origin: t.Origin | None = None
    replay: bool = False
