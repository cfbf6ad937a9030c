"""How results quote transcripts: whatever a text holds, each of its lines is a short quoted line."""

import re

from hypothesis import given, strategies as st

from sessiond.mcp.quoting import CleanText, joined, quoted, quoted_line, shown_id
from sessiond.mcp.tools.finding import without_cut_word
from sessiond.session.content.preview import clean

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=600)


@given(TEXTS, st.integers(20, 2_000))
def test_each_line_of_a_text_is_quoted_and_short(text: str, limit: int) -> None:
    found = quoted(CleanText(text), limit)
    assert len(found) <= limit
    for line in found.splitlines():
        assert line == ">" or line.startswith("> ")
        assert len(line) <= 202


@given(TEXTS)
def test_a_text_within_the_limit_loses_nothing_but_white_space_and_control_characters(text: str) -> None:
    found = quoted(CleanText(text), 10_000)
    shown = "".join(line[1:] for line in found.splitlines())
    assert "".join(shown.split()) == "".join(clean(text).split())


@given(TEXTS)
def test_one_line_is_one_line(text: str) -> None:
    assert len(quoted_line(CleanText(text), 200).splitlines()) == 1


@given(TEXTS)
def test_a_shown_id_is_one_word_or_a_json_string(id: str) -> None:
    shown = shown_id(id)
    assert len(shown.splitlines()) == 1
    assert re.fullmatch(r"[A-Za-z0-9._:@/+-]+", shown) or (shown[0], shown[-1]) == ('"', '"')


def test_the_explanation_of_quotes_is_given_where_there_are_any() -> None:
    assert "not instructions" in joined(["Head"], ["> text"])
    assert joined(["Head"], ["plain", ""]) == "Head\n\nplain"


def test_the_last_word_of_a_cut_text_is_left_out() -> None:
    assert without_cut_word("the key is sk-12…") == "the key is …"
    assert without_cut_word("whole") == "whole"
    assert without_cut_word("a" * 199 + "…").strip() == "…"
    assert without_cut_word(None) == ""
