"""The rows of a page: every entry of a tree with its place and its displayed form."""

from collections.abc import Iterable, Iterator

from sessiond.export.bodies import attached_html, body_of
from sessiond.export.places import PREVIEW_CHARACTERS, RowPlace, place_of
from sessiond.protocol import types as t
from sessiond.session.content import preview
from sessiond.session.content.row_text import row_text
from sessiond.session.tree import lines, steps
from sessiond.session.tree.steps import Read
from sessiond.session.tree.tree import Tree
from sessiond.session.views.outline import Outline


def row_of(place: RowPlace, line: bytes, beside: Iterable[bytes] = ()) -> t.PageRow:
    """Return the row of one entry, with the files that the agent wrote beside it."""
    entry = preview.decoded(line)
    message, type_, at = entry.get("message"), entry.get("type"), entry.get("timestamp")
    role = message.get("role") if isinstance(message, dict) else None
    body = body_of(entry)
    html = body.html + "".join(attached_html(preview.decoded(attached)) for attached in beside)
    return t.PageRow(
        id=place.id, parent_id=place.parent_id,
        type=type_ if isinstance(type_, str) else place.type,
        role=role if isinstance(role, str) else None,
        timestamp=at if isinstance(at, str) else None,
        label=place.label, filter_mask=place.filter_mask,
        preview=row_text(entry, PREVIEW_CHARACTERS),
        heading=body.heading, facts=body.facts, body=html or None,
        call_ids=list(map(lines.valid_text, body.call_ids)),
        result_of=None if body.result_of is None else lines.valid_text(body.result_of),
    )  # fmt: skip


def all_rows(tree: Tree, read: Read) -> Iterator[t.PageRow]:
    """Yield the row of every entry in log order."""
    outline = Outline()
    steps.run(outline.extend(tree, read))
    entries = [row for row in range(1, tree.committed) if tree.is_entry(row)]
    for batch in steps.batches(tree, entries):
        for row, line in zip(batch, read(batch), strict=True):
            place = place_of(tree, outline, row)
            yield row_of(place, line, read(place.attachments))
