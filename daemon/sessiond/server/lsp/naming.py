"""Finds the entry at a position in a session file, or the entry that a field there refers to."""

from dataclasses import dataclass

from lsprotocol import types

from sessiond.server.lsp.documents import Document
from sessiond.server.lsp.fields import Field, field_at, own_fields
from sessiond.session.tree.codes import BAD, HEADER
from sessiond.session.tree.references import FIELDS


@dataclass(frozen=True, slots=True)
class Spot:
    """A position: the row of its line, and the text field that it is in, if any."""

    row: int
    raw: bytes
    field: Field | None

    @property
    def names(self) -> str | None:
        """The id of the other entry that the field refers to, or None."""
        return self.field.value if self.field is not None and self.field.name in FIELDS else None


def spot(document: Document, position: types.Position) -> Spot | None:
    """Return the row and the field at a position. None on a line without a row."""
    row = document.row_at(position.line)
    if row is None:
        return None
    raw = document.raw(row)
    return Spot(row, raw, field_at(raw, document.offset(raw, position.character)))


def is_entry(document: Document, row: int) -> bool:
    """Return whether a row is an entry, not the header or a damaged line."""
    return document.tree.kind(row) not in (BAD, HEADER)


def id_range(document: Document, row: int) -> types.Range:
    """Return the range of a row's id. The whole line if the row has no id (version 1)."""
    raw = document.raw(row)
    own = own_fields(raw).get("id")
    if own is None:
        return document.range_of(row)
    return document.range_on(document.line_of(row), raw, own.start, own.end)
