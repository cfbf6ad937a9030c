"""The shapes of the header and of the entry types of version 3, for validation, schemas and reading payloads.

Payload structs hold the members of one type; `id`, `parentId` and `timestamp` are common to all (`EntryBase`).
Unknown fields and types survive, because lines are kept as bytes and never written from these structs
(decision 0008).
"""

import re
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from sessiond.session.tree import payloads

CURRENT_VERSION: Final = 3
TAGS_TYPE: Final = "sessiond.tags"
"""`customType` of the `custom` entry that holds a session's tags as `data: {"tags": [...]}`."""
STATE_TYPE: Final = "sessiond.state"
"""`customType` of the `custom` entry that holds an update of the working state: see `session.updates`."""

SETTINGS_TYPE: Final = "sessiond.settings"
"""`customType` of the `custom` entry that holds a session's own settings: `data: {"autoCompact": {…} | null}`."""

COMMAND_FIELD: Final = "sessiondCommand"
"""The member of a line, and of a header, that names the command that wrote it. Only the daemon writes it."""

_ENTRY_ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{7,127}\Z")


def valid_entry_id(text: str) -> bool:
    """Whether a client may bring this as an entry's id."""
    return _ENTRY_ID.match(text) is not None


def valid_session_id(text: str) -> bool:
    """Whether this may name a new session: 8 to 128 characters that are harmless in a path (NOVA's rule).

    The first is a letter or digit, so that no command takes an id for an option.
    """
    return _SESSION_ID.match(text) is not None


class JoinedCommand(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A command that was carried out by the line of another one."""

    id: str
    digest: str


class CommandMark(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a line, or a header, says of the command that wrote it.

    `answer` holds the parts of the first answer that the line itself does not tell. `joined` are commands that were
    answered with this line, too.
    """

    id: str
    method: str
    digest: str
    answer: dict[str, Any] = {}
    joined: list[JoinedCommand] = []


class Header(
    msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True, tag_field="type", tag="session"
):
    """Line 1 of a log. An absent `version` means 1."""

    version: int | None = None
    id: str
    timestamp: str
    cwd: str = ""
    title: str | None = None
    parent_session: str | None = None
    tags: list[str] | None = None  # ours: the tags at creation; later ones are `custom` entries
    sessiond_command: CommandMark | None = None  # ours: what made the session, if that can be repeated


class EntryBase(msgspec.Struct, kw_only=True, rename="camel"):
    """What every entry has beside its payload."""

    type: str
    id: str
    parent_id: str | None
    timestamp: str


class Payload(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True, tag_field="type"):
    """The base of all payloads; unknown fields are allowed."""


class MessageHead(msgspec.Struct, kw_only=True, rename="camel"):
    """The least that a message says: whose it is. The rest belongs to the agent that wrote it."""

    role: str


class MessageEntry(Payload, tag="message"):
    """One message of the conversation, in the agents' own format."""

    message: MessageHead


class ModelChangeEntry(Payload, tag="model_change"):
    """A switch of model: oh-my-pi has `model` as `provider/id`, pi `provider` and `modelId`."""

    model: str | None = None
    role: str | None = None
    provider: str | None = None
    model_id: str | None = None


class ThinkingLevelChangeEntry(Payload, tag="thinking_level_change"):
    """A switch of thinking level; `configured` is what the user chose when that was "auto"."""

    thinking_level: str | None = None
    configured: str | None = None


class CompactionEntry(Payload, tag="compaction"):
    """A summary that stands for the history before `firstKeptEntryId`. `tokensBefore` in tokens."""

    summary: str
    first_kept_entry_id: str | None = None
    tokens_before: int | float = 0
    short_summary: str | None = None
    details: Any = None
    preserve_data: Any = None
    from_extension: bool | None = None


class BranchSummaryEntry(Payload, tag="branch_summary"):
    """What was left behind when the leaf moved; `fromId` is the entry branched from, or "root"."""

    summary: str
    from_id: str
    details: Any = None
    from_extension: bool | None = None


class CustomEntry(Payload, tag="custom"):
    """State of an extension; never part of a context."""

    custom_type: str
    data: Any = None


class CustomMessageEntry(Payload, tag="custom_message"):
    """A message of an extension; part of the context. With `display` false, default views leave it out."""

    custom_type: str
    content: str | list[dict[str, Any]]
    display: bool = True
    details: Any = None
    attribution: str | None = None


class LabelEntry(Payload, tag="label"):
    """A bookmark on `targetId`; an absent or empty `label` removes it."""

    target_id: str
    label: str | None = None


class TtsrInjectionEntry(Payload, tag="ttsr_injection"):
    """Names of stream rules that were injected."""

    injected_rules: list[str]


class SessionInitEntry(Payload, tag="session_init"):
    """How a sub-agent session began; for replay, not part of a context."""

    system_prompt: str
    task: str
    tools: list[str]
    output_schema: Any = None


class ModeChangeEntry(Payload, tag="mode_change"):
    """A switch of the agent's mode, with its data."""

    mode: str
    data: Any = None


class SessionInfoEntry(Payload, tag="session_info"):
    """The session's title; an absent or empty `name` takes it away (pi, operator, Go)."""

    name: str | None = None


class LeafEntry(Payload, tag="leaf"):
    """A durable move of the leaf to `targetId`, or with null to before the first entry (operator)."""

    target_id: str | None


class ContextEditEntry(Payload, tag="context_edit"):
    """Replaces an entry's content in the context, or with null leaves it out (pi)."""

    target_id: str
    replacement: dict[str, Any] | None


class UsageEntry(Payload, tag="usage"):
    """Tokens spent outside a message (pi)."""

    kind: str
    provider: str
    model: str
    usage: dict[str, Any]
    note: str | None = None


class ModelUsageEntry(Payload, tag="model_usage"):
    """Tokens spent outside a message (oh-my-pi)."""

    purpose: str
    provider: str
    model: str
    usage: dict[str, Any] | None = None
    api: str | None = None
    role: str | None = None
    stop_reason: str | None = None
    error_message: str | None = None


class ResetBoundaryEntry(Payload, tag="reset_boundary"):
    """The context starts anew here (oh-my-pi `/clear`)."""


class TitleChangeEntry(Payload, tag="title_change"):
    """The session's title, as oh-my-pi records it."""

    title: str
    source: str | None = None
    previous_title: str | None = None
    trigger: str | None = None


class ServiceTierChangeEntry(Payload, tag="service_tier_change"):
    """The service tier per provider (oh-my-pi)."""

    service_tier: Any = None


class CredentialPinEntry(Payload, tag="credential_pin"):
    """Which credential a provider is used with, as a hash (oh-my-pi)."""

    provider: str
    hash: str


AnyPayload = (
    MessageEntry
    | ModelChangeEntry
    | ThinkingLevelChangeEntry
    | CompactionEntry
    | BranchSummaryEntry
    | CustomEntry
    | CustomMessageEntry
    | LabelEntry
    | TtsrInjectionEntry
    | SessionInitEntry
    | ModeChangeEntry
    | SessionInfoEntry
    | LeafEntry
    | ContextEditEntry
    | UsageEntry
    | ModelUsageEntry
    | ResetBoundaryEntry
    | TitleChangeEntry
    | ServiceTierChangeEntry
    | CredentialPinEntry
)

TYPES: Final = tuple(member.__struct_config__.tag for member in AnyPayload.__args__)
"""Every entry type that sessiond knows, as its `type` is written."""

_payload: msgspec.json.Decoder[AnyPayload] = msgspec.json.Decoder(AnyPayload)


def decode_payload(line: bytes) -> AnyPayload:
    """The payload of an entry of a known type. Raises `msgspec.ValidationError`, which names the field."""
    payload: AnyPayload = _payload.decode(line)
    return payload


def payload_of(line: bytes) -> AnyPayload | None:
    """The payload of a stored line as valid Unicode, or None if it has no known type or a wrong field."""
    return payloads.part(_payload, line)


class DraftHead(msgspec.Struct, kw_only=True, rename="camel"):
    """What the log itself reads of a draft."""

    type: str
    id: str | UnsetType = UNSET
    parent_id: str | UnsetType | None = UNSET
    timestamp: str | UnsetType = UNSET
