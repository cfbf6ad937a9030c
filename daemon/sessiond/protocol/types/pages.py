"""A session as a page that people read: its rows as safe HTML, in parts, and the document that shows them."""

from typing import Annotated

import msgspec
from msgspec import Meta

from sessiond.protocol.types.shared import After, LogId, Params, SessionId, Wire


class PageParams(Params, frozen=True):
    """Read the rows of a session's page behind a line: what `page/document` shows, and `sessiond view`.

    A part ends after `limit` rows or about 512 KiB. Ask again with `after` set to the `logId` and `through` of the
    result until `through` is `seq`; and when something was appended, again. So every row comes once, and every mark
    that changed one that came before. If the session has another log now, the error is `cursorExpired`: read it from
    the beginning.
    """

    session_id: SessionId  # the whole id of the session
    after: After | None = None  # the position behind which the rows begin; default: the beginning
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 500  # rows of the part


class PageFigures(Wire, frozen=True):
    """What the whole tree is made of; `cost` is in the currency of who wrote it down."""

    messages: int  # of user and assistant, as in lists
    tool_calls: int
    tokens: int
    cost: float
    models: list[str]


class PageSession(Wire, frozen=True):
    """What the head of a page says of its session."""

    session_id: str
    cwd: str
    created_at: str
    figures: PageFigures
    title: str | None = None
    tags: list[str] = msgspec.field(default_factory=list)
    parent_session: str | None = None
    leaf_id: str | None = None


class PageRow(Wire, frozen=True):
    """One entry on a page. `body` is HTML that is safe to insert: it holds no script and fetches nothing.

    All else is text. `shown` has one bit for each filter of `session/tree`, the lowest for `default`.
    """

    id: str
    parent_id: str | None
    type: str
    preview: str
    shown: int
    heading: str
    role: str | None = None
    timestamp: str | None = None
    label: str | None = None
    facts: list[str] = msgspec.field(default_factory=list)  # model, tokens, cost, how it ended
    body: str | None = None


class PageMark(Wire, frozen=True):
    """A row that came before and is marked otherwise now: its label, null for none, and what filters show of it."""

    id: str
    label: str | None
    shown: int


class PageResult(Wire, frozen=True):
    """Rows in the order of the log, and rows of former parts that have another label now."""

    session: PageSession
    rows: list[PageRow]
    marks: list[PageMark]
    log_id: LogId  # of the log that the seqs are of
    through: int  # the seq up to which this tells: that of the next `after`
    seq: int  # of the newest line


class PageDocumentParams(Params, frozen=True):
    """Get the document in which an editor's webview shows the rows of `session/page`.

    It fits the rows of the same daemon, whatever the version of the editor's extension: ask again after attaching to
    another. Its policy lets nothing run but what bears `nonce`, and nothing be fetched.
    """

    nonce: Annotated[str, Meta(pattern=r"^[A-Za-z0-9+/_-]{16,128}={0,2}$")]  # of the webview's policy


class PageDocumentResult(Wire, frozen=True):
    """The document; how it and its host speak is said under [`page/document`](#pagedocument)."""

    html: str
