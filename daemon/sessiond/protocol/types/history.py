"""The history of prompts that people typed, over all sessions."""

from typing import Annotated

from msgspec import Meta

from sessiond.protocol.types.shared import CommandId, Params, Wire

Page = Annotated[int, Meta(ge=1, le=1_000)]


class HistoryAddParams(Params, frozen=True):
    """Add a prompt that was sent to no session to the history.

    User messages of `session/append` are added automatically.

    An empty prompt, or one equal to the previous prompt, is not added. If `[history] enabled` is false, no prompt is
    added.
    """

    prompt: str  # the text
    cwd: str | None = None  # the folder in which it was typed
    command_id: CommandId | None = None  # requests with the same id take effect once


class HistoryAddResult(Wire, frozen=True):
    """Whether the prompt was added."""

    added: bool
    duplicate: bool = False  # an earlier request with this `commandId` took effect


class HistoryRecentParams(Params, frozen=True):
    """Return the most recent prompts, newest first. With `cwd`, only those typed in that folder."""

    cwd: str | None = None  # only prompts of this folder
    cursor: str | None = None  # from an earlier result; default: the first page
    limit: Page = 50  # maximum number of prompts per page


class HistorySearchParams(Params, frozen=True):
    """Find prompts, newest first.

    Each word of `query` matches the beginning of a word of the prompt, or any part of it.
    """

    query: Annotated[str, Meta(max_length=1_000)]  # the words to find
    cwd: str | None = None  # only prompts of this folder
    cursor: str | None = None  # from an earlier result; default: the first page
    limit: Page = 50  # maximum number of prompts per page


class Prompt(Wire, frozen=True):
    """A prompt that a person typed."""

    prompt: str
    created_at: str
    cwd: str | None


class HistoryResult(Wire, frozen=True):
    """A page of prompts. `nextCursor` is null on the last page."""

    prompts: list[Prompt]
    next_cursor: str | None
