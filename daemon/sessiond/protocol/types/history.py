"""The history of prompts that people typed, over all sessions."""

from typing import Annotated

from msgspec import Meta

from sessiond.protocol.types.shared import CommandId, Params, SessionId, Wire

Page = Annotated[int, Meta(ge=1, le=1_000)]
PromptId = Annotated[str, Meta(min_length=1, max_length=64)]


class HistoryAddParams(Params, frozen=True):
    """Add a prompt that was sent to no session to the history.

    User messages of `session/append` are added automatically.

    An empty prompt, or one equal to the previous prompt, is not added. If `[history] enabled` is false, no prompt is
    added.
    """

    prompt: str  # the text; of a longer one, the first 100,000 characters are stored
    cwd: str | None = None  # the folder in which it was typed
    command_id: CommandId | None = None  # repeats take effect once


class HistoryAddResult(Wire, frozen=True):
    """Whether the prompt was added."""

    added: bool  # false if it is empty or equal to the previous prompt, or if the history is disabled
    prompt_id: str | None  # the id of the prompt, for `history/delete`; null if it was not added
    duplicate: bool = False  # an earlier request took effect


class PromptCopy(Params, frozen=True):
    """A prompt of another history."""

    prompt: str  # the text; of a longer one, the first 100,000 characters are stored
    created_at: str  # when it was typed: ISO 8601, with a time zone
    cwd: str | None = None  # the folder in which it was typed
    session_id: str | None = None  # the session that it was sent to
    entry_id: str | None = None  # the entry of this session that has it


class HistoryImportParams(Params, frozen=True):
    """Add prompts of another history, such as that of a backup, with their times.

    A prompt that the history has, with the same time, folder and session, is not added again. So a repetition does no
    harm. If `[history] enabled` is false, no prompt is added.
    """

    prompts: Annotated[list[PromptCopy], Meta(min_length=1, max_length=1_000)]  # the prompts


class HistoryImportResult(Wire, frozen=True):
    """How many of the prompts were added."""

    added_count: int  # prompts that the history did not have


class HistoryListParams(Params, frozen=True):
    """Return prompts, the last typed first.

    With `query`, only those that it matches: each of its words must match the beginning of a word of the prompt, or
    any part of it. With `cwd` or `sessionId`, only those that were typed there.
    """

    query: Annotated[str, Meta(max_length=1_000)] | None = (
        None  # the words to find; default: every prompt matches
    )
    cwd: str | None = None  # only prompts of this folder
    session_id: SessionId | None = None  # only prompts of this session, which may be deleted by now
    cursor: str | None = None  # from an earlier result; default: none
    limit: Page = 50  # maximum number of prompts per page


class Prompt(Wire, frozen=True):
    """A prompt that a person typed."""

    prompt_id: str  # its id, for `history/delete`; never the id of another prompt
    prompt: str  # the text
    created_at: str  # ISO 8601, UTC
    cwd: str | None  # the folder in which it was typed
    session_id: str | None  # the session that it was sent to; null for none, or if it is not known
    entry_id: str | None  # the entry of this session that has it; null for none, or if it is not known


class HistoryListResult(Wire, frozen=True):
    """A page of prompts."""

    prompts: list[Prompt]  # at most `limit`
    next_cursor: str | None  # for the next page; null on the last one


class HistoryDeleteParams(Params, frozen=True):
    """Remove prompts from the history permanently. The entries of sessions are unchanged.

    The server adds none of them again: only what is appended or added later gets into the history. Unknown ids are
    ignored, so a repetition does no harm.
    """

    prompt_ids: Annotated[list[PromptId], Meta(min_length=1, max_length=1_000)]  # the prompts
    command_id: CommandId | None = None  # repeats take effect once


class HistoryDeleteResult(Wire, frozen=True):
    """The prompts that were removed."""

    deleted_ids: list[str]  # ids of `promptIds` that were in the history; at most 1,000
    duplicate: bool = False  # an earlier request took effect
