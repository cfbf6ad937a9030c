"""Full-text search over all sessions."""

from typing import Annotated

from msgspec import Meta

from sessiond.protocol.types.shared import EntryId, Params, SessionId, Wire


class SearchParams(Params, frozen=True):
    """Find entries by their words, in all sessions, on all branches, compacted away or not.

    All of `query` must be found in one entry: words, `"phrases in quotes"` and beginnings`*` of words, without
    regard to case and accents. Chinese, Japanese, Korean and Thai are found by the character, so that any part of a
    text can be asked for. Searched are messages, tool calls and results (the first 16,000 characters), summaries,
    titles and labels; not reasoning, not ephemeral sessions. The filters come before the limit: `cwd` and `tag` are
    the session's, `label` is on the entry, `role` is the message's, `since` and `until` are ISO 8601 times. The best
    hits come first: those that say it often and briefly, new entries before old ones, what was said before what tools
    answered.
    """

    query: Annotated[str, Meta(min_length=1, max_length=1_000)]  # words, phrases and `beginnings*`
    cwd: str | None = None  # only sessions of this folder
    role: str | None = None  # only messages of this role
    tag: str | None = None  # only sessions with this tag
    label: str | None = None  # only entries with this label
    since: str | None = None  # only entries of this time or later, ISO 8601
    until: str | None = None  # only entries of this time or earlier, ISO 8601
    session_id: SessionId | None = None  # only entries of this session
    cursor: str | None = None  # from an earlier result; without it, the first page
    limit: Annotated[int, Meta(ge=1, le=1_000)] = 20  # hits a page


class Hit(Wire, frozen=True):
    """An entry that has what was asked for."""

    session_id: str
    path: str
    title: str | None
    cwd: str
    entry_id: EntryId | None  # null: the title in the header
    seq: int
    type: str
    role: str | None  # of a message
    timestamp: str | None
    snippet: str  # one line of about 160 characters
    ranges: list[tuple[int, int]]  # what was found in it: [start, end) in Unicode code points
    on_path: bool  # lies on the path to the session's leaf
    target_id: str | None = None  # of a label: the entry that it is on


class SearchResult(Wire, frozen=True):
    """A page of hits, best first.

    `unsearched` counts the sessions that the index has not read to their end yet; it is 0 when nothing is missing.
    """

    hits: list[Hit]
    next_cursor: str | None
    unsearched: int
