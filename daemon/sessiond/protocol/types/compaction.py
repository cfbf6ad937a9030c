"""Compaction: its settings, a safe cut, the summary, and the request to a client to write one."""

from typing import Annotated

from msgspec import UNSET, UnsetType

from sessiond.protocol.enums import opened
from sessiond.protocol.types.shared import (
    CommandId,
    EntryId,
    Json,
    Params,
    ProgressToken,
    Sent,
    SessionId,
    Tokens,
    Wire,
)


class CompactionSettings(Wire, frozen=True):
    """When a session counts as full, and how much of it stays. All numbers are tokens."""

    enabled: bool  # whether the server compacts the session automatically
    context_window: int  # the context window of the model
    reserve_tokens: int  # reserved in the window for the answer
    keep_recent_tokens: int  # about how much of the newest entries stays


class CompactionChoice(Params, frozen=True):
    """Some of the settings. Omitted settings are those of the session, or else of the configuration."""

    enabled: bool | None = None  # whether the server compacts the session automatically
    context_window: Tokens | None = None  # the context window of the model, in tokens
    reserve_tokens: Tokens | None = None  # tokens of the window that are reserved for the answer
    keep_recent_tokens: Tokens | None = None  # about how many tokens of the newest entries stay


class ConfigureParams(Params, frozen=True):
    """Set, for one session, when it is compacted automatically. Null restores the configuration.

    The choice is a line of the log. If `autoCompact` is absent, nothing is changed and the result has the settings.
    """

    session_id: SessionId  # the session's full id
    auto_compact: CompactionChoice | UnsetType | None = UNSET  # null removes the choice
    command_id: CommandId | None = None  # repeats take effect once


class ConfigureResult(Wire, frozen=True):
    """The settings in force. `recordId` is the line that recorded a change."""

    auto_compact: CompactionSettings  # the settings in force
    record_id: str | None  # the id of that line; null if nothing was changed
    log_id: str  # the log of `seq`
    seq: int  # the seq of that line; of the last line if nothing was changed
    duplicate: bool = False  # an earlier request took effect


class FileOperations(Wire, frozen=True):
    """Files that the tool calls of a set of entries used, each once, sorted. A written file is not in `read`."""

    read: list[str]  # paths of files that were read and not written, as the calls named them
    modified: list[str]  # paths of files that were written or edited, as the calls named them


class PrepareCompactionParams(Params, frozen=True):
    """Find a safe cut of a session and the entries to summarize. Nothing is changed.

    The result is also the preview of a compaction: `entryIdsToSummarize` would leave the context, and `tokensBefore`
    would become `tokensAfter`. If `reason` is not null, there is no cut: nothing can be compacted, or not yet.
    """

    session_id: SessionId  # the session's full id
    leaf_id: EntryId | UnsetType | None = UNSET  # the end of the path; default: the session's leaf
    settings: CompactionChoice | None = None  # settings for this request, instead of those in force
    instructions: str | None = None  # instructions for the summary


class PrepareCompactionResult(Wire, frozen=True):
    """A safe cut: it separates no tool call from its result. Tokens are counted as in `session/context`."""

    leaf_id: str | None  # the end of the path; null before the first entry
    needed: bool  # `tokensBefore` is above `contextWindow` less `reserveTokens`
    reason: Annotated[str, opened("NoCutReason")] | None  # why there is no cut; null if there is one
    first_kept_entry_id: str | None  # the first entry that stays; null without a cut
    entry_ids_to_summarize: list[
        str
    ]  # in path order, so at most the whole path; the beginning of a turn that is cut comes last
    turn_prefix_ids: list[str]  # entries to summarize of a turn whose rest stays
    split_turn: bool  # whether the cut is inside a turn
    previous_summary: str | None  # the summary of the previous compaction
    file_operations: FileOperations  # the files that these entries used
    tokens_before: int  # tokens of the context now
    tokens_after: int  # tokens of the entries that stay, without the summary
    prompt: str | None  # the complete input of a summarizer, as text; null without a cut
    settings: CompactionSettings  # the settings of this preparation


class CompactParams(Params, frozen=True):
    """Replace the older part of a session's context by a summary.

    Without `summary`, the server has one written: by this client, or another that has the session open, if it declared
    `summarize`; else by the configured command. Requests that arrive while a summary is being written get the same
    outcome. Without `firstKeptEntryId`, which requires `summary`, the cut is that of `session/prepareCompaction`.

    To undo a compaction, move the leaf to `previousLeafId` with `session/branch`.
    """

    session_id: SessionId  # the session's full id
    summary: str | None = None  # the summary; without it, the server has one written
    first_kept_entry_id: EntryId | None = None  # the first entry that stays; only with `summary`
    short_summary: str | None = None  # a summary of one or two lines, for people
    details: Json | UnsetType = UNSET  # any JSON value to store beside the summary
    preserve_data: Json | UnsetType = UNSET  # any JSON value that later compactions receive
    from_extension: bool | None = None  # whether an extension wrote the summary
    tokens_before: Tokens | None = None  # tokens of the context; default: an estimate
    settings: CompactionChoice | None = None  # settings for this request, instead of those in force
    instructions: str | None = None  # instructions for the summary
    expected_leaf_id: EntryId | UnsetType | None = UNSET  # fail with `leafConflict` if the leaf is another
    work_done_token: ProgressToken | None = None  # for `$/progress` notifications
    command_id: CommandId | None = None  # repeats take effect once


class CompactResult(Wire, frozen=True):
    """The compaction that was written, and the leaf before it."""

    record_id: str  # the id of the compaction
    log_id: str  # the log of `seq`
    seq: int  # the seq of its line
    leaf_id: str | None  # the leaf after the compaction
    previous_leaf_id: str | None  # the leaf before it
    first_kept_entry_id: str  # the first entry that stays
    summary: str  # the summary as it is stored
    summarized_by: Annotated[str, opened("SummarizedBy")]  # the writer of the summary
    tokens_before: int  # tokens of the context before
    tokens_after: int  # an estimate, including the summary
    duplicate: bool = False  # an earlier request took effect


class SummarizeParams(Wire, frozen=True):
    """The server requests a summary from a client that declared `summarize`.

    `prompt` is the complete input for a model. The client may send `$/progress` with `workDoneToken`; the server
    forwards it to the waiting clients. The server sends `$/cancelRequest` if no client waits any more.
    """

    session_id: str
    purpose: Annotated[str, opened("SummaryPurpose")]
    prompt: str  # the complete input for a model
    entry_ids: list[str]  # the entries to summarize
    models: dict[str, str]  # role -> "provider/model" in force there
    instructions: str | None  # instructions of the person who asked for the summary
    work_done_token: ProgressToken  # for `$/progress` notifications


class SummarizeResult(Sent, frozen=True):
    """The summary. The other fields are stored with it."""

    summary: str
    short_summary: str | None = None  # a summary of one or two lines, for people
    details: Json | UnsetType = UNSET  # any JSON value to store beside the summary
    preserve_data: Json | UnsetType = UNSET  # any JSON value that later compactions receive
