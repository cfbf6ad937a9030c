"""Views of a session for people: its page, the document that shows the page, and one entry as Markdown."""

from typing import Annotated

import msgspec
from msgspec import Meta

from sessiond.protocol.types.shared import After, EntryId, LogId, Params, SessionId, SessionOrigin, Wire


class ViewPageParams(Params, frozen=True):
    """Read the rows of a session's page after a position, as `view/document` and `sessiond view` show them.

    A part ends after `limit` rows or about 512 KiB. The client repeats the request with `after` set to the `logId` and
    `toSeq` of the result until `toSeq` equals `lastSeq`, and again after an append. It then receives every row once,
    and a mark for each earlier row that changed. If the session has another log now, the request fails with
    `cursorExpired`; the client then reads from the beginning.
    """

    session_id: SessionId  # the session's full id
    after: After | None = None  # the position after which the rows begin; default: the beginning
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 500  # maximum number of rows in the part


class PageFigures(Wire, frozen=True):
    """Totals of the whole tree. `cost` is in the currency of the program that recorded it."""

    message_count: int  # user and assistant messages, as in lists
    tool_call_count: int  # tool calls of all messages
    tokens: int  # tokens that the providers reported
    cost: float  # the sum of all recorded costs
    models: list[str]  # the models of all messages


class PageSession(Wire, frozen=True):
    """The session data in the head of a page."""

    session_id: str  # the session's full id
    cwd: str  # the folder of the session
    created_at: str  # ISO 8601, UTC
    figures: PageFigures  # totals of the whole tree
    title: str | None = None  # at most 200 characters
    tags: list[str] = msgspec.field(default_factory=list)  # the tags of the session
    parent_session_id: str | None = None  # the session that it was made from; null if not known
    parent_path: str | None = None  # the file of that session; null if the header names no file
    leaf_id: str | None = None  # the leaf; null for before the first entry
    origin: SessionOrigin | None = (
        None  # the session of an agent that it was read from; null if it began here
    )


class PageRow(Wire, frozen=True):
    """One entry on a page. `body` is HTML that is safe to insert: it contains no script and loads no resource.

    All other fields are plain text. `filterMask` has a bit for each value of `Filter`, in the order of its table: the
    lowest bit is `default`.
    """

    id: str  # the id of the entry
    parent_id: str | None  # the id of its parent; null for a root
    type: str  # the type of the entry
    preview: str  # one line of at most 120 characters
    filter_mask: int  # the filters that show the row
    heading: str  # the heading above the body
    role: str | None = None  # the role of a message
    timestamp: str | None = None  # ISO 8601, UTC, as the entry has it
    label: str | None = None  # the label of the entry
    facts: Annotated[list[str], Meta(max_length=10)] = msgspec.field(
        default_factory=list
    )  # model, tokens, cost, stop reason; lines of a tool result
    body: str | None = None  # HTML; null for an entry without content for people
    call_ids: list[str] = msgspec.field(default_factory=list)  # the ids of the tool calls in `body`, in order
    result_of: str | None = None  # the id of the tool call that this result answers


class PageMark(Wire, frozen=True):
    """A change of an earlier row: its label now, null for none, and the filters that show it."""

    id: str  # the id of the entry
    label: str | None  # its label now
    filter_mask: int  # the filters that show its row now


class ViewPageResult(Wire, frozen=True):
    """Rows in log order, and the earlier rows whose label has changed."""

    session: PageSession  # the head of the page
    rows: Annotated[list[PageRow], Meta(max_length=10_000)]  # at most `limit`
    marks: Annotated[list[PageMark], Meta(max_length=10_000)]  # at most one for each row
    log_id: LogId  # the log of the seqs
    to_seq: int  # the seq up to which this part reaches, for the next `after`
    last_seq: int  # the seq of the last line of the log


class ViewPathParams(Params, frozen=True):
    """Read the rows of the path around an entry, to show them at once while `view/page` reads a long session.

    The path is that to the session's leaf; for an entry on another branch, it is the path to that entry. The result
    has at most `limit` rows and about 512 KiB: as many on the leaf's side of the entry as on the other one, or more on
    one side if the path ends on the other.
    """

    session_id: SessionId  # the session's full id
    entry_id: EntryId | None = None  # the entry; default: the leaf
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100  # maximum number of rows


class ViewPathResult(Wire, frozen=True):
    """Consecutive rows of the path, root side first. None if the path is empty."""

    session: PageSession  # the head of the page
    rows: Annotated[list[PageRow], Meta(max_length=1000)]  # at most `limit`


class ViewDocumentParams(Params, frozen=True):
    """Return the document in which an editor's webview shows the rows of `view/page`.

    The document fits the rows of the same daemon, whatever the version of the editor's extension. The client requests
    it again after it connects to another daemon. Its content security policy runs only scripts that carry `nonce`, and
    loads no resource.
    """

    nonce: Annotated[str, Meta(pattern=r"^[A-Za-z0-9+/_-]{16,128}={0,2}$")]  # of the webview's policy


class ViewDocumentResult(Wire, frozen=True):
    """The document. [`view/document`](#viewdocument) describes the messages between it and its host."""

    html: str  # a whole HTML document


class ViewEntryParams(Params, frozen=True):
    """Read one entry as a Markdown document for display in an editor.

    All message text is in fences that it cannot close. Cut texts are complete.
    """

    session_id: SessionId  # the session's full id
    entry_id: EntryId  # the id of the entry


class ViewEntryResult(Wire, frozen=True):
    """The document. `uri` names it: `sessiond://session/<session id>/entry/<entry id>.md`, ids percent-encoded."""

    uri: str  # the address of the document
    language_id: str  # always "markdown"
    text: str  # the document
