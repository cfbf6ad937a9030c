"""Takes the lines of a log from its bytes, without building a tree of them."""

from typing import NamedTuple

from sessiond.session.dialects.home_format import PROBE_BYTES, is_home_format
from sessiond.session.tree import entries
from sessiond.session.tree.batches import MORE_FOLLOWS
from sessiond.session.tree.tree import HEADER, Tree
from sessiond.session.union.comparable import lines_in

_MARKED_END = MORE_FOLLOWS + b"\n"


class WholeLog(NamedTuple):
    """The bytes of a log up to the end of its header, and its lines after it, without the marks of batches."""

    head: bytes
    lines: bytes


def whole_log(data: bytes, session_id: str) -> WholeLog | None:
    """Return the lines of a log if its bytes show that each of them counts; else None.

    None means that a tree is necessary: the log has a torn line or an incomplete batch at its end, no header of this
    session and of the current version at its beginning, or it may be another program's.
    """
    if not data.endswith(b"\n") or data.endswith(_MARKED_END) or not is_home_format(data[:PROBE_BYTES]):
        return None
    tree = Tree()
    tree.read(data[: data.find(b"\n", data.find(b"\n") + 1) + 1])  # a title line may be before the header
    tree.finish()
    header = tree.header
    if header is None or header.id != session_id or tree.version != entries.CURRENT_VERSION:
        return None
    if tree.kind(0) != HEADER:
        return None
    end = tree.span(0)[1]
    lines = data[end:]
    if _MARKED_END in lines:
        lines = b"".join(line + b"\n" for line in lines_in(lines))
    return WholeLog(data[:end], lines)
