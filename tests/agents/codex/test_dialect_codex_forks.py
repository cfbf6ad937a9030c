"""Forks of Codex that do not repeat the history of their source: it comes from the rollout of the source."""

from pathlib import Path
from typing import Any

import pytest

from sessiond.agents.codex import forks as codex_forks, history as codex_history
from sessiond.agents.companions import Companions
from sessiond.hub.transfer import foreign_files
from sessiond.session.content import fields
from sessiond.session.dialects.import_builder import Imported
from support.dialect_files import SESSION, codex, event, meta, said
from support.dialects import entries, jsonl

FORK = "22222222-3333-4444-8555-666666666666"
SECOND_FORK = "33333333-3333-4444-8555-666666666666"
USAGE = {"input_tokens": 10, "output_tokens": 1, "total_tokens": 11}


def numbered(first: int, second: int, *lines: dict[str, Any]) -> list[dict[str, Any]]:
    """Return lines with ordinals from the first one on, and with times."""
    return [
        {**line, "timestamp": f"2026-01-01T00:{second:02}:{place:02}.000Z", "ordinal": first + place}
        for place, line in enumerate(lines)
    ]


def request(response: str, thread: str) -> dict[str, Any]:
    payload = {"thread_id": thread, "response_id": response, "usage": USAGE, "thread_token_usage": USAGE}
    return codex("token_usage_record", payload)


def forked(thread: str, source: str, end: int, **more: Any) -> dict[str, Any]:
    base = {"thread_id": source, "end_ordinal_exclusive": end, "end_byte_offset": 0}
    return meta(id=thread, forked_from_id=source, history_base=base, **more)


def rollout(home: Path, thread: str, *lines: dict[str, Any], day: str = "2026/01/01") -> Path:
    path = home / "sessions" / day / f"rollout-2026-01-01T00-00-00-{thread}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(jsonl(*lines))
    return path


def source_lines() -> list[dict[str, Any]]:
    context = codex("turn_context", {"model": "m", "cwd": "/work"})
    name = event("thread_name_updated", thread_name="Of the source")
    first = [context, said("user", "one"), said("assistant", "first"), request("resp_1", SESSION), name]
    later = [said("user", "not in the fork"), said("assistant", "no"), request("resp_2", SESSION)]
    return numbered(0, 0, meta(), *first, *later)


def fork_lines() -> list[dict[str, Any]]:
    own = [said("user", "two"), said("assistant", "second"), request("resp_3", FORK)]
    return numbered(6, 10, forked(FORK, SESSION, 6), *own)


def second_fork_lines() -> list[dict[str, Any]]:
    return numbered(10, 20, forked(SECOND_FORK, FORK, 10), said("user", "three"), said("assistant", "third"))


def read(path: Path) -> Imported:
    return foreign_files.read(str(path), None, Companions()).imported


def said_in(session: Imported) -> list[str]:
    """Return the texts of the messages on the path to the leaf."""
    by_id = {entry["id"]: entry for entry in entries(session)}
    found: list[str] = []
    at = session.leaf
    while at is not None:
        if by_id[at]["type"] == "message":
            content = by_id[at]["message"]["content"]
            found.append(content if isinstance(content, str) else content[0]["text"])
        at = by_id[at]["parentId"]
    return found[::-1]


def test_a_fork_begins_with_what_its_source_had_said_by_then(tmp_path: Path) -> None:
    rollout(tmp_path, SESSION, *source_lines())
    session = read(rollout(tmp_path, FORK, *fork_lines(), day="2026/02/03"))
    assert said_in(session) == ["one", "first", "two", "second"]
    assert (session.source_id, session.parent_source, session.title) == (FORK, SESSION, None)
    assert not session.report.problems


def test_every_line_of_the_fork_itself_is_kept(tmp_path: Path) -> None:
    rollout(tmp_path, SESSION, *source_lines())
    head, *rest = fork_lines()
    strange = codex("strange", {"a": 1})
    context = codex("turn_context", {"model": "m", "cwd": "/work"})
    lines = [head, *numbered(7, 9, context, strange), *rest]
    kept = read(rollout(tmp_path, FORK, *lines)).report.preserved
    assert kept == {"turn_context": 1, "strange": 1}


def test_a_fork_of_a_fork_begins_with_both_histories(tmp_path: Path) -> None:
    rollout(tmp_path, SESSION, *source_lines())
    rollout(tmp_path, FORK, *fork_lines())
    session = read(rollout(tmp_path, SECOND_FORK, *second_fork_lines()))
    assert said_in(session) == ["one", "first", "two", "second", "three", "third"]


def test_the_requests_of_the_source_have_the_names_that_they_have_there(tmp_path: Path) -> None:
    source = rollout(tmp_path, SESSION, *source_lines())
    fork = rollout(tmp_path, FORK, *fork_lines())
    names = [
        [entry["requestKey"] for entry in entries(read(path)) if entry["type"] == "model_usage"]
        for path in (source, fork)
    ]
    assert names == [
        [f"{SESSION}/resp_1", f"{SESSION}/resp_2"], [f"{SESSION}/resp_1", f"{FORK}/resp_3"],
    ]  # fmt: skip


@pytest.mark.parametrize("missing", [SESSION, FORK])
def test_a_fork_whose_source_is_nowhere_names_it(missing: str, tmp_path: Path) -> None:
    rollout(tmp_path, SESSION, *source_lines())
    rollout(tmp_path, FORK, *fork_lines())
    rollout(tmp_path, missing).unlink()
    session = read(rollout(tmp_path, SECOND_FORK, *second_fork_lines()))
    assert said_in(session)[-2:] == ["three", "third"]
    assert "one" not in said_in(session)
    assert [missing in problem.message for problem in session.report.problems] == [True]
    assert session.parent_source == FORK


def test_a_source_in_the_archive_is_found(tmp_path: Path) -> None:
    source = rollout(tmp_path, SESSION, *source_lines())
    fork = rollout(tmp_path, FORK, *fork_lines())
    (tmp_path / "archived_sessions").mkdir()
    source.rename(tmp_path / "archived_sessions" / source.name)
    assert said_in(read(fork))[0] == "one"


def test_forks_that_name_each_other_end(tmp_path: Path) -> None:
    rollout(tmp_path, SESSION, *numbered(0, 0, forked(SESSION, FORK, 9), said("user", "one")))
    session = read(rollout(tmp_path, FORK, *fork_lines()))
    assert said_in(session)[-1] == "second"
    assert session.report.problems


def test_the_size_of_the_history_is_known_before_it_is_read(tmp_path: Path) -> None:
    source = rollout(tmp_path, SESSION, *source_lines())
    head, *rest = fork_lines()
    head["payload"]["history_base"]["end_byte_offset"] = 5_000_000
    assert codex_forks.inherited_size(str(rollout(tmp_path, FORK, head, *rest))) == 5_000_000
    assert codex_forks.inherited_size(str(source)) == 0
    assert codex_forks.inherited_size(str(tmp_path / "rollout-gone.jsonl")) == 0


@pytest.mark.parametrize("base", [
    None, "x", {}, {"thread_id": "../x", "end_ordinal_exclusive": -1}, {"thread_id": 1, "end_ordinal_exclusive": 1},
    {"thread_id": SESSION, "end_ordinal_exclusive": True},
])  # fmt: skip
def test_a_strange_base_stops_nothing(base: Any, tmp_path: Path) -> None:
    lines = numbered(0, 0, meta(id=FORK, history_base=base), said("user", "two"))
    assert said_in(read(rollout(tmp_path, FORK, *lines))) == ["two"]


def test_a_damaged_line_of_the_source_ends_no_history(tmp_path: Path) -> None:
    first, *rest = source_lines()
    path = rollout(tmp_path, SESSION)
    path.write_bytes(jsonl(first) + b"}{\n\xff\n" + jsonl(*rest))
    session = read(rollout(tmp_path, FORK, *fork_lines()))
    assert said_in(session) == ["one", "first", "two", "second"]
    assert not session.report.problems


def test_lines_before_an_ordinal_are_those_before_the_first_that_has_it_or_a_later_one() -> None:
    lines = [
        fields.dumps(item) + b"\n" for item in ({"ordinal": 0}, {}, {"ordinal": "1"}, {"ordinal": 3}, {})
    ]
    data = b"".join(lines)
    assert codex_history.before(data, 2) == b"".join(lines[:3])
    assert codex_history.before(data, 9) == data
    assert codex_history.before(data, 0) == b""
