"""A parent that is nowhere in a file cuts nothing off: the line before it on the same chain takes its place."""

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sessiond.session.dialects import linking
from sessiond.session.dialects.import_builder import Imported
from sessiond.session.dialects.linking import Linked
from sessiond.session.dialects.source import SourceLine
from support.dialects import imported, jsonl, path

AT = "2026-01-01T00:00:0{}.000Z"


def home(name: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    message = {"role": "user", "content": name}
    return {
        "type": "message", "id": name, "parentId": parent, "timestamp": AT.format(1), "message": message, **fields
    }  # fmt: skip


def operator(name: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    message = {"role": "user", "content": name}
    return {
        "type": "message",
        "id": name,
        "parent_id": parent,
        "timestamp": 1.5,
        "message": message,
        **fields,
    }


def go(name: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    message = {"role": "user", "content": [{"type": "text", "text": {"content": name}}]}
    return {
        "type": "message", "id": name, "parent_id": parent, "timestamp": AT.format(1), "message": message, **fields
    }  # fmt: skip


def qwen(name: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    return {
        "uuid": name, "parentUuid": parent, "sessionId": "s", "type": "user", "timestamp": AT.format(1),
        "message": {"role": "user", "parts": [{"text": name}]}, **fields,
    }  # fmt: skip


def pi4(name: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    return {
        "kind": "entry", "lane": "main", "id": name, "parentId": parent, "type": "message",
        "message": {"role": "user", "content": name}, **fields,
    }  # fmt: skip


HEADERS: dict[Any, list[dict[str, Any]]] = {
    home: [{"type": "session", "version": 3, "id": "s", "timestamp": AT.format(0), "cwd": "/work"}],
    operator: [{"type": "session_header", "id": "s", "timestamp": 1.0, "cwd": "/work"}],
    go: [{"type": "session", "version": 1, "id": "s", "timestamp": AT.format(0), "cwd": "/work"}],
    qwen: [],
    pi4: [{"kind": "header", "id": "s", "cwd": "/work"}],
}
WRITERS = pytest.mark.parametrize("line", list(HEADERS), ids=lambda line: line.__name__)


def read(line: Any, *rest: dict[str, Any]) -> Imported:
    return imported(jsonl(*HEADERS[line], *rest))


def problem_lines(line: Any, session: Imported) -> list[int]:
    return [problem.line - len(HEADERS[line]) for problem in session.report.problems]


@WRITERS
def test_the_line_before_takes_the_place_of_a_parent_that_was_never_written(line: Any) -> None:
    session = read(line, line("a", None), line("b", "a"), line("c", "lost"), line("d", "c"))
    assert path(session) == ["a", "b", "c", "d"]
    assert problem_lines(line, session) == [3]


@WRITERS
def test_a_cycle_follows_the_line_before_it(line: Any) -> None:
    session = read(line, line("a", None), line("b", "d"), line("c", "b"), line("d", "c"))
    assert path(session) == ["a", "b", "c", "d"]
    assert problem_lines(line, session) == [2]


@WRITERS
def test_an_entry_that_names_itself_follows_the_line_before_it(line: Any) -> None:
    session = read(line, line("a", None), line("b", "b"), line("c", "b"))
    assert path(session) == ["a", "b", "c"]
    assert problem_lines(line, session) == [2]


@WRITERS
def test_a_second_root_stays_a_root_and_so_does_the_first_line(line: Any) -> None:
    assert path(read(line, line("a", None), line("b", "a"), line("c", None))) == ["c"]
    session = read(line, line("a", "of another file"), line("b", "a"))
    assert path(session) == ["a", "b"]
    assert problem_lines(line, session) == [1]


def test_a_line_without_a_type_is_a_link_for_its_children() -> None:
    session = read(home, home("a", None), home("side", "a"), home("x", "a", type=None), home("b", "x"))
    assert path(session) == ["a", "b"]
    other = pi4("x", "a", kind="checkpoint")
    assert path(read(pi4, pi4("a", None), pi4("side", "a"), other, pi4("b", "x"))) == ["a", "b"]
    unknown = qwen("x", "a", type="telemetry")
    assert path(read(qwen, qwen("a", None), qwen("side", "a"), unknown, qwen("b", "x"))) == ["a", "b"]


def test_an_entry_of_go_behind_the_line_that_marks_the_leaf_of_an_export_continues_at_the_leaf() -> None:
    mark = {
        "type": "custom", "id": "mark", "parent_id": "b", "timestamp": AT.format(1),
        "custom": {"custom_type": "sessiond.leaf", "data": {}},
    }  # fmt: skip
    session = read(go, go("a", None), go("b", "a"), go("side", "a"), mark, go("c", "mark"))
    assert path(session) == ["a", "b", "c"]


def test_lines_of_a_sub_agent_between_do_not_take_the_place_of_a_missing_parent() -> None:
    aside = {"isSidechain": True, "agentId": "x"}
    session = read(
        qwen, qwen("a", None), qwen("s1", None, **aside), qwen("b", "lost"), qwen("s2", "gone", **aside)
    )
    parents = {entry.id: entry.parent_id for entry in session.entries}
    assert (parents["b"], parents["s2"]) == ("a", "s1")


names = st.sampled_from("abcdefg")


@settings(max_examples=300)
@given(st.lists(st.tuples(names, names | st.none(), st.sampled_from(["", "aside"])), max_size=9))
def test_every_line_is_placed_once_behind_its_parent_and_only_first_lines_become_roots(
    lines: list[tuple[str, str | None, str]],
) -> None:
    linked = [
        Linked(SourceLine(number, b"", {}), {}, name, parent, chain)
        for number, (name, parent, chain) in enumerate(lines)
    ]
    placed = list(linking.in_order(linked))
    assert sorted(entry.linked.line.number for entry in placed) == list(range(len(lines)))
    seen: set[int] = set()
    for entry in placed:
        assert entry.parent is None or entry.parent.line.number in seen
        seen.add(entry.linked.line.number)
        if entry.parent is None and entry.linked.parent is not None:
            earlier = [
                other for other in linked[: entry.linked.line.number] if other.chain == entry.linked.chain
            ]
            assert not any(other.line.number in seen for other in earlier)
            assert entry.problem is not None
        if entry.problem is None and entry.parent is not None:
            assert entry.parent.id == entry.linked.parent
