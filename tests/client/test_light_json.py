"""JSON by the C module of the standard library, compared with the package `json`."""

import json  # noqa: TID251 - the reference
import math
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, strategies as st

from sessiond.client import light_json

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)

BOTH = pytest.mark.parametrize("functions", [light_json.from_c_module, light_json.from_json_package])


@given(VALUES)
def test_both_modules_write_and_read_the_same(value: Any) -> None:
    (encode, scan), (other_encode, other_scan) = light_json.from_c_module(), light_json.from_json_package()
    text = encode(value)
    assert text == other_encode(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert scan(text, 0) == other_scan(text, 0) == (value, len(text))


@BOTH
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_lacks_are_refused(functions: Any, value: float) -> None:
    encode, _ = functions()
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode({"a": value})


@BOTH
def test_values_of_other_types_are_refused(functions: Any) -> None:
    encode, _ = functions()
    with pytest.raises(TypeError):
        encode({"a": object()})


def test_a_text_is_decoded_with_whitespace_around_it() -> None:
    assert light_json.decode(' \n{"pid": 7, "text": "\\ud83d\\ude00 é"}\r\n') == {"pid": 7, "text": "😀 é"}


@pytest.mark.parametrize("text", ["", " ", "{", '{"a": }', '{"a": 1} x', "[1,]", '"\n"', "nul"])
def test_invalid_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the sentences are those of Python
        light_json.decode(text)


def test_invalid_json_is_refused_where_the_package_json_is_not_loaded() -> None:
    program = (
        "import sys; from sessiond.client.light_json import decode\n"
        "from sessiond.client.wire import InvalidResponseError, members\n"
        "for read, error in ((decode, ValueError), (members, InvalidResponseError)):\n"
        "    try: read('{')\n"
        "    except error: print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.split() == ["refused", "refused"]
