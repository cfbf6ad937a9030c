"""Builds the log of a new session from an imported one, and finds entries that an existing session lacks."""

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
from sessiond.session.tree.header_title import with_title_space
from sessiond.session.tree.rows import LogRows
from sessiond.session.tree.steps import Read
from sessiond.session.tree.tree import Tree

_CUSTOM: Final = KIND["custom"]
"""The kind of an entry that stores an entry which could not be appended unchanged."""
_WITHOUT_ORDER: Final = frozenset(("nova",))
"""Dialects that store a state: entries of an earlier state need not be in a later one."""


@dataclass(frozen=True, slots=True)
class NewLog:
    """A complete log, and the blobs that it names."""

    log: bytes
    blobs: dict[str, bytes]


def candidates(imported: Imported, path: str) -> list[str]:
    """Return the ids that the session may get here, the preferred one first. The last id is unique to this path."""
    own = session_ids(imported.dialect, imported.source_id)
    return own + session_ids(imported.dialect, f"{imported.source_id}\0{path}")[-1:]


def is_import_of(tree: Tree, read: Read, imported: Imported) -> bool:
    """Return whether an existing session was imported from this file or from an earlier state of it.

    Two files may name the same session and have different content under the same ids; they are two sessions. The
    content of user messages is compared. Other content may differ, because another version of a reader may convert it
    in another way.
    """
    if tree.any_row(origin_id(imported.dialect, imported.source_id)) is None:
        return False
    if imported.dialect in _WITHOUT_ORDER:
        return True
    first, *others = (it for it in imported.entries[1 : imported.conversation_count + 1])
    if tree.any_row(first.id) is None:
        return False
    return all(_has_same_content(tree, read, it) for it in (first, *others))


def _has_same_content(tree: Tree, read: Read, it: ImportedEntry) -> bool:
    row = tree.row(it.id)
    if row is None or tree.kind(row) == _CUSTOM:
        return True
    if tree.kind(row) != KIND_OF[it.type]:
        return False
    if it.role is not None and tree.role(row) != ROLE_OF[it.role]:
        return False
    if tree.role(row) != USER:
        return True
    stored, line = read([row])[0], it.line
    as_stored, as_read = [stored], [line]
    if extract_blobs.may_need_extraction(line):
        as_read += [extract_blobs.extract(line, images=images).draft for images in (False, True)]
    if restore_blobs.may_refer_to_blobs(
        line
    ):  # the stored line may have the image inline: its hash equals that of the reference
        as_stored.append(extract_blobs.extract(stored).draft)
    stored_contents = [_content(it) for it in as_stored]
    return any(_content(it) in stored_contents for it in as_read)


def _content(entry: bytes) -> object:
    try:
        return fields.mapping(lines.loads(entry).get("message")).get("content")
    except lines.NotAnEntry:
        return None


def _nothing(_digest: str) -> None:
    """The default `find`: there are no blobs."""


def new_log(
    imported: Imported,
    session_id: str,
    cwd: str,
    *,
    images: bool = False,
    find: restore_blobs.Find = _nothing,
    title_space: bool = True,
) -> NewLog:
    """Build the log of a new session: header, entries, and a leaf line if the last entry is not the leaf.

    Args:
        imported: The imported session.
        session_id: The id of the new session.
        cwd: The working directory for the header.
        images: Whether images are stored as blobs. If not, blobs that `find` returns are put back into the lines.
        find: Returns the bytes of a blob by digest, or None.
        title_space: Whether the header has space for a later title.
    """
    header = entries.Header(
        version=entries.CURRENT_VERSION, id=session_id, timestamp=imported.timestamp, cwd=lines.valid_text(cwd),
        title=lines.valid_text(imported.title), parent_session=lines.valid_text(parent_session(imported)),
        tags=[lines.valid_text(tag) for tag in imported.tags] or None,
    )  # fmt: skip
    blobs: dict[str, bytes] = {}
    first = msgspec.json.encode(header)
    written = [with_title_space(first) if title_space else first]
    for it in imported.entries:
        whole_line = restore_blobs.restore_images(it.line, find)
        line = it.line if images else whole_line
        if extract_blobs.may_need_extraction(line, images=images):
            line, found = extract_blobs.extract(line, images=images)
            blobs |= found
        written.append(line)
    if imported.entries[-1].id != imported.leaf:
        written.append(_leaf_line(imported))
    return NewLog(b"\n".join(written) + b"\n", blobs)


def parent_session(imported: Imported) -> str | None:
    """Return the parent session by the id that it has here once it is imported."""
    parent = imported.parent_source
    if parent is None or imported.dialect in ("pi", "pi4"):
        return parent
    return session_ids(imported.dialect, parent)[0]


def missing(imported: Imported, rows: LogRows) -> list[ImportedEntry]:
    """Return the entries that a session does not have yet, parents before children."""
    return [it for it in imported.entries if rows.any_row(it.id) is None]


def as_preserved(it: ImportedEntry, dialect: str, reason: str) -> bytes:
    """Return a custom entry in the same place, with the line of an entry that could not be appended unchanged."""
    data = {"origin": dialect, "line": 0, "reason": reason, "raw": lines.presentable(it.line).decode()}
    return fields.dumps(
        {"type": "custom", "id": it.id, "parentId": it.parent_id, "customType": IMPORT_TYPE, "data": data}
    )


def _leaf_line(imported: Imported) -> bytes:
    """Return the line that sets the leaf, in the form that the hub writes."""
    name = f"leaf-{fields.digest(imported.leaf or '', str(len(imported.entries)))}"
    return fields.dumps(
        {
            "type": "leaf", "id": name, "parentId": imported.leaf, "timestamp": imported.timestamp,
            "targetId": imported.leaf,
        }
    )  # fmt: skip
