"""Writes the home format, v3: the entries unchanged, under a header that any v3 reader accepts."""

from sessiond.session.content import fields
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.tree import entries, lines


def to_jsonl(whole: ExportedSession, losses: ConversionLosses) -> bytes:
    """Return the contents of the file. Nothing is lost."""
    header = {
        "type": "session", "version": entries.CURRENT_VERSION, "id": whole.session_id,
        "timestamp": whole.timestamp, "cwd": whole.cwd, "title": whole.title,
        "parentSession": whole.parent_session, "tags": list(whole.tags) or None,
    }  # fmt: skip
    written = [fields.dumps({name: value for name, value in header.items() if value is not None})]
    written += [fields.dumps(entry) for entry in whole.entries]
    last = whole.entries[-1] if whole.entries else {}
    moved = last.get("targetId") if last.get("type") == "leaf" else last.get("id")
    if moved != whole.leaf:
        leaf = {
            "type": "leaf", "id": f"leaf-{fields.digest(whole.leaf or '')[:8]}", "parentId": whole.leaf,
            "timestamp": last.get("timestamp"), "targetId": whole.leaf,
        }  # fmt: skip
        written.append(lines.dumps(leaf))
    return b"\n".join(written) + b"\n"
