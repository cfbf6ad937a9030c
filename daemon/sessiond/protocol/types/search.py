"""Full-text search over all sessions."""

from typing import Annotated

from msgspec import Meta

from sessiond.protocol.types.shared import (
    AgentName,
    CharacterRange,
    EntryId,
    Params,
    Path,
    SessionId,
    SessionOrigin,
    Wire,
)

Value = Annotated[str, Meta(min_length=1, max_length=1_000)]


class SearchParams(Params, frozen=True):
    """Find entries by their words, in all sessions and on all branches, including compacted entries.

    Every term of `query` must occur in the same entry. A term is a word, a `"quoted phrase"` or the beginning of a
    word (`begin*`). Case and accents are ignored. Chinese, Japanese, Korean and Thai are indexed by character, so any
    part of a text matches. The search covers messages, tool calls and results (the first 16,000 characters),
    summaries, titles and labels. It does not cover reasoning or ephemeral sessions. Filters apply before the limit:
    `cwd`, `project`, `tags` and `agent` filter by session, `labels` by the label on the entry, `roles` by the role of
    the message, `since` and `until` by ISO 8601 time. The best hits come first: entries in which the terms are frequent
    and the text is short, newer entries before older ones, messages before tool results.

    The search does not wait for the index: entries that were stored within the last seconds may be missing if there
    are many of them, and `unsearched` in the result says so. With `waitMs`, the server first reads what followed
    agents have written, and indexes all texts that are stored, for at most that time.
    """

    query: Annotated[str, Meta(min_length=1, max_length=1_000)]  # words, phrases and `beginnings*`
    cwd: str | None = None  # only sessions of this folder
    project: Path | None = None  # only those of the project of this absolute folder
    roles: Annotated[list[Value], Meta(max_length=100)] | None = None  # only messages with one of these roles
    tags: Annotated[list[Value], Meta(max_length=100)] | None = None  # only sessions with all of these tags
    labels: Annotated[list[Value], Meta(max_length=100)] | None = (
        None  # only entries with one of these labels
    )
    since: str | None = None  # only entries of this time or later, ISO 8601
    until: str | None = None  # only entries of this time or earlier, ISO 8601
    agent: AgentName | None = None  # only sessions read from this agent
    session_id: SessionId | None = None  # only entries of this session
    cursor: str | None = None  # from an earlier result; default: none
    wait_ms: Annotated[int, Meta(ge=0, le=60_000)] = 0  # maximum time to wait until all texts are indexed
    limit: Annotated[int, Meta(ge=1, le=1_000)] = 20  # maximum number of hits per page
    redact: bool = False  # remove the secrets that an export removes from snippets and titles


class Hit(Wire, frozen=True):
    """An entry that matches a search."""

    session_id: str  # the session that it is in
    path: str | None  # the file of the session; null if it is in no file
    title: str | None  # the title of the session
    cwd: str  # the folder of the session
    entry_id: EntryId | None  # null if the title in the header matches
    seq: int  # the seq of its line; 0 for the header
    type: str  # the type of the entry
    role: str | None  # only for a message
    timestamp: str | None  # ISO 8601, UTC
    snippet: str  # one line of about 160 characters
    ranges: list[CharacterRange]  # matches in `snippet`, in its order; at most 100
    on_path: bool  # whether it lies on the path to the session's leaf
    labeled_entry_id: str | None = None  # only for a label: the labeled entry
    origin: SessionOrigin | None = None  # the origin of the session; null if it began here
    first_prompt: str | None = None  # the beginning of its first prompt; only if the session has no title


class UnsearchedTexts(Wire, frozen=True):
    """The texts that are not in the index yet. The server indexes them in the background.

    Files of followed agents that the server has not read count, too. An agent whose files the server has not looked at
    yet counts as one session.
    """

    session_count: int  # sessions that are not searched completely
    size_bytes: int  # the bytes of their logs that are not searched


class SearchResult(Wire, frozen=True):
    """A page of hits, best first. If `unsearched.sessionCount` is 0, the result is complete."""

    hits: list[Hit]  # at most `limit`
    next_cursor: str | None  # null at the end
    unsearched: UnsearchedTexts  # texts that are not in the index yet
