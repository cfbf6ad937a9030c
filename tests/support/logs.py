"""Session logs made of short calls, `log(header(), user("hi"), assistant("yo"))`; a log as the core reads it.

Entries are numbered: the first one is `e1`, its child `e2` and so on. Each is a child of the previous one unless it
says `parent=`. Times are one second apart.
"""

import itertools
import json  # noqa: TID251  (tests write lines that msgspec refuses to write)
from collections.abc import Sequence
from typing import Any

from sessiond.session.context import context
from sessiond.session.tree import steps
from sessiond.session.tree.tree import Tree

SESSION_ID = "5e55104d-0000-4000-8000-000000000001"
SAME = object()
"""The parent of an entry that is a child of the previous one."""

Line = dict[str, Any]


def header(**fields: Any) -> Line:
    known = {
        "type": "session",
        "version": 3,
        "id": SESSION_ID,
        "timestamp": time_of(0),
        "cwd": "/home/dev/clock",
    }
    return {name: value for name, value in (known | fields).items() if value is not SAME}


def entry(type: str, *, id: Any = SAME, parent: Any = SAME, **fields: Any) -> Line:
    return {"type": type, "id": id, "parentId": parent, "timestamp": SAME, **fields}


def message(role: str, content: Any, *, id: Any = SAME, parent: Any = SAME, **fields: Any) -> Line:
    return entry("message", id=id, parent=parent, message={"role": role, "content": content, **fields})


def user(text: Any, **fields: Any) -> Line:
    return message("user", text, **fields)


def assistant(text: Any, **fields: Any) -> Line:
    blocks = [{"type": "text", "text": text}] if isinstance(text, str) else text
    return message("assistant", blocks, **fields)


def tool_call(name: str, arguments: dict[str, Any], *, call: str = "call-1") -> dict[str, Any]:
    return {"type": "toolCall", "id": call, "name": name, "arguments": arguments}


def tool_result(text: str, *, call: str = "call-1", name: str = "read", **fields: Any) -> Line:
    blocks = [{"type": "text", "text": text}]
    return message("toolResult", blocks, toolCallId=call, toolName=name, **fields)


def label(target: str, text: str | None, **fields: Any) -> Line:
    return entry("label", targetId=target, label=text, **fields)


def leaf(target: str | None, **fields: Any) -> Line:
    return entry("leaf", targetId=target, **{"parent": target, **fields})


def compaction(summary: Any, first_kept: Any, **fields: Any) -> Line:
    known = {"summary": summary, "firstKeptEntryId": first_kept, "tokensBefore": 42}
    return entry("compaction", **(known | fields))


def time_of(second: int) -> str:
    return f"2026-03-01T08:{second // 60:02}:{second % 60:02}.000Z"


def log(*lines: Line | bytes) -> bytes:
    """The bytes of a log; a line that is given as bytes is used unchanged."""
    written, above = [], None
    numbers = itertools.count(1)
    for second, line in enumerate(lines):
        if isinstance(line, bytes):
            written.append(line)
            continue
        if line["type"] != "session":
            given = f"e{next(numbers)}"
            line = line | {
                "id": given if line["id"] is SAME else line["id"],
                "parentId": above if line["parentId"] is SAME else line["parentId"],
                "timestamp": time_of(second) if line["timestamp"] is SAME else line["timestamp"],
            }
            above = line["id"]
        written.append(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    return b"".join(written)


class Loaded:
    """A log in the form of the core: its tree, and a function `read` like that of a store."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.tree = Tree()
        self.tree.read(data)
        self.tree.finish()
        self.lines_read = 0

    def read(self, rows: Sequence[int]) -> list[bytes]:
        self.lines_read += len(rows)
        return [self.tree.entry(row, self.data[slice(*self.tree.span(row))]) for row in rows]

    def row(self, entry_id: str) -> int:
        row = self.tree.row(entry_id)
        assert row is not None, f"there is no entry {entry_id}"
        return row

    def ids(self, rows: Sequence[int]) -> list[str | None]:
        return [self.tree.id(row) for row in rows]

    def entries(self) -> list[dict[str, Any]]:
        rows = [row for row in range(1, len(self.tree)) if self.tree.type(row) != "bad"]
        return [json.loads(entry) for entry in self.read(rows)]

    def context(self, leaf_id: str | None = None) -> context.Context:
        row = self.tree.leaf if leaf_id is None else self.row(leaf_id)
        return steps.run(context.build_context(self.tree, row, self.read))


def loaded(*lines: Line | bytes) -> Loaded:
    return Loaded(log(*lines))
