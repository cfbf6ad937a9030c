"""Builds the lines of a new session from a path of another session, or from all of it.

The source's labels are removed from the path and appended at its end. An entry below a removed label becomes a child
of the entry above the label. Moves of the leaf are omitted. The files that an agent wrote beside an entry are copied
with it. All other lines are copied byte for byte, except for a removed parent and for the record of the command that
wrote the line, which belongs to the source (decision 0020).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from sessiond.session.tree import lines, payloads, steps
from sessiond.session.tree.entries import COMMAND_FIELD
from sessiond.session.tree.marks import Label
from sessiond.session.tree.steps import Read, Steps
from sessiond.session.tree.tree import KIND, LEAF, NONE, Tree

_LABEL: Final = KIND["label"]
_COMPACTION: Final = KIND["compaction"]
_TITLES: Final = frozenset((KIND["session_info"], KIND["title_change"]))


class Title(NamedTuple):
    """The title of a fork, and when it was set, as ISO 8601."""

    text: str
    set_at: str


def fork_lines(
    tree: Tree, leaf_row: int, read: Read, *, header: bytes, new_id: Callable[[], str],
    title: Title | None = None, is_new_title: bool = True,
) -> Steps[list[bytes]]:  # fmt: skip
    """Return the lines of a fork: the given header, the path to a row, and the labels of the entries on it.

    The fork has the session's title and tags as set on the path. Labels are those at the time of the call.

    Args:
        tree: The tree of the source session.
        leaf_row: The last row of the path.
        read: Returns the entries of rows.
        header: The header of the new session. It may set a title and tags of its own.
        new_id: Returns an unused entry id.
        title: The title to set with an entry at the end of the path. pi reads the title from such an entry only.
        is_new_title: If false, `title` is set only if no entry of the path sets a title.

    """
    return _fork_lines(
        tree, leaf_row, read, dict(tree.labels), header, new_id, title, is_new_title=is_new_title
    )


def _fork_lines(
    tree: Tree, leaf_row: int, read: Read, labels: Mapping[str, Label], header: bytes, new_id: Callable[[], str],
    title: Title | None, *, is_new_title: bool,
) -> Steps[list[bytes]]:  # fmt: skip
    path = yield from steps.path(tree, leaf_row)
    kept_rows: list[int] = []
    kept_ids: set[str] = set()
    replacements: dict[str, str] = {}  # removed id -> id of the next entry that stays
    removed: list[str] = []
    for row in path:
        entry_id = tree.id(row) or ""
        if tree.kind(row) in (_LABEL, LEAF):
            removed.append(entry_id)
        else:
            for removed_id in removed:
                replacements[removed_id] = entry_id
            removed.clear()
            kept_rows.append(row)
            kept_ids.add(entry_id)
        if len(kept_rows) % steps.ROWS_A_STEP == 0:
            yield
    output = [header.rstrip(b"\r\n") + b"\n"]
    previous, has_title = NONE, False
    for batch in steps.batches(tree, kept_rows):
        for row, entry in zip(batch, read(batch), strict=True):
            if previous == NONE or tree.parent(row) != previous:
                entry = _with_parent(entry, None if previous == NONE else tree.id(previous))
            if tree.kind(row) == _COMPACTION:
                entry = _with_first_kept(entry, replacements)
            has_title = has_title or tree.kind(row) in _TITLES
            above = None if previous == NONE else tree.id(previous)
            # Before the entry, so that no file is the last line.
            output += (
                _copied_line(_with_parent(attached, above))
                for attached in read(tree.attachments.get(tree.id(row) or " ", ()))
            )
            output.append(_copied_line(entry))
            previous = row
        yield
    last_id = None if previous == NONE else tree.id(previous)
    if title is not None and (is_new_title or not has_title):
        title_id = new_id()
        output.append(title_line(title, title_id, last_id))
        last_id = title_id
    output += yield from _labels(labels, kept_ids, last_id, read, new_id)
    return output


def copied_lines(
    tree: Tree, read: Read, *, header: bytes, new_id: Callable[[], str], title: Title | None = None
) -> Steps[list[bytes]]:
    """Return the lines of a full copy: the given header, and every entry of the session at the time of the call.

    Entries, including labels and moves of the leaf, have the same ids, order and bytes as in the source, except for
    the records of the commands that wrote them. So the copy has the same tree and the same leaf. Lines that are not
    entries are omitted.

    Args:
        tree: The tree of the source session.
        read: Returns the entries of rows.
        header: The header of the new session.
        new_id: Returns an unused entry id.
        title: The title to set with an entry at the leaf.

    """
    return _copied_lines(tree, tree.committed, tree.leaf_id, read, header, new_id, title)


def _copied_lines(
    tree: Tree, count: int, leaf_id: str | None, read: Read, header: bytes, new_id: Callable[[], str],
    title: Title | None,
) -> Steps[list[bytes]]:  # fmt: skip
    kept_rows: list[int] = []
    for row in range(count):
        if tree.is_entry(row):
            kept_rows.append(row)
        if row % steps.ROWS_A_STEP == 0:
            yield
    output = [header.rstrip(b"\r\n") + b"\n"]
    for batch in steps.batches(tree, kept_rows):
        output += map(_copied_line, read(batch))
        yield
    if title is not None:
        output.append(title_line(title, new_id(), leaf_id))
    return output


def title_line(title: Title, entry_id: str, parent_id: str | None) -> bytes:
    """Return the line that sets a session's title for pi, which does not read the header's title."""
    entry = {
        "type": "session_info", "id": entry_id, "parentId": parent_id, "timestamp": title.set_at,
        "name": title.text,
    }  # fmt: skip
    return lines.dumps(entry) + b"\n"


class _EntryLinks(msgspec.Struct, rename="camel"):
    parent_id: Any = None
    first_kept_entry_id: Any = None
    timestamp: Any = None


_entry_links = msgspec.json.Decoder(_EntryLinks)


def _copied_line(entry: bytes) -> bytes:
    """Return the line of an entry without the record of the command that wrote it in the source session."""
    return payloads.without_field(entry, COMMAND_FIELD) + b"\n"


def _with_parent(entry: bytes, parent_id: str | None) -> bytes:
    links = payloads.part(_entry_links, entry)
    if links is not None and links.parent_id == parent_id:
        return entry
    return bytes(payloads.with_field(entry, "parentId", parent_id))


def _with_first_kept(entry: bytes, replacements: dict[str, str]) -> bytes:
    """Return a compaction whose first kept entry, if removed, is replaced by the next entry that stays."""
    links = payloads.part(_entry_links, entry)
    first_kept = links.first_kept_entry_id if links is not None else None
    if not isinstance(first_kept, str) or first_kept not in replacements:
        return entry
    return bytes(payloads.with_field(entry, "firstKeptEntryId", replacements[first_kept]))


def _labels(
    labels: Mapping[str, Label],
    target_ids: set[str],
    parent_id: str | None,
    read: Read,
    new_id: Callable[[], str],
) -> Steps[list[bytes]]:
    """Return the current labels of these entries, in the order in which they were first set, with their times."""
    output = []
    for target_id, label in labels.items():
        if target_id not in target_ids:
            continue
        links = payloads.part(_entry_links, read([label.row])[0])
        entry_id = new_id()
        line = {
            "type": "label", "id": entry_id, "parentId": parent_id,
            "timestamp": links.timestamp if links is not None else None,
            "targetId": target_id, "label": label.text,
        }  # fmt: skip
        output.append(lines.dumps(line) + b"\n")
        parent_id = entry_id
        yield
    return output
