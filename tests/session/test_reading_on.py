"""Reading on equals reading anew, wherever a file is cut, and whether or not a reader is stored meanwhile."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from sessiond.agents import known
from sessiond.session.dialects.import_builder import Imported, ImportedEntry
from sessiond.session.dialects.source import Source, line_of
from support.dialect_files import FILES
from support.dialects import WRITTEN_AT, imported, jsonl
from support.long_sessions import SESSIONS

Cuts = list[tuple[int, bool]]
"""After how many lines a part ends, and whether the reader is stored there and another one goes on."""


def source(growing: bool) -> Source:
    return Source("session.jsonl", b"", WRITTEN_AT, growing, {"sourcePath": "/work/session.jsonl"})


def read_on(dialect: str, data: bytes, cuts: Cuts) -> tuple[list[ImportedEntry], Imported]:
    """The entries of all parts in order, and the last result.

    As long as nothing is said, the file is no session yet, and is read anew.
    """
    make = known.DIALECTS[dialect].reader
    assert make is not None
    lines = [line_of(number, raw) for number, raw in enumerate(data.split(b"\n")[:-1], 1)]
    reader, start, found = make(source(True), None), 0, list[ImportedEntry]()
    for end, is_stored in [*sorted(cuts), (len(lines), False)]:
        reader.take(lines[start:end])
        assert not reader.is_behind
        start = max(start, end)
        result = reader.result()
        if not found and not result.conversation_count and start < len(lines):
            reader, start = make(source(True), None), 0
            continue
        found += [entry for entry in result.entries if entry.id not in {old.id for old in found}]
        if is_stored and (state := reader.state()) is not None:
            reader = make(source(True), state)
    return found, result


def lasts(entries: Sequence[ImportedEntry]) -> dict[str, tuple[str | None, bytes]]:
    return {entry.id: (entry.parent_id, entry.line) for entry in entries}


def check(dialect: str, data: bytes, cuts: Cuts) -> None:
    found, last = read_on(dialect, data, cuts)
    anew = known.DIALECTS[dialect].read(
        Source("session.jsonl", data, WRITTEN_AT, True, {"sourcePath": "/work/session.jsonl"})
    )
    assert lasts(found) == lasts(anew.entries)
    spoken = {entry.id for entry in anew.entries[1 : anew.conversation_count + 1]}
    assert [entry.id for entry in found if entry.id in spoken] == [
        entry.id for entry in anew.entries if entry.id in spoken
    ]
    assert last.leaf == anew.leaf
    assert last.source_id == anew.source_id


cuts = st.lists(st.tuples(st.integers(0, 400), st.booleans()), max_size=8)


@pytest.mark.parametrize("dialect", SESSIONS)
@given(turns=st.integers(1, 20), where=cuts)
def test_a_long_session_that_is_read_on_equals_one_that_is_read_anew(
    dialect: str, turns: int, where: Cuts
) -> None:
    check(dialect, jsonl(*SESSIONS[dialect](turns)), where)


@pytest.mark.parametrize("dialect", SESSIONS)
def test_a_session_with_huge_lines_that_is_read_line_by_line_equals_one_that_is_read_anew(
    dialect: str,
) -> None:
    lines = SESSIONS[dialect](9, long=110_000)
    check(dialect, jsonl(*lines), [(number, number % 7 == 3) for number in range(len(lines))])


@pytest.mark.parametrize("dialect", SESSIONS)
@given(where=cuts)
def test_a_small_session_with_one_of_each_thing_is_read_on(dialect: str, where: Cuts) -> None:
    check(dialect, jsonl(*FILES[dialect]), where)


@given(dropped=st.sets(st.integers(0, 200), max_size=12), where=cuts)
def test_a_session_that_lacks_lines_is_read_on(dropped: set[int], where: Cuts) -> None:
    """The children of lines that were never written are below the lines before them, wherever the file is cut."""
    lines = [item for number, item in enumerate(SESSIONS["claude-code"](10)) if number not in dropped]
    check("claude-code", jsonl(*lines), where)


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
def test_a_part_of_a_file_of_any_agent_gives_entries_of_the_whole(name: str, data: Any) -> None:
    content = jsonl(*FILES[name])
    whole = {entry.id: entry.parent_id for entry in imported(content).entries}
    part = content[: data.draw(st.integers(1, len(content)))]
    if known.detect(part) is not None:
        so_far = imported(part, growing=True)
        if so_far.conversation_count:
            assert {entry.id: entry.parent_id for entry in so_far.entries}.items() <= whole.items()
