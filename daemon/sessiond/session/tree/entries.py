"""The shapes of the header and of the entry types of version 3, for validation, schemas and reading payloads.

Payload structs hold the members of one type. All types share `id`, `parentId` and `timestamp` (`EntryBase`). Unknown
fields and types are preserved, because lines are stored as bytes and never written from these structs (decision 0008).
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
"""`customType` of the `custom` entry that holds an update of the working state: see `state.updates`."""

SETTINGS_TYPE: Final = "sessiond.settings"
"""`customType` of the `custom` entry that holds a session's own settings: `data: {"autoCompact": {…} | null}`."""

ORIGIN_TYPE: Final = "sessiond.origin"
"""`customType` of the entry that names the source of a session: {source, sourceId, sourcePath, sourceVersion, …}."""
ORIGIN_STATE_TYPE: Final = "sessiond.originState"
"""`customType` of an entry that says whether the file of the source exists: {state: "gone" | "present", timestamp}."""
TAKEN_OVER_TYPE: Final = "sessiond.takenOver"
"""`customType` of the entry after which a person gives the prompts of a session, or a program: {by}."""
ATTACHMENT_TYPE: Final = "sessiond.attachment"
"""`customType` of an entry with a file that the agent wrote beside its transcript: see `content.attachments`."""

COMMAND_FIELD: Final = "sessiondCommand"
"""The member of a line or header that names the command that wrote it. Only the daemon writes it."""

_ENTRY_ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{7,127}\Z")


def valid_entry_id(text: str) -> bool:
    """Return whether a client may use this as an entry's id."""
    return _ENTRY_ID.match(text) is not None


def valid_session_id(text: str) -> bool:
    """Return whether this may be the id of a new session: 8 to 128 characters that are safe in a path (NOVA's rule).

    The first character is a letter or a digit, so that no command takes an id for an option.
    """
    return _SESSION_ID.match(text) is not None


class JoinedCommand(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A command that the line of another command answered."""

    id: str
    digest: str


class CommandMark(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The record in a line or header of the command that wrote it.

    Attributes:
        id: The `commandId`.
        method: The method of the request.
        digest: The digest of the request.
        answer: The parts of the first response that cannot be derived from the line.
        joined: Other commands that this line answered.

    """

    id: str
    method: str
    digest: str
    answer: dict[str, Any] = {}
    joined: list[JoinedCommand] = []


class Header(
    msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True, tag_field="type", tag="session"
):
    """Line 1 of a log. If `version` is absent, it is 1."""

    version: int | None = None
    id: str
    timestamp: str
    cwd: str = ""
    title: str | None = None
    parent_session: str | None = None
    tags: list[str] | None = None  # sessiond's: the tags at creation; later ones are `custom` entries
    sessiond_command: CommandMark | None = None  # sessiond's: the command that created the session


class EntryBase(msgspec.Struct, kw_only=True, rename="camel"):
    """The members that every entry has besides its payload."""

    type: str
    id: str
    parent_id: str | None
    timestamp: str


class Payload(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True, tag_field="type"):
    """Base of all payloads. Unknown fields are allowed."""


class MessageHead(msgspec.Struct, kw_only=True, rename="camel"):
    """The required part of a message: its role. The other members belong to the agent that wrote it."""

    role: str


class MessageEntry(Payload, tag="message"):
    """One message of the conversation, in the agent's own format."""

    message: MessageHead


class ModelChangeEntry(Payload, tag="model_change"):
    """A change of model: oh-my-pi writes `model` as `provider/id`, pi writes `provider` and `modelId`."""

    model: str | None = None
    role: str | None = None
    provider: str | None = None
    model_id: str | None = None


class ThinkingLevelChangeEntry(Payload, tag="thinking_level_change"):
    """A change of thinking level; `configured` is the user's choice if that was "auto"."""

    thinking_level: str | None = None
    configured: str | None = None


class CompactionEntry(Payload, tag="compaction"):
    """A summary that replaces the history before `firstKeptEntryId`. `tokensBefore` is in tokens."""

    summary: str
    first_kept_entry_id: str | None = None
    tokens_before: int | float = 0
    short_summary: str | None = None
    details: Any = None
    preserve_data: Any = None
    from_extension: bool | None = None


class BranchSummaryEntry(Payload, tag="branch_summary"):
    """A summary of the branch that the leaf left; `fromId` is the entry branched from, or "root"."""

    summary: str
    from_id: str
    details: Any = None
    from_extension: bool | None = None


class CustomEntry(Payload, tag="custom"):
    """State of an extension. It is never part of a context."""

    custom_type: str
    data: Any = None


class CustomMessageEntry(Payload, tag="custom_message"):
    """A message of an extension. It is part of the context. If `display` is false, default views omit it."""

    custom_type: str
    content: str | list[dict[str, Any]]
    display: bool = True
    details: Any = None
    attribution: str | None = None


class LabelEntry(Payload, tag="label"):
    """A label on `targetId`; an absent or empty `label` removes it."""

    target_id: str
    label: str | None = None


class TtsrInjectionEntry(Payload, tag="ttsr_injection"):
    """The names of the stream rules that were injected."""

    injected_rules: list[str]


class SessionInitEntry(Payload, tag="session_init"):
    """The start of a sub-agent's session, for replay. It is not part of a context."""

    system_prompt: str
    task: str
    tools: list[str]
    output_schema: Any = None


class ModeChangeEntry(Payload, tag="mode_change"):
    """A change of the agent's mode, with its data."""

    mode: str
    data: Any = None


class SessionInfoEntry(Payload, tag="session_info"):
    """The session's title; an absent or empty `name` removes it (pi, operator, Go)."""

    name: str | None = None


class LeafEntry(Payload, tag="leaf"):
    """A durable move of the leaf to `targetId`, or to before the first entry if it is null (operator)."""

    target_id: str | None


class ContextEditEntry(Payload, tag="context_edit"):
    """Replaces an entry's content in the context, or omits the entry if `replacement` is null (pi)."""

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
    """Starts an empty context (oh-my-pi `/clear`)."""


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
    """The hash of the credential that is used for a provider (oh-my-pi)."""

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
"""Every entry type that sessiond knows, as the value of `type`."""

_payload: msgspec.json.Decoder[AnyPayload] = msgspec.json.Decoder(AnyPayload)


def decode_payload(line: bytes) -> AnyPayload:
    """Return the payload of an entry of a known type.

    Raises:
        msgspec.ValidationError: A field is missing or has the wrong type; the message names the field.

    """
    payload: AnyPayload = _payload.decode(line)
    return payload


def payload_of(line: bytes) -> AnyPayload | None:
    """Return the payload of a stored line as valid Unicode, or None if its type is unknown or a field is wrong."""
    return payloads.part(_payload, line)


class DraftHead(msgspec.Struct, kw_only=True, rename="camel"):
    """The members of a draft that the log itself reads."""

    type: str
    id: str | UnsetType = UNSET
    parent_id: str | UnsetType | None = UNSET
    timestamp: str | UnsetType = UNSET
