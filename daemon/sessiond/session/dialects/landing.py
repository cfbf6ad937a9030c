"""The lines of a new session out of an imported one, and what a grown one adds to a session that is there."""

from dataclasses import dataclass
from typing import Final

import msgspec

from sessiond.session.content import extract_blobs, fields, restore_blobs
from sessiond.session.dialects.import_builder import (
    IMPORT_TYPE,
    Imported,
    ImportedEntry,
    origin_id,
    session_ids,
)
from sessiond.session.tree import entries, lines
from sessiond.session.tree.codes import KIND, KIND_OF, ROLE_OF, USER
from sessiond.session.tree.header_title import with_room
from sessiond.session.tree.rows import LogRows
from sessiond.session.tree.steps import Read
from sessiond.session.tree.tree import Tree

_KEPT: Final = KIND["custom"]
"""What an entry became that could not be appended as it was."""
_WITHOUT_ORDER: Final = frozenset(("nova",))
"""Dialects that say how things stand: nothing of an earlier state need be in a later one."""


@dataclass(frozen=True, slots=True)
class Landed:
    """A log that can be stored as it is, and the blobs that it names."""

    log: bytes
    blobs: dict[str, bytes]


def candidates(imported: Imported, path: str) -> list[str]:
    """The ids that the session may have here, the best first; the last is for nothing but this very file."""
    own = session_ids(imported.dialect, imported.source_id)
    return own + session_ids(imported.dialect, f"{imported.source_id}\0{path}")[-1:]


def is_of(tree: Tree, read: Read, imported: Imported) -> bool:
    """Whether a session that is there was imported from this file, or from an earlier state of it.

    Files that share a name for their session but say other things under the same ids are of two sessions. What
    people said is compared; the rest may be written otherwise by another version of a reader.
    """
    if tree.any_row(origin_id(imported.dialect, imported.source_id)) is None:
        return False
    if imported.dialect in _WITHOUT_ORDER:
        return True
    first, *others = (it for it in imported.entries[1 : imported.said + 1])
    if tree.any_row(first.id) is None:
        return False
    return all(_says_the_same(tree, read, it) for it in (first, *others))


def _says_the_same(tree: Tree, read: Read, it: ImportedEntry) -> bool:
    row = tree.row(it.id)
    if row is None or tree.kind(row) == _KEPT:
        return True
    if tree.kind(row) != KIND_OF[it.type]:
        return False
    if it.role is not None and tree.role(row) != ROLE_OF[it.role]:
        return False
    if tree.role(row) != USER:
        return True
    stored, line = read([row])[0], it.line
    as_stored, as_read = [stored], [line]
    if extract_blobs.may_hold(line):
        as_read += [extract_blobs.take_out(line, images=images).draft for images in (False, True)]
    if restore_blobs.names_blobs(
        line
    ):  # and here the image may stand in the line: its hash is that of the reference
        as_stored.append(extract_blobs.take_out(stored).draft)
    said = [_content(it) for it in as_stored]
    return any(_content(it) in said for it in as_read)


def _content(entry: bytes) -> object:
    try:
        return fields.mapping(lines.loads(entry).get("message")).get("content")
    except lines.NotAnEntry:
        return None


def _nothing(_digest: str) -> None:
    """There are no blobs."""


def new_log(
    imported: Imported,
    session_id: str,
    cwd: str,
    *,
    images: bool = False,
    find: restore_blobs.Find = _nothing,
) -> Landed:
    """The whole log of a new session: header, entries and, where the last line is not the leaf, a leaf line.

    `images`: images are stored as blobs; else those that `find` has are put into the lines that name them.
    """
    header = entries.Header(
        version=entries.CURRENT_VERSION, id=session_id, timestamp=imported.timestamp, cwd=lines.sound(cwd),
        title=lines.sound(imported.title), parent_session=lines.sound(parent_session(imported)),
        tags=[lines.sound(tag) for tag in imported.tags] or None,
    )  # fmt: skip
    blobs: dict[str, bytes] = {}
    written = [with_room(msgspec.json.encode(header))]
    for it in imported.entries:
        whole_line = restore_blobs.put_back_images(it.line, find)
        line = it.line if images else whole_line
        if extract_blobs.may_hold(line, images=images):
            line, found = extract_blobs.take_out(line, images=images)
            blobs |= found
        written.append(line)
    if imported.entries[-1].id != imported.leaf:
        written.append(_leaf_line(imported))
    return Landed(b"\n".join(written) + b"\n", blobs)


def parent_session(imported: Imported) -> str | None:
    """Which session it comes from, by the id that one has here once it is imported."""
    parent = imported.parent_source
    if parent is None or imported.dialect in ("pi", "pi4"):
        return parent
    return session_ids(imported.dialect, parent)[0]


def missing(imported: Imported, rows: LogRows) -> list[ImportedEntry]:
    """The entries that a session does not have yet, parents first."""
    return [it for it in imported.entries if rows.any_row(it.id) is None]


def as_kept(it: ImportedEntry, dialect: str, reason: str) -> bytes:
    """An entry that could not be appended as it is: its line kept raw, in its place in the tree."""
    data = {"origin": dialect, "line": 0, "reason": reason, "raw": lines.presentable(it.line).decode()}
    return fields.dumps(
        {"type": "custom", "id": it.id, "parentId": it.parent_id, "customType": IMPORT_TYPE, "data": data}
    )


def _leaf_line(imported: Imported) -> bytes:
    """The line that says where the leaf is, written as `hub.placing` writes it."""
    name = f"leaf-{fields.digest(imported.leaf or '', str(len(imported.entries)))}"
    return fields.dumps(
        {
            "type": "leaf", "id": name, "parentId": imported.leaf, "timestamp": imported.timestamp,
            "targetId": imported.leaf,
        }
    )  # fmt: skip
