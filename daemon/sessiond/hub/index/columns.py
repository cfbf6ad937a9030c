"""The columns of the table `files`: how the facts of a log are stored, and the columns that lists show."""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

import msgspec

from sessiond.hub import session_info
from sessiond.hub.index.facts import LogFacts
from sessiond.hub.index.list_changes import ListRow
from sessiond.protocol import types as t
from sessiond.store.records import Stored
from sessiond.unicode import valid_unicode

COLUMNS: Final = (
    "ref", "identity", "stamp", "head", "draft", "provisional", "session_id", "cwd", "updated", "created",
    "title", "filter_text", "tags", "agent", "automated", "origin_id", "lineage_root", "size", "info", "off_path",
)  # fmt: skip
FACTS: Final = ", ".join(COLUMNS)
LISTED: Final = ", ".join(ListRow._fields)
_LISTED_COLUMNS: Final = itemgetter(*(COLUMNS.index(name) for name in ListRow._fields))
_DRAFT: Final = COLUMNS.index("draft")


class FileRow(NamedTuple):
    """The part of a row of the table `files` that is kept in memory."""

    id: int
    stamp: str
    identity: str
    head: bytes
    indexed_bytes: int
    indexed_rows: int
    tail: bytes


def as_key(ref: str) -> bytes:
    """Encode a ref as the database stores it."""
    return ref.encode("utf-8", "surrogateescape")


def as_ref(key: bytes) -> str:
    """Decode a ref that `as_key` encoded."""
    return key.decode("utf-8", "surrogateescape")


def title_key(title: str | None, first_prompt: str | None) -> str:
    """Return the sort key of a list by title."""
    return (title or first_prompt or "").casefold()


def filter_text(*parts: str | None) -> str:
    """Return the text that the query of a list searches, from the parts that a session has."""
    return "\n".join(part for part in parts if part).casefold()


def storable(columns: list[object], labels: Iterable[tuple[str, str]]) -> list[object]:
    """Return the columns unchanged. Raises `UnicodeEncodeError` now instead of in the middle of a transaction."""
    for value in (*columns, *(text for label in labels for text in label)):
        if isinstance(value, str):
            value.encode()
    return columns


def columns_of(facts: LogFacts) -> list[object]:
    """Return the columns of a file. `draft` is None if it holds no session."""
    stored, session = facts.stored, facts.listed
    file_columns: list[object] = [as_key(stored.ref), identity_of(stored), stamp_of(stored), facts.head]
    if session is None:
        return [
            *file_columns,
            None,
            0,
            valid_unicode(stored.session_id),
            "",
            "",
            "",
            "",
            "",
            "[]",
            "",
            0,
            "",
            "",
            stored.size,
            b"",
            b"[]",
        ]
    listed = listing_columns(session) | {"size": stored.size}
    return [*file_columns, *listed.values(), facts.off_path]


def listing_columns(session: t.ListedSession) -> dict[str, object]:
    """Return the columns of a session's list row, in their order."""
    agent = "" if session.origin is None else session.origin.agent
    return {
        "draft": int(session.is_draft), "provisional": int(session.provisional), "session_id": session.session_id,
        "cwd": session.cwd, "updated": session.updated_at,
        "created": session.created_at, "title": title_key(session.title, session.first_prompt),
        "filter_text": filter_text(session.session_id, session.title, session.first_prompt, session.cwd, agent),
        "tags": msgspec.json.encode(session.tags).decode(), "agent": agent,
        "automated": int(session.origin is not None and session.origin.automated), "origin_id": origin_id_of(session),
        "lineage_root": lineage_root_of(session),
        "size": session.size_bytes,
        "info": session_info.as_json(session),
    }  # fmt: skip


def origin_id_of(session: t.ListedSession) -> str:
    """Return the id by which an agent knows a session; "" for one of no agent, or for a sub-agent."""
    return "" if session.origin is None or "/" in session.origin.session_id else session.origin.session_id


def lineage_root_of(session: t.ListedSession) -> str:
    """Return the id of the first session in the chain of hand-overs that leads to this one."""
    lineage = None if session.origin is None else session.origin.lineage
    return lineage[0].session_id if isinstance(lineage, list) and lineage else session.session_id


def list_row(columns: Sequence[object]) -> ListRow | None:
    """Return the columns of a row that lists show; None if its file holds no session."""
    return None if columns[_DRAFT] is None else ListRow._make(_LISTED_COLUMNS(columns))


def stamp_of(stored: Stored) -> str:
    """Return a text that changes whenever the file changes."""
    return ".".join(map(str, stored.stamp))


def identity_of(stored: Stored) -> str:
    """Return a text that does not change when the file is renamed."""
    return ".".join(map(str, stored.identity))
