"""The lines of a new session that is cut from a path of another one, or copied from all of it.

Labels are taken out of the path and written again at its end; an entry below a label becomes a child of the entry
before it. Moves of the leaf are left out. All other lines stay byte for byte, except for a parent that was taken out
and for the record of the command that wrote the line, which belongs to the source (decision 0020).
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
    """What a fork shall be called, and the time of that as ISO 8601."""

    text: str
    set_at: str


def fork_lines(
    tree: Tree, leaf_row: int, read: Read, *, header: bytes, new_id: Callable[[], str],
    title: Title | None = None, is_new_title: bool = True,
) -> Steps[list[bytes]]:  # fmt: skip
    """Complete lines: the given header, the path to a row, and the labels of what lies on it.

    The session's title and tags come along as far as they were set on the path; a header may say more. `title` is
    set at the end of the path by an entry, which pi needs; one that is not `is_new_title` only if no entry of the
    path sets a title. Labels are those at the time of the call.
    """
    return _fork_lines(
        tree, leaf_row, read, dict(tree.labels), header, new_id, title, is_new_title=is_new_title
    )


def _fork_lines(
    tree: Tree, leaf_row: int, read: Read, labels: Mapping[str, Label], header: bytes, new_id: Callable[[], str],
    title: Title | None, *, is_new_title: bool,
) -> Steps[list[bytes]]:  # fmt: skip
    path = yield from steps.path(tree, leaf_row)
    kept: list[int] = []
    kept_ids: set[str] = set()
    stands_for: dict[str, str] = {}  # the id of an entry taken out -> that of the kept one after it
    taken_out: list[str] = []
    for row in path:
        entry_id = tree.id(row) or ""
        if tree.kind(row) in (_LABEL, LEAF):
            taken_out.append(entry_id)
        else:
            for gone in taken_out:
                stands_for[gone] = entry_id
            taken_out.clear()
            kept.append(row)
            kept_ids.add(entry_id)
        if len(kept) % steps.ROWS_A_STEP == 0:
            yield
    written = [header.rstrip(b"\r\n") + b"\n"]
    above, has_title = NONE, False
    for batch in steps.batches(tree, kept):
        for row, entry in zip(batch, read(batch), strict=True):
            if above == NONE or tree.parent(row) != above:
                entry = _hung_on(entry, None if above == NONE else tree.id(above))
            if tree.kind(row) == _COMPACTION:
                entry = _keeping(entry, stands_for)
            has_title = has_title or tree.kind(row) in _TITLES
            written.append(_taken_over(entry))
            above = row
        yield
    last_id = None if above == NONE else tree.id(above)
    if title is not None and (is_new_title or not has_title):
        title_id = new_id()
        written.append(title_line(title, title_id, last_id))
        last_id = title_id
    written += yield from _labels(labels, kept_ids, last_id, read, new_id)
    return written


def copied_lines(
    tree: Tree, read: Read, *, header: bytes, new_id: Callable[[], str], title: Title | None = None
) -> Steps[list[bytes]]:
    """Complete lines: the given header, and every entry of the session as it is at the time of the call.

    The entries keep their ids, their order and, but for the commands that wrote them, their bytes, labels and moves of
    the leaf included, so that the copy has the same tree and the same leaf. Lines that are no entries are left out.
    `title` is set by an entry at the leaf.
    """
    return _copied_lines(tree, tree.committed, tree.leaf_id, read, header, new_id, title)


def _copied_lines(
    tree: Tree, count: int, leaf_id: str | None, read: Read, header: bytes, new_id: Callable[[], str],
    title: Title | None,
) -> Steps[list[bytes]]:  # fmt: skip
    kept: list[int] = []
    for row in range(count):
        if tree.is_entry(row):
            kept.append(row)
        if row % steps.ROWS_A_STEP == 0:
            yield
    written = [header.rstrip(b"\r\n") + b"\n"]
    for batch in steps.batches(tree, kept):
        written += map(_taken_over, read(batch))
        yield
    if title is not None:
        written.append(title_line(title, new_id(), leaf_id))
    return written


def title_line(title: Title, entry_id: str, parent_id: str | None) -> bytes:
    """Return the line that says the title of a session to pi, which does not read the header's."""
    entry = {
        "type": "session_info", "id": entry_id, "parentId": parent_id, "timestamp": title.set_at,
        "name": title.text,
    }  # fmt: skip
    return lines.dumps(entry) + b"\n"


class _Place(msgspec.Struct, rename="camel"):
    parent_id: Any = None
    first_kept_entry_id: Any = None
    timestamp: Any = None


_place = msgspec.json.Decoder(_Place)


def _taken_over(entry: bytes) -> bytes:
    """The line of an entry in another session, which does not answer for the commands of this one."""
    return payloads.without_field(entry, COMMAND_FIELD) + b"\n"


def _hung_on(entry: bytes, parent_id: str | None) -> bytes:
    place = payloads.part(_place, entry)
    if place is not None and place.parent_id == parent_id:
        return entry
    return bytes(payloads.with_field(entry, "parentId", parent_id))


def _keeping(entry: bytes, stands_for: dict[str, str]) -> bytes:
    """A compaction whose first kept entry was taken out keeps from the next one on."""
    place = payloads.part(_place, entry)
    first_kept = place.first_kept_entry_id if place is not None else None
    if not isinstance(first_kept, str) or first_kept not in stands_for:
        return entry
    return bytes(payloads.with_field(entry, "firstKeptEntryId", stands_for[first_kept]))


def _labels(
    labels: Mapping[str, Label],
    on_path: set[str],
    parent_id: str | None,
    read: Read,
    new_id: Callable[[], str],
) -> Steps[list[bytes]]:
    """The labels in force on these entries, in the order they were first set, with their times."""
    written = []
    for target_id, label in labels.items():
        if target_id not in on_path:
            continue
        place = payloads.part(_place, read([label.row])[0])
        entry_id = new_id()
        line = {
            "type": "label", "id": entry_id, "parentId": parent_id,
            "timestamp": place.timestamp if place is not None else None,
            "targetId": target_id, "label": label.text,
        }  # fmt: skip
        written.append(lines.dumps(line) + b"\n")
        parent_id = entry_id
        yield
    return written
