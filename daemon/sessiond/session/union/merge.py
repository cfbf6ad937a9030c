"""The merge rule: the content of a session after both of its copies have been extended (decision 0052).

Each copy has the *common* lines of both, and lines of its own. A line is about a subject: every entry about
the leaf, and some about the title, a label, the tags or the settings. If only one copy has own lines about a subject,
its lines decide, with any clocks: the other copy receives these lines, and the last line decides. If both have,
this module decides, and writes one line for each such subject. The line depends on nothing but the two sets of own
lines, so both copies get the same bytes, and a later sync finds nothing to do.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from sessiond.session.content import fields
from sessiond.session.tree import entries, lines as tree_lines
from sessiond.session.union.comparable import LineSum

_ID_DIGITS: Final = 16
_LEAF: Final = "leaf"
_TITLE: Final = "title"
_TAGS: Final = "tags"
_SETTINGS: Final = "settings"


class Statement(NamedTuple):
    """A statement about a subject: `value` is a title, a label, tags or settings. The later of two is greater."""

    timestamp: str
    id: str
    value: object


@dataclass(slots=True)
class OwnLines:
    """The statements of the lines that only one copy has.

    Attributes:
        lines: The lines, in log order, as `comparable` returns them.
        said: The last statement about each subject except the leaf. A label's subject is its target.
        parents: The parent of each entry.
        last: The timestamp and the id of the last entry, the last that speaks about the leaf; None without one.
    """

    lines: Sequence[bytes]
    said: dict[tuple[str, str], Statement] = field(default_factory=dict)
    parents: dict[str, str | None] = field(default_factory=dict)
    last: tuple[str, str] | None = None


def read_own(lines: Sequence[bytes]) -> OwnLines:
    """Read the statements of lines. A line without an entry has none."""
    own = OwnLines(lines)
    for line in lines:
        try:
            entry = tree_lines.loads(line)
        except tree_lines.NotAnEntry:
            continue
        entry_id, kind = entry.get("id"), entry.get("type")
        if not isinstance(entry_id, str) or not isinstance(kind, str):
            continue
        parent, timestamp = entry.get("parentId"), entry.get("timestamp")
        own.parents[entry_id] = parent if isinstance(parent, str) else None
        stamp = timestamp if isinstance(timestamp, str) else ""
        own.last = stamp, entry_id
        said = _statement(line)
        if said is not None:
            subject, value = said
            own.said[subject] = Statement(stamp, entry_id, value)
    return own


def _statement(line: bytes) -> tuple[tuple[str, str], object] | None:
    """Return the subject of a line, other than the leaf, and the statement of the line about it."""
    match entries.payload_of(line):
        case entries.LabelEntry(target_id=target, label=text):
            return ("label", target), text or None
        case entries.SessionInfoEntry(name=name):
            return (_TITLE, ""), (name or "").strip() or None
        case entries.TitleChangeEntry(title=name):
            return (_TITLE, ""), name.strip() or None
        case entries.CustomEntry(custom_type=entries.TAGS_TYPE, data={"tags": list(tags)}):
            return (_TAGS, ""), [tag for tag in tags if isinstance(tag, str)]
        case entries.CustomEntry(custom_type=entries.SETTINGS_TYPE, data=dict(data)):
            return (_SETTINGS, ""), data
    return None


def tags_in(line: bytes) -> list[str] | None:
    """Return the tags that a line sets; None if it sets none."""
    said = _statement(line)
    return said[1] if said is not None and said[0] == (_TAGS, "") and isinstance(said[1], list) else None


def merge(
    here: OwnLines,
    there: OwnLines,
    leaf_here: str | None,
    leaf_there: str | None,
    *,
    common_tags: Sequence[str],
    is_above: Callable[[str | None, str | None], bool],
) -> list[bytes]:
    """Return the lines that both copies get after the own lines of the other, for what both spoke about.

    If one of two leaves is an ancestor of the other, the deeper one is taken, else that of the copy that wrote last.
    Of two titles, labels or settings, the later one is taken. Tags that either copy removed are removed, and those that
    either added are added. The result does not depend on which copy is `here`. It is empty if no subject has own lines
    in both copies. The line that sets the leaf is the last one, because every line moves the leaf.

    Args:
        here: The own lines of one copy.
        there: Those of the other.
        leaf_here: The id of the leaf of one copy; None before the first entry.
        leaf_there: That of the other.
        common_tags: The tags that the common lines set.
        is_above: Whether an entry is another entry or one of its ancestors, in the union of the copies.
    """
    if here.last is None or there.last is None:
        return []
    digest = LineSum()
    digest.add(here.lines)
    digest.add(there.lines)
    if leaf_here == leaf_there:
        leaf, moved_at = leaf_here, max(here.last, there.last)[0]
    elif is_above(leaf_here, leaf_there):
        leaf, moved_at = leaf_there, there.last[0]
    elif is_above(leaf_there, leaf_here) or here.last > there.last:
        leaf, moved_at = leaf_here, here.last[0]
    else:
        leaf, moved_at = leaf_there, there.last[0]
    written: list[bytes] = []
    for subject in sorted(here.said.keys() & there.said.keys()):
        mine, theirs = here.said[subject], there.said[subject]
        later = max(mine, theirs, key=lambda said: (said.timestamp, said.id))
        if mine.value == theirs.value:
            continue
        value = later.value
        if subject[0] == _TAGS:
            value = _merged_tags(common_tags, _texts(mine.value), _texts(theirs.value))
        written.append(_line(digest.digest, subject, value, later.timestamp, leaf))
    written.append(_line(digest.digest, (_LEAF, ""), leaf, moved_at, leaf))
    return written


def _merged_tags(common: Sequence[str], here: Sequence[str], there: Sequence[str]) -> list[str]:
    """Return the common tags without those that either copy removed, and with those that either added, sorted."""
    removed = {tag for tag in common if tag not in here or tag not in there}
    return sorted({*common, *here, *there} - removed)


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _line(digest: str, subject: tuple[str, str], value: object, timestamp: str, leaf: str | None) -> bytes:
    """Return the line that both copies get for a subject."""
    name = hashlib.sha256("\0".join((digest, *subject)).encode("utf-8", "surrogatepass")).hexdigest()
    entry: dict[str, object] = {
        "type": "custom", "id": name[:_ID_DIGITS], "parentId": leaf, "timestamp": timestamp
    }  # fmt: skip
    match subject:
        case ("leaf", _):
            entry |= {"type": "leaf", "targetId": value}
        case ("title", _):
            entry |= {"type": "session_info", "name": value or ""}
        case ("label", target):
            entry |= {"type": "label", "targetId": target} | ({"label": value} if value else {})
        case ("tags", _):
            entry |= {"customType": entries.TAGS_TYPE, "data": {"tags": value}}
        case _:
            entry |= {"customType": entries.SETTINGS_TYPE, "data": value}
    return fields.dumps(entry)


def ancestry(parents: Iterable[dict[str, str | None]]) -> Callable[[str | None, str | None], bool]:
    """Return the function `is_above` of `merge` for the parents of all entries of two copies, by id."""
    union: dict[str, str | None] = {}
    for some in parents:
        union |= some

    def is_above(upper: str | None, lower: str | None) -> bool:
        walked: set[str] = set()
        while lower is not None and lower != upper and lower not in walked:
            walked.add(lower)
            lower = union.get(lower)
        return lower == upper

    return is_above
