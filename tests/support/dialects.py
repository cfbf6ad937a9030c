"""Foreign session files in tests: functions that read and compare them."""

import json  # noqa: TID251 - files of other programs are written as they write them
from pathlib import Path
from typing import Any

from sessiond.agents import known
from sessiond.session.dialects import imported_log
from sessiond.session.dialects.import_builder import IMPORT_TYPE, Imported
from sessiond.session.dialects.source import Source
from sessiond.session.tree import entries as entries_of_home
from support import golden
from support.logs import Loaded

WRITTEN_AT = "2026-03-01T08:00:00.000Z"


def jsonl(*lines: Any) -> bytes:
    """Lines as a file; a line that is given as bytes is used unchanged."""
    return b"".join(
        (line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines
    )


def imported(data: bytes, *, name: str = "session.jsonl", growing: bool = False, **beside: Any) -> Imported:
    """Return a file as a session; its dialect is detected."""
    dialect = known.detect_whole(data)
    assert dialect is not None, "no dialect was detected"
    return known.DIALECTS[dialect].read(Source(name, data, WRITTEN_AT, growing, beside))


def entries(session: Imported) -> list[dict[str, Any]]:
    return [json.loads(each_entry.line) for each_entry in session.entries]


def entry(session: Imported, entry_id: str) -> dict[str, Any]:
    [found] = [line for line in entries(session) if line["id"] == entry_id]
    return found


def is_beside(item: dict[str, Any]) -> bool:
    """Whether an entry belongs to the chain beside the conversation."""
    return (
        item["id"].startswith(("origin-", "raw-"))
        or item["type"] in ("session_info", "label")
        or (item.get("customType") in ("sessiond.tags", "sessiond.leafMoved"))
    )


def tree(session: Imported) -> list[tuple[str, str | None, str]]:
    """The conversation: id, parent and type or role of each entry."""
    return [
        (line["id"], line["parentId"], line.get("message", {}).get("role", line["type"]))
        for line in entries(session)
        if not is_beside(line)
    ]


def kept(session: Imported) -> dict[int, str]:
    """The lines that were kept unchanged, by number."""
    found = [line["data"] for line in entries(session) if line.get("customType") == IMPORT_TYPE]
    return {data["line"]: data.get("raw", data.get("rawHex")) for data in found}


def origin(session: Imported) -> dict[str, Any]:
    [found] = [
        line["data"] for line in entries(session) if line.get("customType") == entries_of_home.ORIGIN_TYPE
    ]
    return dict(found)


def path(session: Imported) -> list[str]:
    """The ids from the root to the leaf."""
    parents = {each_entry.id: each_entry.parent_id for each_entry in session.entries}
    walk: list[str] = []
    at = session.leaf
    while at is not None:
        walk.append(at)
        at = parents[at]
    return walk[::-1]


def as_log(session: Imported) -> Loaded:
    """The log of a session as it would be stored."""
    return Loaded(imported_log.new_log(session, "session-1", "/work").log)


def samples() -> dict[str, Path]:
    """Session files of other programs that lie beside the project, by name; empty if there are no such files."""
    return {file.name: file for file in sorted((golden.samples() / "agents").glob("*.jsonl"))}
