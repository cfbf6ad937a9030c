"""A file that grows: every prefix of it, imported while it is written, is a part of what the whole becomes."""

import json  # noqa: TID251 - lines are compared as other programs read them
from pathlib import Path
from typing import Any

import pytest

from sessiond.agents import known
from sessiond.session.dialects.import_builder import Imported
from support import golden
from support.dialect_files import FILES as FILES_OF_AGENTS
from support.dialects import imported, jsonl

OURS = Path(__file__).resolve().parents[1] / "data" / "dialects"
FILES = [
    *sorted(OURS.glob("*.jsonl")),
    *sorted((OURS.parent / "agents").glob("*.jsonl")),
    *sorted((golden.samples() / "agents").glob("*.jsonl")),
    *sorted((golden.samples() / "pi-golden").glob("*/*.jsonl")),
]


def said(session: Imported) -> dict[str, tuple[str | None, Any]]:
    found = {entry.id: (entry.parent_id, json.loads(entry.line)) for entry in session.entries}
    for name, (_, entry) in found.items():
        if name.startswith(("origin-", "raw-", "line-", "title-")) and entry["type"] != "message":
            entry.pop("timestamp")  # a line that has none gets that of a line near it
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.name[:40]}")
def test_a_growing_file_only_adds(file: Any) -> None:
    data = file.read_bytes()
    whole = said(imported(data))
    position = data.find(b"\n") + 1
    while 0 < position < len(data):
        if known.detect(data[:position]) is None:
            position = data.find(b"\n", position) + 1
            continue
        so_far = imported(data[:position], growing=True)
        part = said(so_far) if so_far.conversation_count else {}
        for name, (parent, entry) in part.items():
            assert name in whole, f"{name} is gone when the file grows behind byte {position}"
            assert whole[name] == (parent, entry)
        position = data.find(b"\n", position) + 1 or len(data)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.name[:40]}")
def test_every_file_is_whole_and_says_what_became_of_each_line(file: Any) -> None:
    data = file.read_bytes()
    session = imported(data)
    ids = [entry.id for entry in session.entries]
    assert len(ids) == len(set(ids))
    seen: set[str | None] = {None}
    for entry in session.entries:
        assert entry.parent_id in seen, f"{entry.id} comes before its parent"
        seen.add(entry.id)
    assert session.leaf in seen
    account = session.report
    assert sum(account.converted.values()) + sum(account.preserved.values()) >= data.count(b"\n")


@pytest.mark.parametrize("agent", ["pi", "qwen", "copilot"])
def test_a_line_that_is_there_twice_is_one_entry_and_moves_no_leaf(agent: str) -> None:
    lines = FILES_OF_AGENTS[agent]
    once = imported(jsonl(*lines))
    for line in lines:
        twice = imported(jsonl(*lines, line))
        assert twice.conversation_count == once.conversation_count, line
        assert twice.leaf == once.leaf, line
