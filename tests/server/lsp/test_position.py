"""Places in lines as editors count them: bytes, UTF-16 units or code points, and the way back."""

import pytest
from hypothesis import example, given, strategies as st

from sessiond.server.lsp.position import Encoding, byte, character, line_starts

ENCODINGS: list[Encoding] = ["utf-8", "utf-16", "utf-32"]
WIDE = st.sampled_from(
    ["a", "ü", "€", "😀", "𝄞", "\u2028", "\u2029", "\t", "\x85", "\ud83d", '"', "\\ud83d", "\r"]
)
texts = st.lists(WIDE | st.characters(), max_size=20).map("".join)
encodings = st.sampled_from(ENCODINGS)
lines = texts.map(lambda text: text.replace("\n", "").encode("utf-8", "surrogatepass")) | st.binary(
    max_size=40
)


def units(text: str, encoding: Encoding) -> int:
    """How long a text is, counted one character after the other."""
    if encoding == "utf-8":
        return len(text.encode())
    return sum(1 + (encoding == "utf-16" and text > "\uffff") for text in text)


@given(before=texts, after=texts, encoding=encodings)
def test_a_place_is_counted_as_the_encoding_counts(before: str, after: str, encoding: Encoding) -> None:
    before, after = (text.encode("utf-8", "replace").decode() for text in (before, after))
    line, offset = (before + after).encode(), len(before.encode())
    assert character(line, offset, encoding) == units(before, encoding)
    assert byte(line, units(before, encoding), encoding) == offset


@given(line=lines, encoding=encodings, offset=st.integers(0, 50))
@example(line="😀".encode(), encoding="utf-16", offset=2)
@example(line=b"\xf0\x9f\x98", encoding="utf-16", offset=2)
def test_every_place_has_its_way_back(line: bytes, encoding: Encoding, offset: int) -> None:
    place = character(line, offset, encoding)
    again = byte(line, place, encoding)
    assert again <= min(offset, len(line))
    assert character(line, again, encoding) == place


@given(line=lines, encoding=encodings)
def test_places_grow_along_a_line(line: bytes, encoding: Encoding) -> None:
    places = [character(line, offset, encoding) for offset in range(len(line) + 1)]
    assert places == sorted(places)
    offsets = [byte(line, place, encoding) for place in range(len(line) + 2)]
    assert offsets == sorted(offsets)
    assert offsets[-1] == len(line)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_place_past_the_end_is_the_end(encoding: Encoding) -> None:
    assert byte("ü😀".encode(), 2**31 - 1, encoding) == 6
    assert byte(b"ab", -1, encoding) == 0


def test_a_place_inside_a_pair_is_that_of_its_beginning() -> None:
    line = "a😀b".encode()
    assert [byte(line, place, "utf-16") for place in range(5)] == [0, 1, 1, 5, 6]
    assert [byte(line, place, "utf-8") for place in range(7)] == [0, 1, 1, 1, 1, 5, 6]


@pytest.mark.parametrize(
    ("text", "starts"),
    [(b"", [0]), (b"a\nb", [0, 2]), (b"a\r\nb\r\n", [0, 3, 6]), (b"a\rb", [0, 2]), (b"\n\r\r\n", [0, 1, 2, 4]),
     ("a\u2028b\x85c\x0bd".encode(), [0])],
)  # fmt: skip
def test_lines_begin_where_an_editor_begins_them(text: bytes, starts: list[int]) -> None:
    assert list(line_starts(text)) == starts
