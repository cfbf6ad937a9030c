"""The history of prompts: what a person typed, over all sessions."""

from typing import Annotated

from msgspec import Meta

from sessiond.protocol.types.shared import CommandId, Params, Wire

Page = Annotated[int, Meta(ge=1, le=1_000)]


class HistoryAddParams(Params, frozen=True):
    """Remember a prompt that went to no session; user messages of `session/append` are remembered anyway.

    A prompt that is empty, or the same as the one before it, is not added. With `[history] enabled = false` none is.
    """

    prompt: str  # the text
    cwd: str | None = None  # the folder in which it was typed
    command_id: CommandId | None = None  # requests with the same one take effect once


class HistoryAddResult(Wire, frozen=True):
    """Whether the prompt was added."""

    added: bool
    duplicate: bool = False  # an earlier request with this `commandId` has done it


class HistoryRecentParams(Params, frozen=True):
    """The last prompts, newest first; with `cwd` those that were typed in one folder."""

    cwd: str | None = None  # only prompts of this folder
    cursor: str | None = None  # from an earlier result; without it, the first page
    limit: Page = 50  # prompts a page


class HistorySearchParams(Params, frozen=True):
    """Find prompts, newest first: each word of `query` begins a word of the prompt, or stands somewhere in it."""

    query: Annotated[str, Meta(max_length=1_000)]  # the words to find
    cwd: str | None = None  # only prompts of this folder
    cursor: str | None = None  # from an earlier result; without it, the first page
    limit: Page = 50  # prompts a page


class Prompt(Wire, frozen=True):
    """Something that a person typed."""

    prompt: str
    created_at: str
    cwd: str | None


class HistoryResult(Wire, frozen=True):
    """A page of prompts; `nextCursor` is null on the last."""

    prompts: list[Prompt]
    next_cursor: str | None
