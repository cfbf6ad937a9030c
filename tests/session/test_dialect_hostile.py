"""No content of a foreign file is refused: whatever stands in it, a tree comes out, and every line is somewhere."""

import json  # noqa: TID251 - files of other programs are written as they write them
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sessiond.agents import known
from sessiond.session.dialects.import_builder import IMPORT_TYPE, Imported
from sessiond.session.dialects.source import Source
from support.dialect_files import FILES
from support.dialects import WRITTEN_AT, entries, jsonl, kept

pytestmark = pytest.mark.slow

names = st.sampled_from([
    "type", "uuid", "parentUuid", "sessionId", "timestamp", "message", "role", "content", "text", "id", "parentId",
    "parent_id", "payload", "kind", "lane", "isSidechain", "isMeta", "isCompactSummary", "subtype", "tool_use_id",
    "compactMetadata", "preservedMessages", "uuids", "leafUuid", "logicalParentUuid", "targetId", "target_id",
    "version", "leafId", "fact", "label", "name", "info", "num_turns", "call_id", "arguments", "output", "input",
    "summary", "model", "usage", "last_token_usage", "record_type", "customType", "custom_type", "data", "contents",
    "retainedTail", "key_decisions", "session_id", "metrics", "tokens_used", "tags", "replacement_history",
])  # fmt: skip
words = st.sampled_from([
    "user", "assistant", "system", "tool", "message", "session", "session_header", "compact_boundary", "tool_result",
    "tool_use", "text", "thinking", "image", "leaf", "entry", "header", "fact", "name", "label", "lane", "main",
    "response_item", "event_msg", "session_meta", "turn_context", "compacted", "function_call", "reasoning",
    "function_call_output", "thread_rolled_back", "token_count", "user_message", "progress", "summary", "compaction",
    "last-prompt", "custom-title", "a", "b", "c", "", "\ud800", "\u2028", "2026-01-01T00:00:00Z", "custom",
])  # fmt: skip
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | words
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=5),
    max_leaves=12,
)
objects = st.dictionaries(names, values, max_size=8)
files = st.lists(
    objects | st.sampled_from([b"", b"not json", b"[1]", b"42", b'"x"', b"\xff\xfe", b'{"a":', b"null"]),
    max_size=7,
)


def read(dialect: str, data: bytes, *, growing: bool = False) -> Imported:
    return known.DIALECTS[dialect].read(Source("agent-x.jsonl", data, WRITTEN_AT, growing))


def assert_whole(session: Imported) -> None:
    seen: set[str | None] = {None}
    for each_entry in session.entries:
        assert each_entry.parent_id in seen
        assert each_entry.id not in seen
        entry = json.loads(each_entry.line)
        assert (entry["id"], entry["parentId"], entry["type"]) == (
            each_entry.id,
            each_entry.parent_id,
            each_entry.type,
        )
        assert b"\n" not in each_entry.line
        seen.add(each_entry.id)
    assert session.leaf in seen


@pytest.mark.parametrize("dialect", list(known.DIALECTS))
@settings(max_examples=40)
@given(data=files)
def test_any_lines_make_a_tree(dialect: str, data: list[Any]) -> None:
    written = jsonl(*data)
    known.detect(written)
    assert_whole(read(dialect, written))
    assert_whole(read(dialect, written, growing=True))


@pytest.mark.parametrize("dialect", list(known.DIALECTS))
def test_a_line_that_is_nested_too_deeply_is_kept_raw_or_reported(dialect: str) -> None:
    deep = (
        b'{"type":"user","uuid":"u","id":"i","kind":"entry","message":{"role":"user","content":'
        + b"[" * 5_000
    )
    almost = {
        "type": "user",
        "uuid": "u",
        "id": "i",
        "kind": "entry",
        "message": {"role": "user", "content": nested(900)},
    }
    session = read(dialect, jsonl(deep, almost))
    assert_whole(session)
    assert session.report.problem_count or session.report.preserved


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("dialect", [dialect for dialect in known.DIALECTS if dialect != "nova"])
def test_bytes_that_are_no_text_are_kept_to_the_letter(dialect: str) -> None:
    line = b'{"type":"mystery","x":"\xff\xfe"}'
    session = read(dialect, line + b"\n" + b"\x00\x01\n")
    raw = set(kept(session).values())
    assert {line.hex(), "\x00\x01"} <= raw or dialect == "pi"


@pytest.mark.parametrize("dialect", [dialect for dialect in known.DIALECTS if dialect not in ("nova", "pi")])
def test_of_a_hole_in_a_file_only_the_size_is_kept(dialect: str) -> None:
    session = read(dialect, b"\0" * 10_000 + b"torn" + b"\0" * 5_000 + b"\n")
    [found] = [entry["data"] for entry in entries(session) if entry.get("customType") == IMPORT_TYPE]
    assert (found["raw"], found["leadingNulCount"], found["trailingNulCount"]) == ("torn", 10_000, 5_000)
    assert [problem.message for problem in session.report.problems] == [
        "the line contains NUL bytes, probably from a power failure"
    ]


@st.composite
def spoiled(draw: st.DrawFn, lines: list[Any]) -> list[Any]:
    """A good file in which something is missing, twice there, out of order or of another type."""
    found = [json.loads(json.dumps(line)) for line in lines]
    for _ in range(draw(st.integers(1, 4))):
        if not found:
            break
        place = draw(st.integers(0, len(found) - 1))
        match draw(st.sampled_from(["drop", "repeat", "move", "cut", "replace", "remove"])):
            case "drop":
                del found[place]
            case "repeat":
                found.append(found[place])
            case "move":
                found.insert(0, found.pop(place))
            case "cut":
                found = found[:place]
            case how:
                spoil(draw, found[place], how)
    return found


def spoil(draw: st.DrawFn, value: Any, how: str) -> None:
    while True:
        keys = (
            list(value)
            if isinstance(value, dict)
            else list(range(len(value)))
            if isinstance(value, list)
            else []
        )
        if not keys:
            return
        key = draw(st.sampled_from(keys))
        inner = value[key]
        if isinstance(inner, dict | list) and inner and draw(st.booleans()):
            value = inner
            continue
        if how == "remove":
            del value[key]
        else:
            value[key] = draw(scalars | st.just([]) | st.just({}) | st.just(["x"]))
        return


@pytest.mark.parametrize("dialect", list(known.DIALECTS))
@settings(max_examples=50)
@given(data=st.data())
def test_a_spoiled_file_still_makes_a_tree(dialect: str, data: st.DataObject) -> None:
    lines = data.draw(spoiled(FILES[dialect]))
    written = jsonl(*lines)
    known.detect(written)
    assert_whole(read(dialect, written))
    assert_whole(read(dialect, written, growing=True))


@pytest.mark.parametrize("dialect", [dialect for dialect in known.DIALECTS if dialect != "nova"])
def test_a_file_that_grows_only_adds(dialect: str) -> None:
    lines = FILES[dialect]
    whole = {entry.id: entry for entry in read(dialect, jsonl(*lines)).entries}
    for count in range(1, len(lines)):
        part = read(dialect, jsonl(*lines[:count]), growing=True)
        for entry in part.entries if part.conversation_count else []:
            assert whole[entry.id].parent_id == entry.parent_id
            if not entry.id.startswith(("origin-", "raw-", "line-", "title-")):
                assert whole[entry.id].line == entry.line
