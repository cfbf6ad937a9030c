"""Two JSON texts are the same if their values are, to the last digit, in any form."""

import json  # noqa: TID251 - texts are made in every form that JSON has

import msgspec
import pytest
from hypothesis import given, strategies as st
from msgspec import Raw

from sessiond.hub.session.json_equality import contains

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def same(stored: bytes, sent: bytes) -> bool:
    return contains(b'{"id":"a","x":%b}' % stored, {"x": Raw(sent)}, beside=("id",))


@given(VALUES, st.booleans(), st.sampled_from([None, 1, "\t"]), st.booleans())
def test_a_value_is_the_same_in_every_form(
    value: object, ascii_: bool, indent: object, by_name: bool
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_, indent=indent, sort_keys=by_name).encode()  # type: ignore[arg-type]
    plain = json.dumps(value).encode()
    assert same(plain, text)
    assert same(text, plain)


@given(VALUES, VALUES)
def test_other_values_are_other(one: object, other: object) -> None:
    texts = [json.dumps(item, sort_keys=True) for item in (one, other)]
    if same(*(text.encode() for text in texts)):
        assert msgspec.json.decode(texts[0]) == msgspec.json.decode(texts[1])


@pytest.mark.parametrize(
    ("one", "other"), [("1", "true"), ("0", "false"), ('"1"', "1"), ("[1]", "[true]"),
                       ("0.1", "0.10000000000000000001"), ("{}", "[]"),
                       ("null", "{}"), ('{"a":1}', '{"a":1,"b":null}'), ("1e400", "1e401")],
)  # fmt: skip
def test_near_is_not_the_same(one: str, other: str) -> None:
    assert not same(one.encode(), other.encode())
    assert same(one.encode(), one.encode() + b" ")


def test_fields_that_are_missing_or_too_many_make_it_other() -> None:
    stored = b'{"id":"a","type":"x","data":1}'
    assert contains(stored, {"type": Raw(b'"x"'), "data": Raw(b"1")}, beside=("id",))
    assert not contains(stored, {"type": Raw(b'"x"')}, beside=("id",))
    assert not contains(stored, {"type": Raw(b'"x"'), "data": Raw(b"1"), "more": Raw(b"1")}, beside=("id",))


def test_a_line_with_half_a_surrogate_can_be_compared() -> None:
    stored = b'{"id":"a","x":"\\ud800"}'
    assert contains(stored, {"x": Raw(b'"\\ud800"')}, beside=("id",))
    assert not contains(stored, {"x": Raw(b'"\\ud801"')}, beside=("id",))
