"""The context: what a model would see, in which format, and why."""

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from sessiond.protocol.types.shared import EntryId, Format, Json, Message, Params, SessionId, Wire


class ContextParams(Params, frozen=True):
    """What a model would see at `leafId` (default: the session's leaf).

    `agent` is the agents' own message format: entries pass through as they are, a compaction stands for what
    it replaced, branch summaries and custom messages become messages. `openai`, `anthropic` and `google` are
    messages that the provider's API takes as they are: what it would refuse (a tool call without its result,
    an aborted turn, two turns of one role) is left out, closed or joined. `explain` tells of every entry of the
    path why it is in or out. Images and cut texts that lie in blobs are put back unless `resolveBlobs` is false.
    """

    session_id: SessionId  # the whole id of the session
    leaf_id: EntryId | UnsetType | None = UNSET  # the end of the path; default: the session's leaf
    format: Format = "agent"  # the format of the messages
    explain: bool = False  # say of every entry of the path why it is in the context or not
    resolve_blobs: bool = True  # put images and cut texts back that lie in blobs


class Explained(Wire, frozen=True):
    """What became of one entry of the path, and why.

    `message` is the place of its words in `messages`, or null: it is out, or in `system`.
    """

    entry_id: str
    type: str
    role: str | None
    fate: Literal["in", "changed", "out"]
    reason: str  # a stable word, such as `compactedAway`: see "Why an entry is in or out"
    because: str  # the same as a sentence
    tokens: int  # an estimate, of what is in the context; 0 when it is out
    message: int | None


class ContextResult(Wire, frozen=True):
    """Messages in order, with the entry that each came from, and the settings in force at the leaf.

    `missingBlobs` are the hashes of blobs that were to be put back and are not there: their references stay,
    or in a provider's format what they stood for is left out.
    """

    messages: list[Message]
    entry_ids: list[str]  # of each message; of the first entry where several were joined
    models: dict[str, str]  # role -> "provider/model"
    thinking_level: str
    mode: str
    injected_ttsr_rules: list[str]
    leaf_id: str | None
    mode_data: Json  # null without one
    configured_thinking_level: str | None
    service_tier: Json  # null without one
    format: Format
    system: Json  # what the provider takes beside the messages (`system`, `systemInstruction`), or null
    tokens: int  # as the last answer's usage counted them, and an estimate of what came after
    tokens_estimated: bool  # no usage could be trusted: all of `tokens` is an estimate
    explanation: list[Explained] | None
    missing_blobs: list[str] = msgspec.field(default_factory=list)
