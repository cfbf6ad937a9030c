"""Move the leaf, with or without a summary of the branch that it leaves."""

from typing import Annotated

from msgspec import UNSET, UnsetType

from sessiond.protocol.enums import opened
from sessiond.protocol.types.compaction import FileOperations
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


class PrepareBranchParams(Params, frozen=True):
    """Return what moving the leaf from `leafId` (default: the session's leaf) to `entryId` would leave behind.

    Nothing is changed. A null `entryId` means before the first entry.
    """

    session_id: SessionId  # the session's full id
    entry_id: EntryId | None  # the new leaf; null means before the first entry
    leaf_id: EntryId | UnsetType | None = UNSET  # the end of the path; default: the session's leaf
    max_tokens: Tokens | None = None  # limit for the entries in `prompt`, newest first; default: no limit
    instructions: str | None = None  # instructions for the summary


class PrepareBranchResult(Wire, frozen=True):
    """The entries between the old leaf and the common ancestor, and the place where a person would resume."""

    entry_id: str | None  # the new leaf; null means before the first entry
    previous_leaf_id: str | None  # the leaf that would be left; null before the first entry
    common_ancestor_id: str | None  # the last entry that both paths share; null without one
    entry_ids_to_summarize: list[
        str
    ]  # in path order; all that would be left behind, so at most the whole path
    file_operations: FileOperations  # the files that these entries used
    tokens: int  # estimated tokens of the entries in `prompt`
    prompt: str | None  # the complete input of a summarizer; null if nothing is left behind
    resume_at_id: str | None  # `entryId`; for a user message, its parent, so that the message can be edited
    editor_text: str | None  # the text of that user message


class BranchParams(Params, frozen=True):
    """Move the leaf to an entry, or before the first one (null). `summary` describes the branch that the leaf leaves.

    The move is a line of the log, so it survives a restart. Nothing is removed. With `summarize`, the server has the
    summary written, as for `session/compact`; if no entry is left behind, there is no summary. If the summary fails,
    or the leaf moves meanwhile (`leafConflict`), the leaf is unchanged.
    """

    session_id: SessionId  # the session's full id
    entry_id: EntryId | None  # the new leaf; null means before the first entry
    summary: str | None = None  # a summary of the branch that the leaf leaves
    details: Json | UnsetType = UNSET  # any JSON value to store beside the summary
    from_extension: bool | None = None  # whether an extension wrote the summary
    expected_leaf_id: EntryId | UnsetType | None = UNSET  # fail with `leafConflict` if the leaf is another
    summarize: bool = False  # have a summary of the branch written
    instructions: str | None = None  # instructions for the summary
    work_done_token: ProgressToken | None = None  # for `$/progress` notifications
    command_id: CommandId | None = None  # repeats take effect once


class BranchResult(Wire, frozen=True):
    """The leaf after the move, and the line that recorded it: a branch summary, or a line that only moves the leaf."""

    record_id: str  # the id of the line that recorded the move
    leaf_id: str | None  # the leaf after the move; null before the first entry
    log_id: str  # the log of `seq`
    seq: int  # the seq of that line
    previous_leaf_id: str | None  # the leaf before the move; null before the first entry
    summary: str | None  # the text of the branch summary; null without one
    summarized_by: Annotated[str, opened("SummarizedBy")] | None  # its writer; null without a summary
    duplicate: bool = False  # an earlier request took effect
