"""Results with entries or messages as decoded dicts."""

from typing import Any

import msgspec

from sessiond.protocol import types as t

Entry = dict[str, Any]


class DecodedEntry(t.Wire, frozen=True):
    """`StoredEntry` with a decoded entry."""

    seq: int
    entry: Entry


class Entries(t.Wire, frozen=True):
    """`EntriesResult` with decoded entries."""

    log_id: str
    items: list[DecodedEntry]
    next_cursor: str | None = None
    missing_blobs: list[str] = msgspec.field(default_factory=list)

    @property
    def entries(self) -> list[Entry]:
        """The entries without their seqs."""
        return [entry.entry for entry in self.items]


class DecodedMessage(t.Wire, frozen=True):
    """`ContextMessage` with a decoded message."""

    entry_id: str
    message: dict[str, Any]


class SessionContext(t.Wire, frozen=True):
    """`ContextResult` with decoded messages."""

    rows: list[DecodedMessage] = msgspec.field(name="messages")
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

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages, as a model receives them."""
        return [row.message for row in self.rows]

    @property
    def entry_ids(self) -> list[str]:
        """The entry of each message."""
        return [row.entry_id for row in self.rows]


class AppendedBatch(t.Wire, frozen=True):
    """`AppendedNote` with decoded entries."""

    session_id: str
    log_id: str
    items: list[DecodedEntry]
    from_seq: int
    to_seq: int
    leaf_id: str | None
    origin: t.Origin | None = None
    replay: bool = False

    @property
    def entries(self) -> list[Entry]:
        """The entries without their seqs."""
        return [entry.entry for entry in self.items]
