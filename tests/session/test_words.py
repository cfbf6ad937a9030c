"""Questions, texts and snippets, without an index."""

import pytest
from hypothesis import given, strategies as st

from sessiond.session.content.search_words import JOINT, Phrase, fold, phrases, readable, searchable, snippet


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("red fox", [Phrase(("red",)), Phrase(("fox",))]),
        ('"red fox" jumps', [Phrase(("red", "fox")), Phrase(("jumps",))]),
        ('"red fo"*', [Phrase(("red", "fo"), prefix=True)]),
        ("jum*", [Phrase(("jum",), prefix=True)]),
        ("src/words.py", [Phrase(("src", "words", "py"))]),
        ("搜索", [Phrase(("搜", "索"))]),
        ('"not closed', [Phrase(("not", "closed"))]),
        ('!? "" *', []),
    ],
)
def test_a_question_is_read_as_phrases(question: str, expected: list[Phrase]) -> None:
    assert phrases(question) == expected


@given(st.text())
def test_anything_can_be_asked_and_searched(text: str) -> None:
    kept = searchable(text, 100)
    assert len(readable(kept)) <= 100
    assert "\n" not in kept
    assert all(word for phrase in phrases(text) for word in phrase.words)
    shown = snippet(readable(kept), phrases(text))
    assert all(0 <= start < end <= len(shown.text) for start, end in shown.ranges)


def test_a_text_is_one_clean_line_and_unspaced_scripts_are_parted() -> None:
    assert searchable("a\tb\n\x1b[31mred\x1b[0m 全文x", 99) == f"a b red 全{JOINT}文{JOINT}x"
    assert readable(searchable("全文x", 99)) == "全文x"


@pytest.mark.parametrize("control", [*map(chr, range(32)), *map(chr, range(0x7F, 0xA0))], ids=ascii)
def test_a_control_character_separates_words(control: str) -> None:
    if control != "\x1b":  # it begins a terminal code
        assert searchable(f"heron{control}ouzel", 99) == "heron ouzel"
    assert [phrase.words for phrase in phrases(f"heron{control}ouzel")] in (
        [("heron",), ("ouzel",)],
        [("heron", "ouzel")],
    )


def test_characters_that_no_one_sees_do_not_separate_words() -> None:
    assert searchable("her\u200fon \x1b[1mouz\x1b[0mel her\ufeffon", 99) == "heron ouzel heron"


def test_words_fold_case_and_accents() -> None:
    assert [fold(word) for word in ("Café", "ÉTÉ", "Ключ", "全")] == ["cafe", "ete", "ключ", "全"]


def test_a_snippet_shows_where_most_of_the_question_stands_together() -> None:
    text = "red " * 100 + "then a red fox jumps " + "over " * 100
    shown = snippet(text, phrases("red fox"))
    assert "a red fox jumps" in shown.text
    assert [shown.text[start:end] for start, end in shown.ranges][-2:] == ["red", "fox"]
    assert shown.text.startswith("…")
    assert shown.text.endswith("…")
    assert len(shown.text) <= 170


def test_ranges_cover_phrases_and_beginnings() -> None:
    shown = snippet("The Quick brown foxes, 全文搜索!", phrases('"quick brown" fox* 搜索'))
    assert [shown.text[start:end] for start, end in shown.ranges] == ["Quick brown", "foxes", "搜索"]
