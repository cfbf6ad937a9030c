"""Text typed in an editor arrives unchanged: changes in any encoding, in any order of editing."""

import pytest
from hypothesis import given, strategies as st

from sessiond.server.lsp.position import Encoding
from sessiond.server.lsp.texts import (
    MAX_OPEN_TEXT_BYTES,
    MAX_TEXT_BYTES,
    Change,
    OpenText,
    TextPosition,
    TextRange,
)

pieces = st.sampled_from(
    ["a", '{"id":"x"}', "ü", "😀", "\u2028", "\n", "\r\n", "\r", "\t", "", "\u0085", "x" * 20]
)
contents = st.lists(pieces, max_size=12).map("".join)
encodings: st.SearchStrategy[Encoding] = st.sampled_from(["utf-8", "utf-16", "utf-32"])


def place_of(text: str, index: int, encoding: Encoding) -> TextPosition:
    """Where an editor says that a character of a text is."""
    before = text[:index].replace("\r\n", "\n\n"[:1]).replace("\r", "\n")
    line = before.count("\n")
    inside = before.rpartition("\n")[2]
    width = {
        "utf-8": len(inside.encode()),
        "utf-16": len(inside.encode("utf-16-le")) // 2,
        "utf-32": len(inside),
    }
    return TextPosition(line, width[encoding])


@given(
    text=contents,
    edits=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60), contents), max_size=6),
    encoding=encodings,
)
def test_a_text_is_what_the_editor_has(
    text: str, edits: list[tuple[int, int, str]], encoding: Encoding
) -> None:
    mine = OpenText(text.encode())
    for one, other, new in edits:
        start, end = sorted((min(one, len(text)), min(other, len(text))))
        if "\r\n" in (text[start - 1 : start + 1], text[end - 1 : end + 1]):
            continue  # no editor has a place in there
        range_ = TextRange(place_of(text, start, encoding), place_of(text, end, encoding))
        mine.change([Change(new, range_)], encoding)
        text = text[:start] + new + text[end:]
    assert mine.data == text.encode()
    numbers = range(len(mine.starts))
    assert [mine.line(number) for number in numbers] == lines_of(text)
    before = [text.encode()[: mine.starts[number]] for number in numbers]
    assert [mine.line_feeds_before(number) for number in numbers] == [line.count(b"\n") for line in before]


def lines_of(text: str) -> list[bytes]:
    whole = text.replace("\r\n", "\n").replace("\r", "\n")
    return [line.encode() for line in whole.split("\n")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_places_outside_of_a_text_are_its_ends(encoding: Encoding) -> None:
    text = OpenText("ü\nb".encode())
    text.change([Change("!", TextRange(TextPosition(7, 7), TextPosition(9, 9)))], encoding)
    text.change([Change("?", TextRange(TextPosition(0, 99), TextPosition(0, 99)))], encoding)
    assert text.data == "ü?\nb!".encode()


def test_a_range_that_ends_before_it_begins_takes_nothing_away() -> None:
    text = OpenText(b"abc")
    text.change([Change("x", TextRange(TextPosition(0, 2), TextPosition(0, 1)))], "utf-16")
    assert text.data == b"abxc"


def test_halves_of_surrogate_pairs_become_replacement_characters() -> None:
    text = OpenText(b"")
    text.change([Change("\ud83d.")], "utf-16")
    assert text.data == "\ufffd.".encode()


def test_a_text_that_grows_too_large_is_let_go_of_until_it_is_small_again() -> None:
    text = OpenText(b"x" * (MAX_TEXT_BYTES - 1))
    text.change([Change("yy", TextRange(TextPosition(0, 0), TextPosition(0, 0)))], "utf-16")
    assert text.data is None
    text.change([Change("z", TextRange(TextPosition(0, 0), TextPosition(0, 0)))], "utf-16")
    assert text.data is None
    text.change([Change("whole")], "utf-16")
    assert text.data == b"whole"


@pytest.mark.parametrize(("more", "kept"), [(0, True), (1, False)])
def test_more_changes_at_once_than_others_can_wait_for_end_the_keeping(more: int, kept: bool) -> None:
    change = Change("y", TextRange(TextPosition(0, 0), TextPosition(0, 1)))
    text = OpenText(b"x" * MAX_TEXT_BYTES)
    text.change([change] * (MAX_OPEN_TEXT_BYTES // MAX_TEXT_BYTES + more), "utf-16")
    assert (text.data is not None) == kept
    text.change([Change("whole")], "utf-16")
    assert text.data == b"whole"
