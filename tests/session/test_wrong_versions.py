"""A file whose header has version 1, and whose entries have ids and parents, keeps its tree."""

import json  # noqa: TID251 - files of other programs are written as they write them
from pathlib import Path
from typing import Any

import pytest

from sessiond.agents import known
from sessiond.agents.recognition import foreign_program_of
from support.daemons import running, user
from support.dialects import imported, jsonl, kept, path, tree
from support.logs import Loaded, time_of

HEADER = {"type": "session", "id": "sess-123456", "version": 1, "timestamp": time_of(0), "cwd": "/work"}
PARENTS = {"a": None, "b": "a", "c": "a", "d": "c"}


def lines(name: str) -> list[dict[str, Any]]:
    """A tree with two branches, with this name of the field with the parent."""

    def entry(number: int, own: str, parent: str | None) -> dict[str, Any]:
        message = {"role": "user", "content": [{"type": "text", "text": own}]}
        return {"type": "message", "id": own, name: parent, "timestamp": time_of(number), "message": message}

    return [HEADER, *(entry(number, own, parent) for number, (own, parent) in enumerate(PARENTS.items(), 1))]


def go(own: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": {"content": own}}]}


@pytest.mark.parametrize("broken", [{"parent_id": "a"}, {"id": "e", "parentId": "a"}, {"id": "e"}])
def test_a_file_of_the_go_library_with_a_damaged_line_stays_one(broken: dict[str, Any]) -> None:
    data = jsonl(
        *lines("parent_id"), {"type": "message", "timestamp": time_of(9), "message": go("e"), **broken}
    )
    assert known.detect(data) == "go"
    found = foreign_program_of(lambda size: data[:size])
    assert found is not None
    assert found.dialect == "go"
    parents = {name: parent for name, parent, _ in tree(imported(data))}
    assert {name: parents[name] for name in PARENTS} == PARENTS


def test_a_log_with_parents_below_a_header_of_version_1_is_a_tree_and_says_so() -> None:
    log = Loaded(jsonl(*lines("parentId")))
    parents = {entry["id"]: entry["parentId"] for entry in log.entries()}
    assert parents == PARENTS
    assert [problem.kind for problem in log.tree.problems] == ["damagedHeader"]
    assert not log.tree.damaged
    session = imported(jsonl(*lines("parentId")))
    assert {name: parent for name, parent, _ in tree(session)} == PARENTS
    assert session.report.problem_count == 1


def test_entries_without_ids_are_still_those_of_version_1() -> None:
    old = [
        {name: item for name, item in line.items() if name not in ("id", "parentId")}
        for line in lines("parentId")[1:]
    ]
    log = Loaded(jsonl(HEADER, *old))
    assert log.tree.version == 1
    assert len({entry["parentId"] for entry in log.entries()}) == 4
    assert not log.tree.problems


async def test_an_append_to_such_a_log_rewrites_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    file = home / "data" / "sessions" / "--work--" / "2026-03-01T08-00-00-000Z_sess-123456.jsonl"
    file.parent.mkdir(parents=True)
    before = jsonl(*lines("parentId"))
    file.write_bytes(before)
    async with running(home) as daemon:
        peer = await daemon.attach()
        await peer.append("sess-123456", user("more"))
    after = file.read_bytes()
    assert after.startswith(before)
    assert json.loads(after[len(before) :].splitlines()[0])["parentId"] == "d"
    assert sorted(file.name for file in file.parent.iterdir() if file.suffix == ".bak") == []


@pytest.mark.parametrize("growing", [True, False])
def test_a_half_last_line_of_a_go_file_is_reported(growing: bool) -> None:
    data = jsonl(*lines("parent_id")) + b'{"type":"message","id":"e","parent_id":"d","mess'
    session = imported(data, growing=growing)
    assert path(session) == ["a", "c", "d"]
    assert session.report.held_back_count == growing
    assert session.report.problem_count == (not growing)
    assert len(kept(session)) == (not growing)
