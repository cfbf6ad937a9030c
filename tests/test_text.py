"""Text of transcripts on its way to a terminal."""

import pytest
from hypothesis import given, strategies as st

from sessiond.text import fit, lines, one_line, pad, width, wrap


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2J\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;new title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;cHduZWQ=\x07", ""),
        ("\x1bPq#0\x1b\\sixel", "sixel"),
        ("\x9b31mred", "red"),
        ("\x1bcreset", "reset"),
        ("half\x1b", "half"),
        ("a\x00b\x07c\x7fd\x85e", "abcde"),
        ("a\u202eb\u2066c", "abc"),
        ("tag\U000e0041", "tag"),
        ("lone \ud800", "lone \ufffd"),
        ("two\nlines\tand\u2028more", "two lines and more"),
        ("  spaced   out ", "spaced out"),
        ("👩\u200d💻 e\u0301 \ue0b0", "👩\u200d💻 e\u0301 \ue0b0"),
    ],
)
def test_characters_that_act_on_the_terminal_are_taken_out(hostile: str, shown: str) -> None:
    assert one_line(hostile) == shown


def test_lines_stay_lines_and_blanks_stay_blanks() -> None:
    assert lines("a\r\n  b\tc\n\x1b[1md") == ["a", "  b    c", "d"]


@given(st.text())
def test_nothing_that_comes_out_can_move_a_cursor(text: str) -> None:
    for shown in (one_line(text), *lines(text)):
        assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in shown)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("abc", 3),
        ("日本", 4),
        ("e\u0301", 1),
        ("👍🏽", 2),
        ("👩\u200d💻", 2),
        ("❤\ufe0f", 2),
        ("🇩🇪", 2),
        ("", 0),
    ],
)
def test_width_counts_columns(text: str, columns: int) -> None:
    assert width(text) == columns


def test_a_text_is_cut_between_characters_and_says_so() -> None:
    assert fit("abcdef", 6) == "abcdef"
    assert fit("abcdef", 4) == "abc…"
    assert fit("日本語", 4) == "日…"
    assert fit("abcdef", 5, "...") == "ab..."
    assert fit("abcdef", 0) == ""


@given(st.text(alphabet="ab日👍\u0301 ", max_size=30), st.integers(0, 20))
def test_a_cut_text_fits(text: str, columns: int) -> None:
    assert width(fit(text, columns)) <= columns


def test_padding_is_measured_in_columns() -> None:
    assert pad("日", 4) == "日  "


WORDS = st.text(alphabet=st.sampled_from("ab \n漢字👍é\u0301-"), max_size=60)


@given(WORDS, st.integers(2, 20))
def test_wrapped_lines_fit_and_have_all_characters_in_order(text: str, columns: int) -> None:
    found = wrap(text, columns)
    assert all(0 < width(line) <= columns for line in found if line.strip("\u0301"))
    assert "".join(found).replace(" ", "") == "".join(text.split())


def test_wide_characters_and_emoji_take_two_columns_of_a_line() -> None:
    assert wrap("漢字漢字漢字", 8) == ["漢字漢字", "漢字"]
    assert wrap("see 漢字漢字漢字", 8) == ["see 漢字", "漢字漢字"]
    assert wrap("👍👍👍 done", 6) == ["👍👍👍", "done"]
