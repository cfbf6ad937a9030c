"""A damaged line gives the complete records in it, in order and once; its other bytes are kept and reported."""

import json  # noqa: TID251 - files of other programs are written as they write them
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sessiond.agents import known
from sessiond.session.dialects.import_builder import IMPORT_TYPE
from sessiond.session.dialects.source import Source
from support.dialect_files import CODEX, DATA, FILES, claude
from support.dialects import WRITTEN_AT, entries, imported, jsonl, kept, path

LINES_OF_RECORDS = sorted(set(FILES) - {"cline", "nova", "opencode"})
"""The dialects whose files consist of lines."""

texts = st.text(st.sampled_from('{}[]":,\\ \n\0aü\u20ac\U0001f40d'), max_size=12)
values = st.recursive(
    texts | st.none() | st.integers(-9, 99) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts | st.just("type"), inner, max_size=3),
    max_leaves=8,
)
records = st.builds(
    lambda number, before, after, spaces, ascii: json.dumps(
        {**before, "uuid": f"u{number}", "type": "user", **after},
        separators=(", ", ": ") if spaces else (",", ":"),
        ensure_ascii=ascii,
    ).encode(),
    st.integers(1, 99),
    st.dictionaries(st.sampled_from(["message", "parentUuid"]), values, max_size=2),
    st.dictionaries(st.sampled_from(["content", "data"]), values, max_size=2),
    st.booleans(),
    st.booleans(),
)
"""Records of one file. All have two fields, which no object inside of them has both."""
damages = st.sampled_from(["fused", "cut", "cut and NUL", "NUL before", "NUL after", "whole", "spliced"])


def read(data: bytes) -> list[tuple[int, bytes, bool]]:
    found = Source("a.jsonl", data, WRITTEN_AT).lines()
    return [(line.number, line.raw, line.value is not None) for line in found]


@settings(max_examples=200)
@given(st.lists(st.tuples(records, damages, st.floats(0, 1, exclude_max=True)), max_size=7))
def test_any_damage_keeps_every_complete_record_in_order_and_once(
    written: list[tuple[bytes, str, float]],
) -> None:
    data, complete = b'{"uuid":"first","type":"user"}\n', [b'{"uuid":"first","type":"user"}']
    for record, damage, share in written:
        cut = record[: 1 + int(share * (len(record) - 1))]
        data += {
            "fused": record, "cut": cut, "cut and NUL": cut + b"\0\0", "NUL before": b"\0" + record,
            "NUL after": record + b"\0\0", "whole": record + b"\n",
            "spliced": b"\n" + record + record[len(cut) :] + b"\n",
        }[damage]  # fmt: skip
        if not damage.startswith("cut") or cut == record:
            complete.append(record)
    assert [raw for _, raw, is_whole in read(data + b"\n") if is_whole] == complete


@settings(max_examples=100)
@given(st.binary(max_size=60) | st.text('{}[]":,\\ \0a1', max_size=60).map(str.encode))
def test_every_byte_of_a_damaged_line_is_in_one_of_its_parts(line: bytes) -> None:
    line = line.replace(b"\n", b"").replace(b"\r", b"")
    parts = [raw for _, raw, _ in read(b"{}\n" + line + b"\n")][1:]
    assert b"".join(parts).translate(None, b" \t\v\f") == line.translate(None, b" \t\v\f")


@pytest.mark.parametrize("hostile", [
    b"{", b'{"', b'{"a":', b'{"a":{', b'[{"a":', b'{"a":"\\', b'{"x {"', b'{"a":1}x', b'{"{', b'{"a":[{"b":1},',
    b"{  x",
])  # fmt: skip
def test_a_megabyte_of_openings_is_read_in_linear_time(hostile: bytes) -> None:
    line = hostile * (1_000_000 // len(hostile))
    began = time.monotonic()
    assert b"".join(raw for _, raw, _ in read(line + b"\n")) == line
    assert time.monotonic() - began < 60  # with one attempt for each opening it takes hours


def test_an_object_inside_of_a_cut_record_is_no_record() -> None:
    whole = b'{"type":"message","id":"a","timestamp":1}'
    cut = b'{"type":"message","id":"b","message":{"content":[{"type":"toolCall","id":"c"}'
    for line in (cut, cut + b"\0\0", cut + whole, whole + cut, cut + cut + whole):
        found = [raw for _, raw, is_whole in read(whole + b"\n" + line + b"\n") if is_whole]
        assert found == [whole] * (1 + line.count(whole))


def test_the_bytes_beside_a_record_are_reported_and_kept_with_the_number_of_the_line() -> None:
    first, second, third = (claude("user", name, None, name) for name in ("a", "b", "c"))
    cut = json.dumps(second).encode()[:60]
    session = imported(jsonl(first, cut + json.dumps(third).encode(), b"\0" * 5000))
    assert [problem.line for problem in session.report.problems] == [2, 3]
    assert kept(session) == {2: cut.decode(), 3: ""}
    assert {"a", "c"} <= {entry["id"] for entry in entries(session)}


def test_a_line_without_a_record_is_kept_whole() -> None:
    session = imported(jsonl(claude("user", "a", None, "a"), b'{"type":"user","uuid":'))
    assert kept(session) == {2: '{"type":"user","uuid":'}


def test_records_of_one_line_that_are_stored_unchanged_have_ids_of_their_own() -> None:
    line = b"".join(
        json.dumps({"type": "custom", "sessionId": "s", "number": number}).encode() for number in range(3)
    )
    data = jsonl(claude("user", "a", None, "a"), line, claude("user", "b", "a", "b"))
    ids = [entry["id"] for entry in entries(imported(data)) if entry.get("customType") == IMPORT_TYPE]
    assert ids == ["raw-2", "raw-2.1", "raw-2.2"]


@pytest.mark.parametrize("dialect", LINES_OF_RECORDS)
@pytest.mark.parametrize("damage", [
    lambda lines: b"".join(b"".join(lines[at : at + 2]) + b"\n" for at in range(0, len(lines), 2)),
    lambda lines: b"".join(b"\0" * 3 + line + b"\0" * 3 + b"\n" for line in lines),
    lambda lines: lines[0] + b"\n" + b"".join(line[: len(line) * 2 // 3] + line + b"\n" for line in lines[1:]),
], ids=["two on a line", "among NUL bytes", "behind a cut one"])  # fmt: skip
def test_the_conversation_of_every_dialect_survives_damage(
    dialect: str, damage: Callable[[list[bytes]], bytes]
) -> None:
    whole = [line for line in jsonl(*FILES[dialect]).splitlines() if _is_object(line)]
    data = damage(whole)
    assert known.detect(data) == dialect
    assert _said(dialect, data) == _said(dialect, b"\n".join(whole) + b"\n")


@pytest.mark.parametrize("name", ["cline-task.json", "cline.messages.json", "opencode.json"])
def test_a_document_among_nul_bytes_is_read(name: str) -> None:
    data = (DATA / name).read_bytes()
    whole = imported(data, name=name)
    damaged = imported(b"\0\0\n" + data + b"\0" * 9000 + b"\n", name=name)
    assert [entry.id for entry in damaged.entries] == [entry.id for entry in whole.entries]
    assert path(damaged) == path(whole)


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _said(dialect: str, data: bytes) -> list[Any]:
    """Return the messages on the path to the leaf."""
    session = known.DIALECTS[dialect].read(Source("a.jsonl", data, WRITTEN_AT))
    by_id = {entry["id"]: entry for entry in entries(session)}
    on_path = [by_id[entry_id] for entry_id in path(session)]
    said = [
        (entry["type"], entry.get("message", entry.get("content", entry.get("summary")))) for entry in on_path
    ]
    without_ids_of_cursor = re.sub(r"m-[0-9a-f]{16}", "m", json.dumps(said))  # they depend on all bytes
    return list(json.loads(without_ids_of_cursor))


def test_two_messages_of_codex_on_one_line_are_not_taken_for_each_other() -> None:
    lines = [json.dumps(item).encode() for item in CODEX]
    assert _said("codex", b"".join(lines) + b"\n") == _said("codex", jsonl(*lines))


def test_the_ids_behind_a_damaged_line_of_cursor_do_not_depend_on_its_parts() -> None:
    lines = [json.dumps({"role": "user", "message": {"content": name}}).encode() for name in ("a", "b", "c")]
    fused = imported(lines[0] + b"\n" + lines[1] + lines[1] + b"\n" + lines[2] + b"\n")
    opaque = imported(lines[0] + b"\n" + lines[1] + lines[1] + b"\n" + lines[2] + b"\n" + lines[0] + b"\n")
    assert fused.leaf in {entry.id for entry in opaque.entries}
    assert len({entry.id for entry in fused.entries}) == 5


def test_the_last_line_of_a_growing_file_waits_until_it_is_whole() -> None:
    first, second, third = (json.dumps(claude("user", text, None, text)).encode() for text in "abc")
    data = first + b"\n" + second + third[:50]
    growing = Source("a.jsonl", data, WRITTEN_AT, growing=True).lines()
    assert [line.raw for line in growing] == [first]
    assert [line.raw for line in Source("a.jsonl", data, WRITTEN_AT).lines()] == [first, second, third[:50]]
