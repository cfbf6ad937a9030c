"""The words of a recall: the file of synonyms, stems, and the names in code that are split."""

import pytest
from hypothesis import given, strategies as st

from sessiond.hub.recall import question, synonyms
from sessiond.hub.recall.stemming import Stemmer, stems_of_texts
from sessiond.hub.recall.stop_words import STOP_WORDS
from sessiond.session.content import identifiers


def terms(wording: str, text: str) -> dict[str, set[str]]:
    """The synonyms of each word of a wording."""
    read = question.read([wording], synonyms.read(text), Stemmer())
    return {concept.word: {" ".join(term.words) for term in concept.synonyms} for concept in read.concepts}


def test_the_file_has_some_hundred_groups_of_different_terms() -> None:
    loaded = synonyms.load()
    assert 800 <= len(loaded.groups) <= 1500
    for group in loaded.groups:
        stems = [term.stems for term in group]
        assert len(stems) == len(set(stems)) >= 1, group
        assert all(0 < len(stem) <= synonyms.MAX_TERM_WORDS for stem in stems), group
        assert not any(set(term.words) <= STOP_WORDS for term in group), group


def test_a_term_of_a_kind_is_compared_with_the_kind_and_not_with_its_siblings() -> None:
    text = "cloud, hosted: aws, gcp"
    assert terms("cloud", text) == {"cloud": {"hosted", "aws", "gcp"}}
    assert terms("aws", text) == {"aws": {"cloud", "hosted"}}


@pytest.mark.parametrize(
    ("question_text", "asks"),
    [("how many pods run?", True), ("port of the debugger", True), ("why is it slow?", False)],
)
def test_a_question_may_ask_for_a_number(question_text: str, asks: bool) -> None:
    assert question.read([question_text], synonyms.read(""), Stemmer()).asks_number is asks


def test_a_word_has_the_other_terms_of_its_groups() -> None:
    assert terms("bug", "bug, defect\nfix, repair") == {"bug": {"defect"}}


def test_inflections_are_found_by_stemming() -> None:
    assert terms("repaired defects", "bug, defect\nfix, repair") == {"repaired": {"fix"}, "defects": {"bug"}}


def test_a_term_of_several_words_is_found_around_stop_words() -> None:
    assert terms("logged in", "login, log in") == {"logged": {"login"}}


def test_a_word_of_several_groups_counts_less() -> None:
    read = question.read(["key table"], synonyms.read("key, id\nkey, secret\ntable, relation"), Stemmer())
    key, table = read.concepts
    assert key.synonym_weight < table.synonym_weight


def test_comments_and_empty_lines_are_no_groups() -> None:
    assert len(synonyms.read("# bugs\n\nbug, defect  # both\n").groups) == 1


def test_stop_words_say_nothing_unless_there_is_nothing_else() -> None:
    assert list(terms("why is the lid open", "")) == ["lid", "open"]
    assert list(terms("to be", "")) == ["to", "be"]


def test_a_long_question_is_cut() -> None:
    words = " ".join(f"word{number}x" for number in range(200))
    assert len(question.read([words], synonyms.read(""), Stemmer()).concepts) <= question.MAX_CONCEPTS


@pytest.mark.parametrize(
    ("text", "parts", "names"),
    [
        ("retryBudget", "retry Budget", "retrybudget"),
        ("HTTPServer2", "HTTP Server", "httpserver2"),
        ("plain words here", "", ""),
        ("src/hub/index.py and v1.2", "", "src/hub/index.py v1.2"),
        ("retry_budget", "", "retry_budget"),
    ],
)
def test_names_in_code_are_split(text: str, parts: str, names: str) -> None:
    assert identifiers.found_in(text) == (parts, names)


@given(st.text('abAB09_./:- é\n\t"', max_size=30))
def test_names_are_those_that_their_patterns_find_in_the_whole_text(text: str) -> None:
    parts = [identifiers.found_in(name).parts for name in dict.fromkeys(identifiers.CAMEL.findall(text))]
    names = dict.fromkeys(name.lower() for name in identifiers.NAME.findall(text))
    assert identifiers.found_in(text) == (" ".join(filter(None, parts)), " ".join(names))


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("conversion", "convert"),
        ("fails", "failure"),
        ("expire", "expiry"),
        ("users", "user"),
    ],
)
def test_words_that_are_derived_from_each_other_are_found(word: str, other: str) -> None:
    (concept,) = question.read([word], synonyms.read(""), Stemmer()).concepts
    (stem,) = stems_of_texts([other])[0]
    assert stem in {concept.stem, *(term.stems[0] for term in concept.derived)}


def test_a_word_of_several_wordings_counts_more() -> None:
    read = question.read(["red kite", "kite wing"], synonyms.read(""), Stemmer())
    weights = {concept.word: concept.weight for concept in read.concepts}
    assert weights["kite"] > weights["red"] == weights["wing"] == 1


def test_stems_are_those_of_the_index() -> None:
    assert stems_of_texts(["retries retrying", "", "Caf\u00e9"]) == [("retri", "retri"), (), ("cafe",)]
