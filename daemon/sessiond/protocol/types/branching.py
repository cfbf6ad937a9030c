"""Branching: moving the leaf, with a summary of what is left behind or without."""

from msgspec import UNSET, UnsetType

from sessiond.protocol.types.compaction import FileOperations, SummarizedBy
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
    """What moving the leaf from `leafId` (default: the session's leaf) to `targetId` would leave behind.

    Nothing is changed. A null `targetId` is the place before the first entry.
    """

    session_id: SessionId  # the whole id of the session
    target_id: EntryId | None  # the entry that the leaf would be moved to; null is before the first entry
    leaf_id: EntryId | UnsetType | None = UNSET  # the end of the path; default: the session's leaf
    max_tokens: Tokens | None = None  # of the entries in `prompt`, the newest first; all of them without it
    instructions: str | None = None  # what the summary should pay attention to


class PrepareBranchResult(Wire, frozen=True):
    """The entries between the old leaf and the common ancestor, and where a person would go on."""

    target_id: str | None
    old_leaf_id: str | None
    common_ancestor_id: str | None
    entries_to_summarize: list[str]
    file_operations: FileOperations
    tokens: int  # an estimate, of the entries that are in `prompt`
    prompt: str | None  # all that a summarizer needs, as text; null when nothing is left behind
    resume_at: str | None  # `targetId`, but the parent of a user's message, which is there to be edited
    editor_text: str | None  # that message


class BranchParams(Params, frozen=True):
    """Move the leaf to an entry, or with null to before the first; `summary` says there what was left behind.

    The move is a line of the log, so it survives a restart; nothing is removed. With `summarize` the daemon has
    the summary written, as for `session/compact`; when nothing is left behind, none is. If that fails, or
    somebody else moves the leaf meanwhile (`leafConflict`), the leaf stays.
    """

    session_id: SessionId  # the whole id of the session
    target_id: EntryId | None  # the new leaf; null is before the first entry
    summary: str | None = None  # a summary of what is left behind
    details: Json | UnsetType = UNSET  # any JSON value to store beside the summary
    from_extension: bool | None = None  # whether an extension wrote the summary
    expected_leaf: EntryId | UnsetType | None = UNSET  # another leaf is a `leafConflict`
    summarize: bool = False  # have a summary of what is left behind written
    instructions: str | None = None  # what the summary should pay attention to
    work_done_token: ProgressToken | None = None  # the token of `$/progress` notifications
    command_id: CommandId | None = None  # requests with the same one take effect once


class BranchResult(Wire, frozen=True):
    """The leaf after the move; `entryId` is the branch summary when one was written."""

    leaf_id: str | None
    log_id: str
    seq: int
    entry_id: str | None
    previous_leaf_id: str | None
    summary: str | None
    summarized_by: SummarizedBy | None
    duplicate: bool = False  # an earlier request with this `commandId` has done it
