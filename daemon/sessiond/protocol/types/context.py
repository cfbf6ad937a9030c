"""The context: the messages for a model, in a format, with explanations."""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from sessiond.protocol.enums import Format, opened
from sessiond.protocol.types.shared import EntryId, Json, Message, Params, SessionId, Wire


class ContextParams(Params, frozen=True):
    """Return the messages that a model receives at `leafId` (default: the session's leaf).

    `agent` is the agents' own message format: messages are unchanged, a compaction replaces the history before it, and
    branch summaries and custom messages become messages. `openai`, `anthropic` and `google` are messages that the
    provider's API accepts: what it would refuse (a tool call without its result, an aborted turn, two turns of one
    role) is left out, completed or joined. `explain` gives, for every entry of the path, the reason why it is in or
    out. Images and cut texts that are stored as blobs are restored unless `resolveBlobs` is false.
    """

    session_id: SessionId  # the full id of the session
    leaf_id: EntryId | UnsetType | None = UNSET  # the end of the path; default: the session's leaf
    format: Format = "agent"  # the format of the messages
    explain: bool = False  # explain for every entry of the path why it is in the context or not
    resolve_blobs: bool = True  # restore images and cut texts from their blobs


class Explained(Wire, frozen=True):
    """The fate of one entry of the path, and the reason.

    `messageIndex` is the index in `messages` of its text. It is null if the entry is out, or in `system`.
    """

    entry_id: str
    type: str
    role: str | None
    fate: Annotated[str, opened("Fate")]
    reason: Annotated[str, opened("ContextReason")]  # see "Why an entry is in or out"
    message: str  # the reason as a sentence
    tokens: int  # estimated tokens in the context; 0 if the entry is out
    message_index: int | None


class ContextResult(Wire, frozen=True):
    """Messages in order, with the entry of each, and the settings in force at the leaf.

    `missingBlobs` lists the hashes of blobs that could not be restored. In the agents' format their references stay;
    in a provider's format the referenced content is left out.
    """

    messages: list[Message]
    entry_ids: list[str]  # of each message; of the first entry if several were joined
    models: dict[str, str]  # role -> "provider/model"
    thinking_level: str
    mode: str
    injected_ttsr_rules: list[str]
    leaf_id: str | None
    mode_data: Json  # null without one
    configured_thinking_level: str | None
    service_tier: Json  # null without one
    format: Annotated[str, opened("Format")]
    system: Json  # what the provider takes beside the messages (`system`, `systemInstruction`), or null
    tokens: int  # the provider's count for the last answer, plus an estimate of what came after
    tokens_estimated: bool  # true if no provider count is valid: all of `tokens` is an estimate
    explanation: list[Explained] | None
    missing_blobs: list[str] = msgspec.field(default_factory=list)
