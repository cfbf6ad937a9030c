"""Writes the home format, v3: the entries unchanged, under a header that any v3 reader accepts."""

from collections.abc import Iterable, Iterator
from typing import Any

from sessiond.session.content import fields
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.tree import entries, lines


def to_jsonl(whole: ExportedSession, losses: ConversionLosses) -> bytes:
    """Return the contents of the file. Nothing is lost."""
    return b"".join(jsonl_lines(whole, whole.entries))


def jsonl_lines(
    whole: ExportedSession, entries_: Iterable[dict[str, Any]], *, ends_at_last: bool = False
) -> Iterator[bytes]:
    """Yield the lines of the file, each with its newline, one for each of the entries that are iterated over.

    Args:
        whole: The session. Its own entries are not used.
        entries_: The entries.
        ends_at_last: Whether the leaf is the last entry; otherwise it is that of `whole`.
    """
    header = {
        "type": "session", "version": entries.CURRENT_VERSION, "id": whole.session_id,
        "timestamp": whole.timestamp, "cwd": whole.cwd, "title": whole.title,
        "parentSession": whole.parent_session, "tags": list(whole.tags) or None,
    }  # fmt: skip
    yield fields.dumps({name: value for name, value in header.items() if value is not None}) + b"\n"
    last: dict[str, Any] = {}
    for last in entries_:
        yield fields.dumps(last) + b"\n"
    leaf = fields.text(last.get("id")) if ends_at_last else whole.leaf
    moved = last.get("targetId") if last.get("type") == "leaf" else last.get("id")
    if moved != leaf:
        mark = {
            "type": "leaf", "id": f"leaf-{fields.digest(leaf or '')[:8]}", "parentId": leaf,
            "timestamp": last.get("timestamp"), "targetId": leaf,
        }  # fmt: skip
        yield lines.dumps(mark) + b"\n"
