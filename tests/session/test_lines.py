"""Single lines, and the ids that clients may bring."""

import json  # noqa: TID251 - the reference for the decoding of lines
import sys

import msgspec
import pytest

from sessiond.session.context import messages
from sessiond.session.tree import entries, lines, migrate, payloads, regular_blocks
from sessiond.session.tree.tree import NewRow
from support.logs import Loaded, header, loaded, log, user

DEEP = b'{"a":' * 500_000 + b"1" + b"}" * 500_000  # from Python 3.14 on, the stack is the limit of a decoder


@pytest.mark.parametrize(
    "line",
    [b"", b" \t\r", b"{", b"[1]", b"null", b'{"a":NaN}', b'{"a":Infinity}', b"{}\0", b'{"a":1}{"b":2}', DEEP],
)
def test_a_line_that_is_no_object_is_no_entry(line: bytes) -> None:
    with pytest.raises(lines.NotAnEntry):
        lines.loads(line)
    with pytest.raises(lines.NotAnEntry):
        lines.skim(line)


@pytest.mark.parametrize(
    "line",
    [
        b'{"a":-0}', b'{"a":-0.0}', b'{"a":18446744073709551616}', b'{"a":1e400}', b'{"a":0.1e-400}', b'{"a":1E5}',
        b'{"a":1,"a":2}', b'{"a":"\xff"}', b'{"\xff":1}', b'{"a":"\xed\xa0\x80"}', b'{"a":"\\ud800"}', b'{"":[1,{}]}',
        b' {"a" : "\\u0000\\/" } ', b'{"a":9007199254740993.0}', b'{"a":2.2250738585072011e-308}',
        b'{"a":' + b"1" * 3_999 + b"}", b'{"a":' + b"1" * 5_000 + b"}",
    ],
)  # fmt: skip
def test_a_line_is_read_as_the_peers_read_it(line: bytes) -> None:
    read = json.loads(line.decode(errors="replace"), parse_float=_finite, parse_int=_finite_integer)
    assert repr(lines.loads(line)) == repr(read)


def _finite(text: str) -> float:
    return max(-sys.float_info.max, min(sys.float_info.max, float(text)))


def _finite_integer(text: str) -> int | float:
    return int(text) if len(text) < 4_000 else _finite(text)


def test_bad_utf8_is_read_as_replacement_characters_and_shown_so() -> None:
    assert lines.loads(b'{"a":"\xff"}') == {"a": "\ufffd"}
    assert lines.presentable(b'{"a":"\xff"}\r\n') == '{"a":"\ufffd"}'.encode()
    assert lines.presentable('{"a":"é"}\n'.encode()) == '{"a":"é"}'.encode()


def test_lone_surrogates_stay_as_escapes_or_become_replacement_characters() -> None:
    assert lines.dumps({"a": "\ud83d"}) == b'{"a":"\\ud83d"}'
    assert lines.well_formed(b'{"a":"\\ud83d","b":"\\ud83d\\ude00"}') == '{"a":"\ufffd","b":"😀"}'.encode()


def test_a_message_nested_too_deeply_says_nothing() -> None:
    assert messages.of_message(DEEP) is None


def test_a_block_of_odd_lines_is_left_to_be_read_one_by_one() -> None:
    whole = b'{"type":"a","id":"1"}\n{"type":"b","id":"2"}\n'
    regular = regular_blocks.decode_block(whole)
    assert regular is not None
    assert (regular.ids, regular.ends) == (["1", "2"], [22, 44])
    odd = (
        b"", b"\n", whole[:-1], whole + b"\n", whole.replace(b"}\n{", b"} \n{"), whole.replace(b"}\n{", b"}{"),
        whole.replace(b'"1"', b'""'), whole.replace(b'"1"', b"1"), whole.replace(b'"1"', b'"\\ud83d"'),
        whole.replace(b'"1"', b'"1","x":"\xff"'), whole.replace(b"}\n{", b',"x":\n{}}\n{'), whole.replace(b"}", b"\n}"),
    )  # fmt: skip
    for block in odd:
        assert regular_blocks.decode_block(block) is None, block


def test_a_part_that_is_not_there_as_asked_is_absent() -> None:
    decoder = msgspec.json.Decoder(dict[str, int])
    assert payloads.part(decoder, b'{"a":1}') == {"a": 1}
    assert payloads.part(decoder, b'{"a":"text"}') is None
    assert payloads.part(decoder, b"garbage") is None


@pytest.mark.parametrize(
    ("text", "entry", "session"),
    [
        ("a", True, False),
        ("A-b_9", True, False),
        ("x" * 64, True, True),
        ("x" * 65, False, True),
        ("x" * 128, False, True),
        ("x" * 129, False, False),
        ("", False, False),
        ("../../etc/passwd", False, False),
        ("eight/chars", False, False),
        ("eight.chars", False, False),
        ("newline-end\n", False, False),
        ("ünïcödeünïcöde", False, False),
        ("nul\0nul\0nul\0", False, False),
    ],
)
def test_ids_that_clients_may_bring(text: str, entry: bool, session: bool) -> None:
    assert entries.valid_entry_id(text) is entry
    assert entries.valid_session_id(text) is session


@pytest.mark.parametrize("type_", entries.TYPES)
def test_a_payload_that_lacks_what_its_type_needs_is_named_invalid(type_: str) -> None:
    lenient = {
        "model_change",
        "thinking_level_change",
        "session_info",
        "reset_boundary",
        "service_tier_change",
    }
    line = msgspec.json.encode({"type": type_, "id": "x", "parentId": None, "future": 1})
    if type_ in lenient:
        assert entries.decode_payload(line) is not None
    else:
        with pytest.raises(msgspec.ValidationError):
            entries.decode_payload(line)


def test_an_old_header_is_upgraded_with_everything_it_has() -> None:
    line = b'{"type":"session","id":"old","timestamp":"t","provider":"a","version":1,"title":"\\ud83d"}\n'
    assert lines.loads(migrate.upgrade_header(line)) == {
        "type": "session", "version": 3, "id": "old", "timestamp": "t", "provider": "a", "title": "\ud83d",
    }  # fmt: skip


def test_a_line_that_is_no_entry_is_not_upgraded() -> None:
    session = Loaded(log(header(version=1)) + b"garbage\n")
    assert session.read([1]) == [b"garbage"]


def test_a_pending_row_has_its_line() -> None:
    session = loaded(header(), user("q"))
    session.tree.attach([NewRow(b'{"id":"n"}\n', "custom", "n", "e1")], leaf="n")
    assert session.tree.pending_line(2) == b'{"id":"n"}'


def test_a_tail_is_completed_or_dropped() -> None:
    whole = log(header(), user("q"))
    lacking, torn = Loaded(whole[:-1]).tree, Loaded(whole + b"{torn").tree
    lacking.read(b"\n")
    assert (lacking.tail_is_entry, lacking.end, lacking.span(1)[1]) == (False, len(whole), len(whole))
    torn.drop_tail()
    assert (torn.tail, torn.problems, torn.end) == (b"", [], len(whole))
