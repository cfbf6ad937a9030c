"""Large results are encoded in steps, to the same bytes as at once."""

import msgspec
from hypothesis import given, strategies as st
from msgspec import Raw

from sessiond.protocol import types as t
from sessiond.server.connection import encoding
from sessiond.session.tree.steps import run


def entries(count: int, next_cursor: str | None = None) -> t.EntriesResult:
    found = [
        t.StoredEntry(seq=number, entry=Raw(b'{"type":"x","id":"%d"}' % number)) for number in range(count)
    ]
    return t.EntriesResult(log_id="log", items=found, next_cursor=next_cursor)


@given(st.integers(0, 3 * encoding.MIN_PARTS_IN_STEPS), st.none() | st.text())
def test_a_result_in_steps_is_the_same_as_at_once(count: int, cursor: str | None) -> None:
    result = entries(count, cursor)
    parts = run(encoding.encode_in_steps(result))
    assert b"".join(parts) == msgspec.json.encode(result)


@given(st.text(), st.sampled_from((1, encoding.LONG_TEXT)))
def test_a_long_text_in_a_step_of_its_own_is_the_same_as_at_once(text: str, times: int) -> None:
    result = entries(encoding.MIN_PARTS_IN_STEPS, text * times)
    parts = run(encoding.encode_in_steps(result))
    assert b"".join(parts) == msgspec.json.encode(result)


def test_a_long_text_with_lone_surrogates_is_sent_without_them() -> None:
    text = "x\ud800" * encoding.LONG_TEXT
    parts = run(encoding.encode_in_steps(entries(1, text)))
    assert msgspec.json.decode(b"".join(parts))["nextCursor"] == text.replace("\ud800", "\ufffd")


def test_only_a_result_with_a_long_list_or_text_is_large() -> None:
    assert not encoding.is_large(entries(encoding.MIN_PARTS_IN_STEPS - 1))
    assert encoding.is_large(entries(encoding.MIN_PARTS_IN_STEPS))
    assert not encoding.is_large(entries(1, "x" * (encoding.LONG_TEXT - 1)))
    assert encoding.is_large(entries(1, "x" * encoding.LONG_TEXT))


def test_no_step_encodes_more_than_a_few_parts() -> None:
    count = 10 * encoding.MIN_PARTS_IN_STEPS
    steps = sum(1 for _ in encoding.encode_in_steps(entries(count)))
    assert steps >= 2 * count // encoding.MIN_PARTS_IN_STEPS
