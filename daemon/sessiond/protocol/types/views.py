"""Views of a session for people: its page in parts, the document that shows the page, and one entry as Markdown."""

from typing import Annotated

import msgspec
from msgspec import Meta

from sessiond.protocol.types.shared import After, EntryId, LogId, Params, SessionId, Wire


class ViewPageParams(Params, frozen=True):
    """Read the rows of a session's page after a position, as `view/document` and `sessiond view` show them.

    A part ends after `limit` rows or about 512 KiB. The client repeats the request with `after` set to the `logId` and
    `toSeq` of the result until `toSeq` equals `lastSeq`, and again after an append. It then receives every row once,
    and a mark for each earlier row that changed. If the session has another log now, the request fails with
    `cursorExpired`; the client then reads from the beginning.
    """

    session_id: SessionId  # the full id of the session
    after: After | None = None  # the position after which the rows begin; default: the beginning
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 500  # maximum number of rows in the part


class PageFigures(Wire, frozen=True):
    """Totals of the whole tree. `cost` is in the currency of the program that recorded it."""

    messages: int  # user and assistant messages, as in lists
    tool_calls: int
    tokens: int
    cost: float
    models: list[str]


class PageSession(Wire, frozen=True):
    """The session data in the head of a page."""

    session_id: str
    cwd: str
    created_at: str
    figures: PageFigures
    title: str | None = None
    tags: list[str] = msgspec.field(default_factory=list)
    parent_session: str | None = None
    leaf_id: str | None = None


class PageRow(Wire, frozen=True):
    """One entry on a page. `body` is HTML that is safe to insert: it contains no script and loads no resource.

    All other fields are plain text. `filterMask` has a bit for each value of `Filter`, in the order of its table: the
    lowest bit is `default`.
    """

    id: str
    parent_id: str | None
    type: str
    preview: str
    filter_mask: int
    heading: str
    role: str | None = None
    timestamp: str | None = None
    label: str | None = None
    facts: list[str] = msgspec.field(default_factory=list)  # model, tokens, cost, stop reason
    body: str | None = None


class PageMark(Wire, frozen=True):
    """A change of an earlier row: its label now, null for none, and the filters that show it."""

    id: str
    label: str | None
    filter_mask: int


class ViewPageResult(Wire, frozen=True):
    """Rows in log order, and the earlier rows whose label has changed."""

    session: PageSession
    rows: list[PageRow]
    marks: list[PageMark]
    log_id: LogId  # the log of the seqs
    to_seq: int  # the seq up to which this part reaches, for the next `after`
    last_seq: int  # the seq of the last line of the log


class ViewDocumentParams(Params, frozen=True):
    """Return the document in which an editor's webview shows the rows of `view/page`.

    The document fits the rows of the same daemon, whatever the version of the editor's extension. The client requests
    it again after it connects to another daemon. Its content security policy runs only scripts that carry `nonce`, and
    loads no resource.
    """

    nonce: Annotated[str, Meta(pattern=r"^[A-Za-z0-9+/_-]{16,128}={0,2}$")]  # of the webview's policy


class ViewDocumentResult(Wire, frozen=True):
    """The document. [`view/document`](#viewdocument) describes the messages between it and its host."""

    html: str


class ViewEntryParams(Params, frozen=True):
    """Read one entry as a Markdown document for display in an editor.

    All message text is in fences that it cannot close. Cut texts are complete.
    """

    session_id: SessionId  # the full id of the session
    entry_id: EntryId  # the id of the entry


class ViewEntryResult(Wire, frozen=True):
    """The document. `uri` names it: `sessiond://session/<session id>/entry/<entry id>.md`, ids percent-encoded."""

    uri: str
    language_id: str  # always "markdown"
    text: str
