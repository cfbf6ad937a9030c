"""Builds the log of a new session from an imported one, and finds entries that an existing session lacks."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from sessiond.session.content import extract_blobs, fields, restore_blobs
from sessiond.session.dialects.import_builder import (
    HOME,
    IMPORT_TYPE,
    Imported,
    ImportedEntry,
    origin_id,
    session_ids,
)
from sessiond.session.formats.build import NO_USAGE
from sessiond.session.tree import entries, lines
from sessiond.session.tree.codes import KIND, KIND_OF, OTHER, ROLE_OF, USER
from sessiond.session.tree.header_title import with_title_space
from sessiond.session.tree.rows import LogRows
from sessiond.session.tree.steps import Read
from sessiond.session.tree.tree import NONE, Tree

_IMPORT: Final = f'"customType":"{IMPORT_TYPE}"'.encode()
_ORIGIN_STATE: Final = f'"customType":"{entries.ORIGIN_STATE_TYPE}"'.encode()
_CUSTOM: Final = KIND["custom"]
"""The kind of an entry that stores an entry that could not be appended unchanged."""


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
    """Return whether an existing session was imported from this file, an earlier state of it, or a copy of it.

    Two files may name the same session and have different content under the same ids, or messages of which none is in
    the other; they are two sessions. A file without messages belongs to any session that it names: its program may have
    added only a context. The content of user messages is compared. Other content may differ, because another version of
    a reader may convert it in another way.
    """
    if tree.any_row(origin_id(imported.dialect, imported.source_id)) is None:
        return False
    if imported.is_state:
        return True
    spoken = imported.entries[1 : imported.conversation_count + 1]
    if imported.has_messages and tree.count_messages() and not tree.has_any([entry.id for entry in spoken]):
        return False
    return all(_has_same_content(tree, read, entry) for entry in spoken)


def _has_same_content(tree: Tree, read: Read, entry: ImportedEntry) -> bool:
    row = tree.row(entry.id)
    if row is None or tree.kind(row) in (_CUSTOM, OTHER):
        return True
    if tree.kind(row) != KIND_OF[entry.type]:
        return False
    if entry.role is not None and tree.role(row) != ROLE_OF[entry.role]:
        return False
    if tree.role(row) != USER:
        return True
    stored, line = read([row])[0], entry.line
    as_stored, as_read = [stored], [line]
    if extract_blobs.may_need_extraction(line):
        as_read += [extract_blobs.extract(line, images=images).draft for images in (False, True)]
    if restore_blobs.may_refer_to_blobs(
        line
    ):  # the stored line may have the image inline: its hash equals that of the reference
        as_stored.append(extract_blobs.extract(stored).draft)
    stored_contents = [_content(line) for line in as_stored]
    return any(_content(line) in stored_contents for line in as_read)


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
    find: restore_blobs.Find = _nothing,
    title_space: bool = True,
) -> NewLog:
    """Build the log of a new session: header, entries, and a leaf line if the last entry is not the leaf.

    Args:
        imported: The imported session.
        session_id: The id of the new session.
        cwd: The working directory for the header.
        find: Returns the bytes of a blob by digest, or None. Images that it returns are put back into the lines.
        title_space: Whether the header has space for a later title.
    """
    blobs: dict[str, bytes] = {}
    written = [header(imported, session_id, cwd, title_space=title_space)]
    for entry in imported.entries:
        stored = with_usage(entry, imported.dialect)
        line = restore_blobs.restore_images(stored, find)
        if extract_blobs.may_need_extraction(line, images=False):
            line, found = extract_blobs.extract(line, images=False)
            blobs |= found
        written.append(line)
    if imported.entries[-1].id != imported.leaf:
        written.append(leaf_line(imported, len(imported.entries)))
    return NewLog(b"\n".join(written) + b"\n", blobs)


def header(imported: Imported, session_id: str, cwd: str, *, title_space: bool) -> bytes:
    """Return the header of a new session. The arguments are those of `new_log`."""
    found = entries.Header(
        version=entries.CURRENT_VERSION, id=session_id, timestamp=imported.timestamp, cwd=lines.valid_text(cwd),
        title=lines.valid_text(imported.title), parent_session=lines.valid_text(parent_session(imported)),
        tags=[lines.valid_text(tag) for tag in imported.tags] or None,
    )  # fmt: skip
    line = msgspec.json.encode(found)
    return with_title_space(line) if title_space else line


def parent_session(imported: Imported) -> str | None:
    """Return the id that the parent session has here after its import."""
    parent = imported.parent_source
    if parent is None or imported.dialect in ("pi", "pi4"):
        return parent
    return session_ids(imported.dialect, parent)[0]


def cut_off(imported: Imported, rows: LogRows) -> int:
    """Return how many messages are roots of a session although the file has others before them.

    Readers of earlier versions cut the history off at a line that they did not know.
    """
    spoken = imported.entries[1 : imported.conversation_count + 1]
    found = (rows.row(entry.id) for entry in spoken if entry.parent_id is not None)
    return sum(row is not None and rows.parent(row) == NONE for row in found)


def without_history(imported: Imported, rows: LogRows) -> Imported:
    """Return a fork without the history of its source, if its session was stored without it.

    Entries never move, so that the history would be a tree of its own.
    """
    spoken = imported.entries[1 : imported.conversation_count + 1]
    there = {entry.id for entry in spoken if rows.any_row(entry.id) is not None}
    if not imported.inherited or not there or there & imported.inherited:
        return imported
    origin, entries = imported.entries[0], [imported.entries[0]]
    count = 0
    for place, entry in enumerate(imported.entries[1:]):
        if entry.id in imported.inherited:
            continue
        is_spoken = place < imported.conversation_count
        count += is_spoken
        if entry.parent_id in imported.inherited:
            entry = _renamed(entry, parentId=None if is_spoken else origin.id)
        entries.append(entry)
    return replace(imported, entries=entries, conversation_count=count, inherited=frozenset())


def lacks_history(tree: Tree, read: Read, imported: Imported) -> bool:
    """Return whether a fork was stored without the history that it has now, and nothing was added to it here.

    Notes of the daemon about the file of the session do not count.
    """
    of_file = {entry.id for entry in imported.entries}
    if tree.origin is None or tree.origin.missing_history is None or not imported.inherited:
        return False
    if any(tree.any_row(entry_id) is not None for entry_id in imported.inherited):
        return False
    others = [row for row in range(1, len(tree)) if tree.id(row) not in of_file]
    return all((tree.id(row) or "").startswith("leaf-") or _ORIGIN_STATE in read([row])[0] for row in others)


def missing(imported: Imported, rows: LogRows) -> list[ImportedEntry]:
    """Return the entries that a session does not have yet, parents before children."""
    return [entry for entry in imported.entries if rows.any_row(entry.id) is None]


def continued(imported: Imported, rows: LogRows) -> Imported:
    """Return a session that has grown with its new messages below those that an existing session has.

    A clock that went back places a new message before others. On a separate branch, it would be in no context.
    """
    if not imported.is_list:
        return imported
    spoken = imported.entries[1 : imported.conversation_count + 1]
    there = [row for entry in spoken if (row := rows.any_row(entry.id)) is not None]
    if not there or len(there) == len(spoken):
        return imported
    tip = rows.id(max(there))
    entries = list(imported.entries)
    for place, entry in enumerate(spoken, 1):
        if rows.any_row(entry.id) is not None:
            continue
        if entry.parent_id != tip:
            entries[place] = _renamed(entry, parentId=tip)
        tip = entry.id
    leaf = tip if imported.leaf == spoken[-1].id else imported.leaf
    return replace(imported, entries=entries, leaf=leaf)


def beside_by_content(imported: Imported, tree: Tree, read: Read, *, is_other: bool) -> Imported:
    """Return an import in which no entry about the session as a whole has the id of a stored entry with other content.

    Such entries have ids from the numbers of their lines, which several files of a session have. If an entry
    differs from the session's entry with its id, it gets an id from its content.

    Args:
        imported: The result of reading a file.
        tree: The session.
        read: Returns its entries by row.
        is_other: Whether the origin of the session is another file. Of the file itself, only lines that are stored
            unchanged and titles are compared: another version of a reader may convert the others in another way.
    """
    entries, names = list(imported.entries), dict[str, str]()
    for place in range(imported.conversation_count + 1, len(entries)):
        entry = below(entries[place], names)
        is_compared = is_other or entry.type == "session_info" or _IMPORT in entry.line
        row = tree.any_row(entry.id) if is_compared else None
        if row is not None and (said := _said(entry.line)) != _said(read([row])[0]):
            names[entry.id] = f"{entry.id[:40]}-{fields.digest(fields.dumps(said).decode())}"
            entry = _renamed(entry, id=names[entry.id])
        entries[place] = entry
    return replace(imported, entries=entries)


def _said(entry: bytes) -> dict[str, object]:
    """Return the content of an entry beside the conversation. For a line stored unchanged, that is the source line."""
    try:
        value = lines.loads(entry)
    except lines.NotAnEntry:
        return {}
    data = fields.mapping(value.get("data"))
    if value.get("customType") == IMPORT_TYPE:
        return {name: data.get(name) for name in ("raw", "rawHex")}
    return fields.without(value, "id", "parentId", "timestamp")


def below(entry: ImportedEntry, names: Mapping[str, str]) -> ImportedEntry:
    """Return an entry below the parent that `names` has for its parent, if it has one."""
    if entry.parent_id is None or entry.parent_id not in names:
        return entry
    return _renamed(entry, parentId=names[entry.parent_id])


def _renamed(entry: ImportedEntry, **ids: str | None) -> ImportedEntry:
    """Return an entry with another `id` or `parentId`."""
    line = fields.dumps({**lines.loads(entry.line), **ids})
    name, parent = ids.get("id") or entry.id, ids.get("parentId", entry.parent_id)
    return ImportedEntry(name, parent, entry.type, line, entry.role)


def with_line(entry: ImportedEntry, line: bytes) -> ImportedEntry:
    """Return an entry with another line."""
    return ImportedEntry(entry.id, entry.parent_id, entry.type, line, entry.role)


def with_usage(imported: ImportedEntry, dialect: str) -> bytes:
    """Return the line of an entry; that of an answer without `usage` gets one of zeros, which peers read unchecked."""
    if imported.role != "assistant" or dialect in HOME or b'"usage"' in imported.line:
        return imported.line
    entry = lines.loads(imported.line)
    return fields.dumps({**entry, "message": {**fields.mapping(entry.get("message")), "usage": NO_USAGE}})


def as_preserved(entry: ImportedEntry, dialect: str, reason: str) -> bytes:
    """Return a custom entry in the same place, with the line of an entry that could not be appended unchanged."""
    data = {"origin": dialect, "line": 0, "reason": reason, "raw": lines.presentable(entry.line).decode()}
    return fields.dumps(
        {
            "type": "custom",
            "id": entry.id,
            "parentId": entry.parent_id,
            "customType": IMPORT_TYPE,
            "data": data,
        }
    )


def leaf_line(imported: Imported, count: int) -> bytes:
    """Return the line that sets the leaf after a number of entries, in the form that the hub writes."""
    name = f"leaf-{fields.digest(imported.leaf or '', str(count))}"
    return fields.dumps(
        {
            "type": "leaf", "id": name, "parentId": imported.leaf, "timestamp": imported.timestamp,
            "targetId": imported.leaf,
        }
    )  # fmt: skip
