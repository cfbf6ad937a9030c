"""Envelopes: every malformed shape has its code, and what is inside params is left as it came."""

import json  # noqa: TID251 - the reference that our reading of odd input is compared with
import random
import time

import msgspec
import pytest
from hypothesis import given, strategies as st
from msgspec import UNSET, Raw

from sessiond.rpc.message import (
    INVALID_REQUEST,
    PARSE,
    BadMessage,
    RequestId,
    decode_head,
    decode_message,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
)


def request(rest: bytes) -> bytes:
    return b'{"jsonrpc":"2.0",' + rest + b"}"


def complaint(body: bytes) -> tuple[int, RequestId | None]:
    with pytest.raises(BadMessage) as caught:
        decode_head(body)
    assert caught.value.message
    return caught.value.code, caught.value.id


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"   ",
        b"{",
        b"nonsense",
        request(b'"id":1,"method":"m"') + b"x",
        request(b'"id":1,"method":"m",'),
        request(b'"id":1,"method":"m","params":{"a":01}'),
        request(b'"id":1,"method":"m","params":NaN'),
        request(b'"id":1,"method":"m","params":"a\nb"'),
        request(b'"id":1,"method":"m","params":"\xff"'),
        request(b'"id":1,"method":"\xff"'),
        request(b'"id":"\xff","method":"m"'),
        request(b'"id":1,"method":"m","\xff":1'),
        request(b'"id":1,"method":"m","params":"\xed\xa0\xbd"'),  # a surrogate as UTF-8
        request(b'"id":1,"method":"m","params":"' + "é".encode() * 40_000 + b'\xc3"'),
        request(rb'"id":1,"method":"m","params":"\ud8"'),
        request(rb'"id":1,"method":"m","params":"\ud83d'),
        b"\xef\xbb\xbf" + request(b'"id":1,"method":"m"'),
        request(b'"id":1,"method":"m","params":' + b"[" * 500_000 + b"]" * 500_000),
        request(b'"id":1,"method":"m","params":' + b'{"a":' * 100_000),
        b"[" * 100_000,
        b"[1,2",
        b"\x00",
    ],
)
def test_invalid_json_is_a_parse_error_without_an_id(body: bytes) -> None:
    assert complaint(body) == (PARSE, None)


@pytest.mark.parametrize(
    ("body", "id"),
    [
        (b"[]", None),
        (b"[" + request(b'"id":1,"method":"m"') + b"]", None),
        (b"null", None),
        (b"5", None),
        (b'"text"', None),
        (b"{}", None),
        (b'{"id":1,"method":"m"}', 1),
        (b'{"id":"a","method":"m","jsonrpc":"1.0"}', "a"),
        (b'{"id":1,"method":"m","jsonrpc":2.0}', 1),
        (b'{"id":1,"method":"m","jsonrpc":null}', 1),
        (request(b'"id":1'), 1),
        (request(b'"id":"a","params":{}'), "a"),
        (request(b'"id":1,"method":5'), 1),
        (request(b'"id":1,"method":null'), 1),
        (request(b'"id":null,"method":"m"'), None),
        (request(b'"id":1.5,"method":"m"'), None),
        (request(b'"id":true,"method":"m"'), None),
        (request(b'"id":{},"method":"m"'), None),
        (request(b'"id":[1],"method":"m"'), None),
        (request(b'"id":' + b"9" * 5000 + b',"method":"m"'), None),
        (request(b'"result":1'), None),
        (request(b'"error":{"code":1,"message":"m"}'), None),
        (b'{"id":1,"result":1}', None),  # an answer to this would be an answer to an answer
        (b'{"id":1,"error":{}}', None),
    ],
)
def test_json_that_is_no_message_is_an_invalid_request(body: bytes, id: RequestId | None) -> None:
    assert complaint(body) == (INVALID_REQUEST, id)


@given(st.binary(max_size=200))
def test_random_bytes_are_refused_as_bad_messages(body: bytes) -> None:
    assert complaint(body)[0] in {PARSE, INVALID_REQUEST}


json_leaves = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(-1e300, 1e300) | st.text()
json_values = st.recursive(
    json_leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(json_values, st.integers() | st.text(), st.text())
def test_a_request_comes_back_as_it_was_sent(params: object, id: RequestId, method: str) -> None:
    head = decode_head(encode_request(id, method, params))
    assert (head.id, head.method) == (id, method)
    assert isinstance(head.params, Raw)
    assert msgspec.json.decode(head.params) == params
    assert (head.result, head.error) == (UNSET, UNSET)


@given(st.dictionaries(st.text(), json_values), st.randoms(use_true_random=False))
def test_a_damaged_message_is_read_or_refused_and_never_anything_else(
    params: dict[str, object], dice: random.Random
) -> None:
    body = bytearray(encode_request(1, "m", params))
    for _ in range(dice.randint(1, 3)):
        body[dice.randrange(len(body))] = dice.randrange(256)
    try:
        head = decode_head(bytes(body))
    except BadMessage:
        return
    assert head.method is not UNSET or head.result is not UNSET or head.error is not UNSET


@pytest.mark.parametrize("id", [0, -1, 7, 2**70, "", "7", "é", "a" * 5000])
def test_ids_are_integers_or_strings(id: RequestId) -> None:
    assert decode_head(encode_request(id, "m")).id == id
    assert decode_head(encode_result(id, None)).id == id


def test_params_may_be_absent_or_anything() -> None:
    assert decode_head(request(b'"id":1,"method":"m"')).params is UNSET
    assert decode_head(request(b'"method":"m","params":null')).params == Raw(b"null")
    assert decode_head(request(b'"method":"m","params":5')).params == Raw(b"5")


def test_the_order_of_members_and_unknown_members_do_not_matter() -> None:
    head = decode_head(b' {"x":[{}],"params" : [1] , "method":"m", "id":"a","jsonrpc":"2.0"} ')
    assert (head.id, head.method, head.params) == ("a", "m", Raw(b"[1]"))


def test_nested_messages_inside_params_are_left_as_they_are() -> None:
    inner = (
        b'{"log":[{"jsonrpc":"2.0","id":1,"method":"x"},{"jsonrpc":"1.0","error":null}],"jsonrpc":{"id":9}}'
    )
    head = decode_head(request(b'"id":5,"method":"m","params":' + inner))
    assert (head.id, head.method) == (5, "m")
    assert head.params == Raw(inner)


def test_a_response_says_what_it_answers() -> None:
    head = decode_head(encode_error(None, PARSE, "no"))
    assert head.id is None
    assert head.method is UNSET
    assert head.error == Raw(b'{"code":-32700,"message":"no"}')
    assert decode_head(encode_result(3, None)).result == Raw(b"null")


def test_the_data_of_an_error_is_sent_when_there_is_some() -> None:
    assert b'"data"' not in encode_error(1, 5, "m")
    assert decode_head(encode_error(1, 5, "m", {"kind": "k"})).error == Raw(
        b'{"code":5,"message":"m","data":{"kind":"k"}}'
    )


def test_raw_values_are_spliced_into_what_is_sent() -> None:
    raw = Raw(b'{"a": 1.10,  "b":1e3}')
    assert encode_result(1, {"x": raw}) == b'{"jsonrpc":"2.0","id":1,"result":{"x":' + bytes(raw) + b"}}"
    assert encode_notification("n", raw) == b'{"jsonrpc":"2.0","method":"n","params":' + bytes(raw) + b"}"


def test_a_sent_message_has_no_newline() -> None:
    assert b"\n" not in encode_result(1, {"a\nb": "c\r\nd\u2028"})


def test_a_good_body_is_passed_on_as_the_same_object() -> None:
    body = encode_request(1, "m", {"text": "\U0001f600 é \\ud83d"})
    assert decode_message(body)[1] is body


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (rb'"\ud83d"', rb'"\ufffd"'),
        (rb'"\uDE00 x"', rb'"\ufffd x"'),
        (rb'"\ude00\ud83d"', rb'"\ufffd\ufffd"'),
        (rb'"\ud83d\ud83d\ude00"', rb'"\ufffd\ud83d\ude00"'),
        (rb'"\ud83d\u0041"', rb'"\ufffd\u0041"'),
        (rb'"\ud83d\\ude00"', rb'"\ufffd\\ude00"'),
        (rb'["\\ud83d","\\\ud83d"]', rb'["\\ud83d","\\\ufffd"]'),
        (rb'{"\udc00":1.10, "n":12345678901234567890123}', rb'{"\ufffd":1.10, "n":12345678901234567890123}'),
        (rb'"\\ud83d\ude00\\\ude00\\\\"', rb'"\\ud83d\ufffd\\\ufffd\\\\"'),
        (rb'["\"\ud83d\"","\u00e9\n"]', rb'["\"\ufffd\"","\u00e9\n"]'),
    ],
)
def test_lone_surrogates_are_replaced_and_nothing_else_is(sent: bytes, kept: bytes) -> None:
    head, body = decode_message(request(b'"id":1,"method":"m","params":' + sent))
    assert head.params == Raw(kept)
    assert body == request(b'"id":1,"method":"m","params":' + kept)


any_utf16 = st.lists(st.characters() | st.integers(0xD800, 0xDFFF).map(chr), max_size=12).map("".join)


@given(any_utf16, any_utf16)
def test_lone_surrogates_are_read_as_python_reads_them(text: str, key: str) -> None:
    body = json.dumps({"jsonrpc": "2.0", "method": "m", "params": {key: text}}).encode()
    head = decode_head(body)
    assert isinstance(head.params, Raw)
    # A half pair beside its other half is a pair once it is on the wire.
    expected = json.loads(body)["params"][json.loads(json.dumps(key))]
    halves = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in expected)
    assert list(msgspec.json.decode(head.params, type=dict[str, str]).values()) == [halves]


@pytest.mark.parametrize("piece", [rb"\\", rb"\ud83d", rb"\ud83d\ude00", rb"\u", rb"\"", b"x"])
def test_a_hostile_text_of_escapes_is_judged_in_linear_time(piece: bytes) -> None:
    def spent(size: int) -> float:
        body = request(b'"method":"m","params":"' + piece * (size // len(piece)) + rb'\ud83d"' + b",")
        began = time.process_time()
        assert complaint(body)[0] == PARSE
        return time.process_time() - began

    spent(10_000)
    assert spent(2_000_000) < 40 * max(spent(200_000), 0.005)


def test_half_of_a_surrogate_pair_in_an_answer_is_sent_as_a_replacement_character() -> None:
    body = encode_result(7, {"cut \ud83d": ["\udc00", 1], "raw": Raw(b'{"a": 1.0}')})
    assert body == '{"jsonrpc":"2.0","id":7,"result":{"cut \ufffd":["\ufffd",1],"raw":{"a": 1.0}}}'.encode()
