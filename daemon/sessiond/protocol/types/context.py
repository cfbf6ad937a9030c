"""The context: the messages for a model, in a format, with explanations."""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from sessiond.protocol.enums import Format, opened
from sessiond.protocol.types.shared import EntryId, Json, Message, Params, SessionId, Wire


class ContextParams(Params, frozen=True):
    """Return the messages that a model receives at `leafId` (default: the session's leaf).

    `agent` is the agents' own message format: messages are unchanged, a compaction replaces the history before it, and
    branch summaries and custom messages become messages. The other formats are messages that the provider's API
    accepts: what it would refuse (a tool call without its result, an aborted turn, two turns of one
    role) is left out, completed or joined. `explain` gives, for every entry of the path, the reason why it is in or
    out. Images and cut texts that are stored as blobs are restored unless `resolveBlobs` is false. If a blob cannot
    be restored, its reference stays in the agents' format; in a provider's format the content is left out.
    """

    session_id: SessionId  # the session's full id
    leaf_id: EntryId | UnsetType | None = UNSET  # the end of the path; default: the session's leaf
    format: Format = "agent"  # the format of the messages
    explain: bool = False  # explain for every entry of the path why it is in the context or not
    resolve_blobs: bool = True  # restore images and cut texts from their blobs


class Explained(Wire, frozen=True):
    """Whether one entry of the path is in the context, and why."""

    entry_id: str  # the entry
    type: str  # its type
    role: str | None  # the role of its message; null without one
    fate: Annotated[str, opened("Fate")]  # whether it is in the context
    reason: Annotated[str, opened("ContextReason")]  # see "Why an entry is in or out"
    message: str  # the reason as a sentence
    tokens: int  # estimated tokens in the context; 0 if the entry is out
    message_index: int | None  # the index in `messages` of its text; null if the entry is out, or in `system`


class ContextMessage(Wire, frozen=True, gc=False):
    """One message of a context."""

    entry_id: str  # the entry that it comes from; the first one if several were joined
    message: Message  # the message in the requested format


class ContextResult(Wire, frozen=True):
    """The messages in order, and the settings in force at the leaf. A larger context fails with `tooLarge`."""

    messages: list[ContextMessage]  # one for each message that the model receives; at most 32 MiB together
    models: dict[str, str]  # role -> "provider/model"
    thinking_level: str  # the level in force: `off`, `low`, `medium`, `high`, or another of the agent's
    mode: str  # the mode that the agent set; `none` without one
    injected_ttsr_rules: list[str]  # names of the rules that oh-my-pi injected, as its entries have them
    leaf_id: str | None  # the end of the path; null before the first entry
    mode_data: Json  # data that the agent stored with the mode; null without any
    configured_thinking_level: str | None  # the level that the user chose, if it differs; null without one
    service_tier: Json  # the service tier as the agent stored it; null without one
    format: Annotated[str, opened("Format")]  # the format of the messages
    system: Json  # the part of the request beside the messages (`system`, `systemInstruction`), or null
    tokens: int  # the provider's count for the last answer, plus an estimate of what came after
    tokens_estimated: bool  # true if no provider count is valid: all of `tokens` is an estimate
    explanation: list[Explained] | None  # one row for each entry of the path; null without `explain`
    missing_blobs: list[str] = msgspec.field(
        default_factory=list
    )  # hashes of blobs that could not be restored
    message_count: int = 0  # user and assistant messages on all branches
    off_path_count: int = 0  # messages that are not on the path to the leaf
