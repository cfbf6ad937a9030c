"""Compaction: its settings, a safe cut, the summary, and the request to a client to write one."""

from typing import Literal

from msgspec import UNSET, UnsetType

from sessiond.protocol.types.shared import (
    CommandId,
    EntryId,
    Json,
    Params,
    ProgressToken,
    SessionId,
    Tokens,
    Wire,
)

SummarizedBy = Literal["given", "client", "command"]


class CompactionSettings(Wire, frozen=True):
    """When a session counts as full, and how much of it stays. All in tokens."""

    enabled: bool  # whether the daemon looks after it by itself
    context_window: int  # of the model
    reserve_tokens: int  # kept free of the window, for the answer
    keep_recent_tokens: int  # about how much stays as it is


class CompactionChoice(Params, frozen=True):
    """Some of the settings; what is left out is as the session, or else the configuration, has it."""

    enabled: bool | None = None
    context_window: Tokens | None = None
    reserve_tokens: Tokens | None = None
    keep_recent_tokens: Tokens | None = None


class ConfigureParams(Params, frozen=True):
    """Choose, for one session, when it is compacted by itself; null goes back to the configuration.

    The choice is a line of the log. Without `autoCompact` nothing is changed and the settings are answered.
    """

    session_id: SessionId  # the whole id of the session
    auto_compact: CompactionChoice | UnsetType | None = UNSET  # null takes the choice back
    command_id: CommandId | None = None  # requests with the same one take effect once


class ConfigureResult(Wire, frozen=True):
    """The settings in force; `entryId` is the line that recorded a change."""

    auto_compact: CompactionSettings
    entry_id: str | None
    log_id: str
    seq: int  # of that line; of the newest one when nothing was changed
    duplicate: bool = False  # an earlier request with this `commandId` has done it


class FileOperations(Wire, frozen=True):
    """Files that the tool calls of some entries touched, each once, sorted; a file written is not in `read`."""

    read: list[str]
    modified: list[str]


class PrepareCompactionParams(Params, frozen=True):
    """Find where a session could be cut, and what would have to be summarized. Nothing is changed.

    This is also the preview of a compaction: `entriesToSummarize` would leave the context, `tokensBefore` would
    become `tokensAfter`. `reason` says why there is nothing to do, or not yet: then there is no cut.
    """

    session_id: SessionId  # the whole id of the session
    leaf_id: EntryId | UnsetType | None = UNSET  # the end of the path; default: the session's leaf
    settings: CompactionChoice | None = None  # settings for this request, instead of those in force
    instructions: str | None = None  # what the summary should pay attention to


class PrepareCompactionResult(Wire, frozen=True):
    """A safe cut: no tool call is parted from its result. Tokens as `session/context` counts them."""

    leaf_id: str | None
    needed: bool  # `tokensBefore` is above `contextWindow` less `reserveTokens`
    reason: Literal["alreadyCompacted", "nothingToSummarize", "callsUnanswered"] | None
    first_kept_entry_id: str | None
    entries_to_summarize: list[str]  # in order; the beginning of a turn that is cut is at their end
    turn_prefix: list[str]  # those of them that begin the turn whose rest is kept
    split_turn: bool
    previous_summary: str | None  # of the compaction that this one would follow
    file_operations: FileOperations
    tokens_before: int
    tokens_after: int  # of what is kept; the summary comes on top
    prompt: str | None  # all that a summarizer needs, as text
    settings: CompactionSettings


class CompactParams(Params, frozen=True):
    """Let a summary stand for the older part of a session.

    Without `summary` the daemon has one written: by this client, or another with the session open, if it
    declared `summarize`; else by the configured command. Requests that come while one is being written are
    answered with its outcome. Without `firstKeptEntryId`, which goes with `summary`, the cut is that of
    `session/prepareCompaction`.
    To undo it, move the leaf to `previousLeafId` with `session/branch`.
    """

    session_id: SessionId  # the whole id of the session
    summary: str | None = None  # the summary; without it one is written now
    first_kept_entry_id: EntryId | None = None  # the first entry that stays; only with `summary`
    short_summary: str | None = None  # a summary in a line or two, for people
    details: Json | UnsetType = UNSET  # any JSON value to store beside the summary
    preserve_data: Json | UnsetType = UNSET  # any JSON value that later compactions get to see
    from_extension: bool | None = None  # whether an extension wrote the summary
    tokens_before: Tokens | None = None  # tokens of the context; default: an estimate
    settings: CompactionChoice | None = None  # settings for this request, instead of those in force
    instructions: str | None = None  # what the summary should pay attention to
    expected_leaf: EntryId | UnsetType | None = UNSET  # another leaf is a `leafConflict`
    work_done_token: ProgressToken | None = None  # the token of `$/progress` notifications
    command_id: CommandId | None = None  # requests with the same one take effect once


class CompactResult(Wire, frozen=True):
    """The compaction that was written, and the leaf before it."""

    entry_id: str
    log_id: str
    seq: int
    leaf_id: str | None
    previous_leaf_id: str | None
    first_kept_entry_id: str
    summary: str
    summarized_by: SummarizedBy
    tokens_before: int
    tokens_after: int  # an estimate, with the summary
    duplicate: bool = False  # an earlier request with this `commandId` has done it


class SummarizeParams(Wire, frozen=True):
    """The daemon asks a client, which declared `summarize`, to write a summary.

    `prompt` is all that a model needs. The client may send `$/progress` with `workDoneToken`; it is passed on
    to whoever waits. `$/cancelRequest` says that nobody waits any more.
    """

    session_id: str
    purpose: Literal["compaction", "branch"]
    prompt: str
    entry_ids: list[str]  # what is to be summarized
    models: dict[str, str]  # role -> "provider/model" in force there
    instructions: str | None
    work_done_token: ProgressToken


class SummarizeResult(Wire, frozen=True):
    """The summary. The other fields are stored with it."""

    summary: str
    short_summary: str | None = None
    details: Json | UnsetType = UNSET
    preserve_data: Json | UnsetType = UNSET
