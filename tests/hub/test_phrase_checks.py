"""Phrases are found in the texts exactly as an index with the places of words would find them."""

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing

from hypothesis import example, given, strategies as st

from sessiond.hub.index.phrase_checks import LETTERS, SIGNS, TOKENIZER, PhraseChecks
from sessiond.session.content import search_words

WORDS = (
    "garnet", "Garnets", "opal", "to", "be", "not", "retry_budget", "retryBudget", "naïve", "ÉTÉ", "e\u0301t",
    "数据", "库", "の", "데이터", "привет", "v2", "\U0001e900", "🎉", "→", "ß", "K", "x²",
    "Ελλάδα", "Йод", "œuvre", "İz", "×", "«", "ǆ",
)  # fmt: skip
TEXT = st.lists(st.sampled_from((*WORDS, " ", ", ", "_", "\u200b", "\u0301")), max_size=14).map("".join)
PART = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
QUERY = st.lists(
    st.builds(
        "{0}{1}{0}{2}".format, st.sampled_from(('"', "")), PART, st.sampled_from(("", "*"))
    ), min_size=1, max_size=3,
).map(" ".join)  # fmt: skip


def with_places(texts: Sequence[str], phrases: Sequence[search_words.Phrase]) -> list[int]:
    """Return the numbers of the texts that SQLite finds with an index that has the places of words."""
    query = " AND ".join(f'"{" ".join(phrase.words)}"{" *" if phrase.prefix else ""}' for phrase in phrases)
    return asked(texts, query, "full")


def asked(texts: Sequence[str], query: str, detail: str) -> list[int]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(
            f"CREATE VIRTUAL TABLE words USING fts5(text, content='', detail={detail}, tokenize=\"{TOKENIZER}\")"
        )
        connection.executemany("INSERT INTO words(rowid, text) VALUES(?, ?)", enumerate(texts, 1))
        sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid"
        return [number for (number,) in connection.execute(sql, (query,))]


@given(texts=st.lists(TEXT, max_size=8), query=QUERY)
@example(texts=["not garnet", "garnet not opal", "garnet, opal", "garnet_opals"], query='"garnet opal*"')
@example(texts=["数 据", "数据库", "据数"], query="数据")
@example(texts=["a \U0001e900 b", "a b"], query='"\U0001e900 b"')
def test_phrases_are_found_where_an_index_with_places_finds_them(texts: list[str], query: str) -> None:
    phrases = search_words.phrases(query)
    if not phrases:
        return
    searchable = [search_words.searchable(text, 1_000) for text in texts]
    checks = PhraseChecks(phrases)
    candidates = asked(searchable, checks.match, "none")
    found = (
        sorted(checks.matching((number, searchable[number - 1]) for number in candidates))
        if checks.are_needed
        else candidates
    )
    assert found == with_places(searchable, phrases)


def test_the_tokenizer_takes_the_known_characters_as_letters_and_signs() -> None:
    known = re.compile(f"[{LETTERS}]"), re.compile(f"[{SIGNS}]")
    letters, signs = ([chr(code) for code in range(0x10000) if kind.match(chr(code))] for kind in known)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f'CREATE VIRTUAL TABLE texts USING fts5(text, tokenize="{TOKENIZER}")')
        connection.execute("CREATE VIRTUAL TABLE tokens USING fts5vocab(texts, 'instance')")
        texts = [f"a{character}b" for character in (*letters, *signs)]
        connection.executemany("INSERT INTO texts(rowid, text) VALUES(?, ?)", enumerate(texts, 1))
        found: dict[int, list[str]] = {}
        for number, token in connection.execute("SELECT doc, term FROM tokens ORDER BY doc, offset"):
            found.setdefault(number, []).append(token)
    assert [found[number] for number in range(1, len(letters) + 1)] == [
        [text] for text in texts[: len(letters)]
    ]
    assert all(found[number] == ["a", "b"] for number in range(len(letters) + 1, len(texts) + 1))
