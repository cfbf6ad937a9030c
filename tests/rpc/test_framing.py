"""Frames in, bodies out: the same whatever the chunking, and never a guess after a bad byte."""

import contextlib
import itertools
import time
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from sessiond.rpc.framing import (
    BadHeader,
    BadLength,
    CutOff,
    Framer,
    FrameTooLarge,
    FramingError,
    HeaderTooLarge,
    Mode,
    encode_frame,
)
from sessiond.rpc.large_texts import is_large_text

json_objects = st.dictionaries(st.text(), st.text() | st.integers()).map(
    lambda fields: str(fields).replace("\n", " ").replace("\r", " ").encode("utf-8", "surrogatepass")
)

any_bodies = st.lists(st.binary(max_size=200), max_size=8)
line_bodies = st.lists(json_objects, max_size=8)


def chunks(stream: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted({cut % (len(stream) + 1) for cut in cuts} | {0, len(stream)})
    return [stream[start:stop] for start, stop in itertools.pairwise(edges)]


def fed(framer: Framer, pieces: list[bytes]) -> list[bytes]:
    return [body for piece in pieces for body in framer.feed(piece)] + framer.eof()


def at_once(stream: bytes) -> list[bytes]:
    return [stream]


def single_bytes(stream: bytes) -> list[bytes]:
    return [stream[at : at + 1] for at in range(len(stream))]


def header_frame(header: bytes, body: bytes = b"{}") -> bytes:
    return header + b"\r\n\r\n" + body


@given(any_bodies, st.lists(st.integers(min_value=0), max_size=12))
def test_any_chunking_of_length_frames_gives_the_same_bodies(bodies: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(encode_frame(body, "contentLength") for body in bodies)
    assert fed(Framer(), chunks(stream, cuts)) == bodies


@given(line_bodies, st.lists(st.integers(min_value=0), max_size=12))
def test_any_chunking_of_json_lines_gives_the_same_bodies(bodies: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(encode_frame(body, "jsonLines") for body in bodies)
    assert fed(Framer(), chunks(stream, cuts)) == bodies


@given(any_bodies)
def test_length_frames_may_come_byte_by_byte(bodies: list[bytes]) -> None:
    stream = b"".join(encode_frame(body, "contentLength") for body in bodies)
    assert fed(Framer(), single_bytes(stream)) == bodies


@given(line_bodies)
def test_json_lines_may_come_byte_by_byte(bodies: list[bytes]) -> None:
    stream = b"".join(encode_frame(body, "jsonLines") for body in bodies)
    assert fed(Framer(), single_bytes(stream)) == bodies


@given(st.binary(max_size=400), st.lists(st.integers(min_value=0), max_size=6))
def test_garbage_raises_nothing_but_framing_errors(garbage: bytes, cuts: list[int]) -> None:
    with contextlib.suppress(FramingError):
        fed(Framer(max_frame=100, max_header=50), chunks(garbage, cuts))


@given(any_bodies, st.lists(st.integers(min_value=0), max_size=6))
def test_bodies_before_a_bad_frame_are_delivered(bodies: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(encode_frame(body, "contentLength") for body in bodies) + b"no colon\r\n"
    framer = Framer()
    got: list[bytes] = []
    try:
        for piece in chunks(stream, cuts):
            got += framer.feed(piece)
    except BadHeader as error:
        got += error.bodies
    assert got == bodies
    with pytest.raises(BadHeader):
        framer.feed(b"")


@pytest.mark.parametrize(
    ("first", "mode"), [(b"{", "jsonLines"), (b"C", "contentLength"), (b"c", "contentLength")]
)
def test_the_first_byte_tells_the_mode(first: bytes, mode: Mode) -> None:
    framer = Framer()
    assert framer.mode is None
    framer.feed(b"")
    assert framer.mode is None
    framer.feed(first)
    assert framer.mode == mode


@pytest.mark.parametrize(
    "header",
    [
        b"content-length: 2",
        b"CONTENT-LENGTH:2",
        b"Content-Length : 2",
        b"Content-Length:\t2  ",
        b"Content-Length: 000000002",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2",
        b"Content-Length: 2\r\nContent-Type: x:y",
        b"Content-Length: 2\nContent-Type: x",
    ],
)
def test_headers_that_clients_really_send_are_understood(header: bytes) -> None:
    assert fed(Framer(), [header_frame(header) * 2]) == [b"{}", b"{}"]
    assert fed(Framer(), single_bytes(header_frame(header) * 2)) == [b"{}", b"{}"]


def test_bare_newlines_end_header_lines_too() -> None:
    assert fed(Framer(), [b"Content-Length: 4\n\n\r\n\r\nContent-Length: 2\n\n{}"]) == [b"\r\n\r\n", b"{}"]


@pytest.mark.parametrize(
    ("stream", "error"),
    [
        (header_frame(b"Content-Length: -5"), BadLength),
        (header_frame(b"Content-Length: +5"), BadLength),
        (header_frame(b"Content-Length: 1_0"), BadLength),
        (header_frame(b"Content-Length: 5.0"), BadLength),
        (header_frame(b"Content-Length: 0x10"), BadLength),
        (header_frame(b"Content-Length: "), BadLength),
        (header_frame(b"Content-Length: \xd9\xa3"), BadLength),  # an Arabic-Indic digit, in UTF-8
        (header_frame(b"Content-Length: 1000000000"), FrameTooLarge),
        (header_frame(b"Content-Length: " + b"9" * 4301), FrameTooLarge),
        (header_frame(b"Content-Length: 2\r\ncontent-length: 2"), BadLength),
        (header_frame(b"Content-Length: 101"), FrameTooLarge),
        (header_frame(b"Content-Type: text/plain"), BadHeader),
        (b"Content-Length: 1000000000\r\n", FrameTooLarge),
        (b"\r\nContent-Length: 2\r\n\r\n{}", BadHeader),
        (b"GET / HTTP/1.1\r\n", BadHeader),
        (b'[{"jsonrpc":"2.0"}]\n', BadHeader),
        (b"\xff\xfe\n", BadHeader),
        (b"A" * 6000, HeaderTooLarge),
        (b"A: b\r\n" * 1000, HeaderTooLarge),
        (b"{" + b" " * 100 + b"\n", FrameTooLarge),
        (b"{" + b" " * 100, FrameTooLarge),
    ],
)
@pytest.mark.parametrize("cut", [at_once, single_bytes])
def test_bad_frames_are_refused_by_kind(
    stream: bytes, error: type[FramingError], cut: Callable[[bytes], list[bytes]]
) -> None:
    framer = Framer(max_frame=100, max_header=5000)
    with pytest.raises(error):
        fed(framer, cut(stream))
    assert not framer.unfinished


@pytest.mark.parametrize("cut", [at_once, single_bytes])
def test_a_body_that_is_too_large_is_refused_when_its_header_has_been_read(
    cut: Callable[[bytes], list[bytes]],
) -> None:
    with pytest.raises(FrameTooLarge) as refused:
        fed(Framer(max_frame=100), cut(b"Content-Length: 101\r\n\r\n"))
    assert (refused.value.limit, refused.value.actual, refused.value.to_come) == (100, 101, 101)


def test_a_refused_body_says_how_much_of_it_is_to_come() -> None:
    with pytest.raises(FrameTooLarge) as refused:
        Framer(max_frame=100).feed(b"Content-Length: 150\r\n\r\n" + b"x" * 30)
    assert refused.value.to_come == 120
    with pytest.raises(FrameTooLarge) as refused:
        Framer(max_frame=100).feed(b"Content-Length: 99999999999999999999\r\n\r\n")
    assert (refused.value.limit, refused.value.actual) == (100, 999999999999999999)


def test_zeros_before_a_length_do_not_make_it_too_large() -> None:
    assert fed(Framer(), [b"Content-Length: 00000000000002\r\n\r\n{}"]) == [b"{}"]


def test_a_message_just_within_the_limits_is_taken() -> None:
    header = b"Content-Length: 100\r\nX: " + b"y" * 20 + b"\r\n\r\n"
    assert fed(Framer(max_frame=100, max_header=len(header)), [header + b"z" * 100]) == [b"z" * 100]
    with pytest.raises(HeaderTooLarge):
        Framer(max_frame=100, max_header=len(header) - 1).feed(header + b"z" * 100)
    line = b"{" + b" " * 98 + b"}"
    assert fed(Framer(max_frame=100), [line + b"\n", line]) == [line, line]


def test_after_a_bad_frame_nothing_is_taken_any_more() -> None:
    framer = Framer()
    with pytest.raises(BadLength) as first:
        framer.feed(header_frame(b"Content-Length: 2") + header_frame(b"Content-Length: x"))
    assert first.value.bodies == [b"{}"]
    with pytest.raises(BadLength) as second:
        framer.feed(header_frame(b"Content-Length: 2"))
    assert second.value.bodies == []


def test_a_body_of_no_bytes_is_a_body() -> None:
    assert fed(Framer(), [header_frame(b"Content-Length: 0", b"") * 2]) == [b"", b""]


def test_json_lines_skip_empty_lines_and_tolerate_carriage_returns() -> None:
    assert fed(Framer(), [b'{"a":1}\r\n\n\r\n  \n{"b":2}\n\n']) == [b'{"a":1}', b'{"b":2}']


def test_the_last_json_line_needs_no_newline() -> None:
    framer = Framer()
    assert framer.feed(b'{"a":1}\n{"b"') == [b'{"a":1}']
    assert framer.feed(b":2}") == []
    assert framer.eof() == [b'{"b":2}']
    assert framer.eof() == []


@pytest.mark.parametrize("stream", [b"C", b"Content-Length: 2\r\n\r\n", b"Content-Length: 2\r\n\r\n{"])
def test_a_stream_that_ends_inside_a_frame_is_cut_off(stream: bytes) -> None:
    framer = Framer()
    framer.feed(stream)
    assert framer.unfinished
    with pytest.raises(CutOff):
        framer.eof()


def test_a_stream_that_ends_between_frames_ends_well() -> None:
    framer = Framer()
    assert framer.eof() == []
    assert framer.feed(header_frame(b"Content-Length: 2")) == [b"{}"]
    assert not framer.unfinished
    assert framer.eof() == []


def test_a_spliced_value_with_newlines_does_not_tear_its_json_line() -> None:
    frame = encode_frame(b'{"result":{\n  "a": 1\r\n}}', "jsonLines")
    assert frame.count(b"\n") == 1
    assert len(fed(Framer(), [frame])) == 1


@pytest.mark.parametrize("mode", ["contentLength", "jsonLines"])
def test_a_64_mb_body_in_64_kb_pieces_takes_linear_time_and_at_most_twice_its_memory(mode: Mode) -> None:
    size = 64 * 1024 * 1024
    framer = Framer(max_frame=size)
    framer.feed(b"{" if mode == "jsonLines" else b"Content-Length: %d\r\n\r\n{" % size)
    piece = b"x" * 65536
    tracemalloc.start()
    began = time.process_time()
    for _ in range(1023):
        assert framer.feed(piece) == []
    (body,) = framer.feed(b"x" * 65534 + b"}\n" if mode == "jsonLines" else b"x" * 65535)
    spent = time.process_time() - began
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(body) == size
    assert peak < 2.5 * size
    assert spent < 2.0  # quadratic work would copy 32 GB


@pytest.mark.parametrize("mode", ["contentLength", "jsonLines"])
def test_a_body_that_comes_byte_by_byte_takes_linear_time(mode: Mode) -> None:
    def spent(size: int) -> float:
        framer = Framer()
        framer.feed(b"{" if mode == "jsonLines" else b"Content-Length: 9999999\r\n\r\n")
        began = time.process_time()
        for _ in range(size):
            framer.feed(b"x")
        return time.process_time() - began

    spent(10_000)
    assert spent(400_000) < 40 * max(spent(40_000), 0.01)  # quadratic would be 100 times


def test_an_announced_length_costs_no_memory_before_its_bytes_come() -> None:
    tracemalloc.start()
    framer = Framer()
    framer.feed(b"Content-Length: 60000000\r\n\r\n{")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert framer.unfinished
    assert peak < 100_000


@given(any_bodies, any_bodies, st.integers(101, 5_000), st.lists(st.integers(min_value=0), max_size=6))
def test_a_body_that_may_be_left_out_is_and_nothing_else(
    before: list[bytes], after: list[bytes], size: int, cuts: list[int]
) -> None:
    before, after = ([body[:100] for body in bodies] for bodies in (before, after))
    large = b"#" * size
    stream = b"".join(encode_frame(body, "contentLength") for body in [*before, large, *after])
    framer = Framer(max_frame=100, skips=lambda head: head.startswith(b"#"))
    assert fed(framer, chunks(stream, cuts)) == [*before, *after]
    assert not framer.unfinished


def test_a_body_that_may_not_be_left_out_is_an_error_and_one_that_is_cut_off_too() -> None:
    frame = encode_frame(b"x" * 2_000, "contentLength")
    with pytest.raises(FrameTooLarge):
        Framer(max_frame=100, skips=lambda head: head.startswith(b"#")).feed(frame)
    framer = Framer(max_frame=100, skips=lambda _head: True)
    assert framer.feed(frame[:-1]) == []
    assert framer.unfinished
    with pytest.raises(CutOff):
        framer.eof()


@pytest.mark.parametrize(
    ("head", "is_left_out"),
    [
        (b'{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///x"', True),
        (b'{"params": {"textDocument": {"version": 0, "languageId": "jsonl", "text": "', True),
        (b'{"jsonrpc":"2.0","method" : "textDocument/didChange","params":{', True),
        (b'{"jsonrpc":"2.0","id":5,"method":"textDocument/didOpen"', False),
        (b'{"jsonrpc":"2.0","id":5,"method":"session/append","params":{"entries":[{"x":"languageId', False),
        (b'{"jsonrpc":"2.0","method":"session/append"', False),
        (b"", False),
    ],
)  # fmt: skip
def test_only_the_texts_of_editors_are_left_out(head: bytes, is_left_out: bool) -> None:
    assert is_large_text(head) is is_left_out


def test_with_a_given_framing_the_first_byte_selects_nothing() -> None:
    framer = Framer(mode="jsonLines")
    assert framer.feed(b"Content-Length: 2\r\n\r\n[]\n{}\n") == [b"Content-Length: 2", b"[]", b"{}"]
