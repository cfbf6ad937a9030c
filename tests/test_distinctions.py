"""Rows that look the same: the rule of protocol.md, as this program applies it."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st

from sessiond.distinctions import distinctions, session_facts
from support.look_alikes import CASES

LONG = "The parser skips the last line of a file that has no line feed at its end"


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_rows_that_look_the_same_show_what_differs(case: dict[str, Any], utc: None) -> None:
    rows = [
        (
            row["shown"],
            session_facts(
                title=row["title"], first_prompt=row["firstPrompt"], agent=row["agent"] or "", cwd=row["cwd"],
                home="/home/of-another", updated_at=row["updatedAt"], last_words=row["lastWords"],
            ),
            row["sessionId"],
        )
        for row in case["rows"]
    ]  # fmt: skip
    assert distinctions(rows) == [row["added"] for row in case["rows"]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Re\u0301sume\u0301", "Résumé"),
        ("ﾃｽﾄ ｶﾞ", "テスト ガ"),
        ("㎏", "kg"),
        ("ﬁx", "fix"),
        ("각", "\u1100\u1161\u11a8"),
    ],
)
def test_other_forms_of_the_same_letters_look_the_same(one: str, other: str) -> None:
    assert distinctions([(one, ["codex"], "1"), (other, ["gemini"], "2")]) == [["codex"], ["gemini"]]


_TEXTS = st.one_of(
    st.text(max_size=60),
    st.text("ab /\u200b👍", max_size=60),
    st.builds(str.__add__, st.just(LONG), st.text("ab ", max_size=50)),
)


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "a ", "ab", "👍"]), st.tuples(_TEXTS, _TEXTS)), min_size=1, max_size=8
    )
)
def test_rows_with_ids_never_look_the_same_and_other_rows_stay_as_they_are(
    rows: list[tuple[str, tuple[str, str]]],
) -> None:
    added = distinctions([(shown, facts, f"session-{place}") for place, (shown, facts) in enumerate(rows)])
    seen = ["".join(shown.split()) for shown, _ in rows]
    assert len({(shown, "".join(texts)) for shown, texts in zip(seen, added, strict=True)}) == len(rows)
    for shown, texts in zip(seen, added, strict=True):
        assert seen.count(shown) > 1 or texts == []
