"""What a place in a session file is about: an entry, or the one that a field there names."""

from dataclasses import dataclass

from lsprotocol import types

from sessiond.server.lsp.documents import Document
from sessiond.server.lsp.fields import Field, field_at, own_fields
from sessiond.session.tree.codes import BAD, HEADER
from sessiond.session.tree.references import FIELDS


@dataclass(frozen=True, slots=True)
class Spot:
    """A place: the row on its line, and the field of that line it is in, if that says a text."""

    row: int
    raw: bytes
    field: Field | None

    @property
    def names(self) -> str | None:
        """The id of the other entry that is named here."""
        return self.field.value if self.field is not None and self.field.name in FIELDS else None


def spot(document: Document, position: types.Position) -> Spot | None:
    """What is at a position, None on a line that holds nothing."""
    row = document.row_at(position.line)
    if row is None:
        return None
    raw = document.raw(row)
    return Spot(row, raw, field_at(raw, document.offset(raw, position.character)))


def is_entry(document: Document, row: int) -> bool:
    """Whether a row is an entry, not the header or a damaged line."""
    return document.tree.kind(row) not in (BAD, HEADER)


def id_range(document: Document, row: int) -> types.Range:
    """Where a row says its id; its whole line when it does not (version 1)."""
    raw = document.raw(row)
    own = own_fields(raw).get("id")
    if own is None:
        return document.range_of(row)
    return document.range_on(document.line_of(row), raw, own.start, own.end)
