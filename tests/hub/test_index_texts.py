"""The texts in the index: read from files, saved for several sessions together, and removed with their sessions."""

import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from sessiond.hub.index import packed_texts
from sessiond.hub.index.packed_texts import PackedTexts
from support import logs
from support.file_index import file_index


def test_texts_of_many_sessions_are_all_found(tmp_path: Path) -> None:
    with file_index(tmp_path) as index:
        for number in range(30):
            index.write(f"session-{number:02}", logs.user(f"garnet {number}"))
        index.update()
        assert sorted(session for session, _ in index.found("garnet")) == [
            f"session-{number:02}" for number in range(30)
        ]


def test_a_file_that_is_replaced_after_it_was_read_is_found_by_its_new_text_only(tmp_path: Path) -> None:
    with file_index(tmp_path) as index:
        index.write("other", logs.user("opal"))
        index.write("replaced", logs.user("garnet"))
        index.check()
        index.step()
        index.write("replaced", logs.user("beryl"))
        index.update()
        assert index.found("garnet") == []
        assert [session for session, _ in index.found("beryl")] == ["replaced"]
        assert [session for session, _ in index.found("opal")] == ["other"]


def test_the_texts_of_a_deleted_session_are_not_found_any_more(tmp_path: Path) -> None:
    with file_index(tmp_path) as index:
        index.write("kept", logs.user("garnet and opal"))
        deleted = index.write("deleted", logs.user("garnet"), logs.user("beryl", id="second"))
        index.update()
        deleted.unlink()
        index.update()
        assert [session for session, _ in index.found("garnet")] == ["kept"]
        assert index.found("beryl") == []


def test_texts_are_found_whether_a_dictionary_packed_them_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed_texts, "FIRST_TRAINING", 40)
    words = [
        f"word{number} in a sentence about {number * 7919} and its neighbors " * 20 for number in range(60)
    ]
    with file_index(tmp_path) as index:
        index.write("first", *[logs.user(f"garnet {words[number]}") for number in range(45)])
        index.update()
        index.write("second", *[logs.user(f"opal {words[number]}") for number in range(60)])
        index.update()
        connection = index.worker.database.connection
        assert connection.execute("SELECT count(*) FROM dictionaries").fetchone()[0]
        used = {number for (number,) in connection.execute("SELECT dictionary FROM packed")}
        assert len(used) > 1
        before = {hit.snippet for query in ("garnet", "opal") for hit in index.search(query)}
        assert len(before) == 105
    with file_index(tmp_path) as index:
        index.check()
        assert {hit.snippet for query in ("garnet", "opal") for hit in index.search(query)} == before


@given(
    texts=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=30), max_size=40),
    parts=st.lists(st.integers(0, 40), max_size=6),
)
def test_each_text_is_unpacked_as_it_was_whatever_was_added_together(
    texts: list[str], parts: list[int]
) -> None:
    with (
        closing(sqlite3.connect(":memory:", isolation_level=None)) as connection,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(packed_texts, "BLOCK_BYTES", 64)
        connection.executescript(
            packed_texts.TABLES + "CREATE TABLE entries(id INTEGER PRIMARY KEY, file INTEGER);"
        )
        packed = PackedTexts(connection)
        ends = sorted({min(end, len(texts)) for end in (*parts, len(texts))})
        for begin, end in pairwise([0, *ends]):
            file = 1 + begin // 10
            connection.executemany(
                "INSERT INTO entries VALUES(?, ?)", [(n, file) for n in range(begin + 1, end + 1)]
            )
            packed.add(file, begin + 1, texts[begin:end])
        assert [packed.text(number) for number in range(1, len(texts) + 1)] == texts
        of_files = [text for file in range(1, 6) for _, found in packed.of_file(file) for text in found]
        assert of_files == texts


def test_an_entry_without_a_text_is_damage(tmp_path: Path) -> None:
    with file_index(tmp_path) as index:
        index.write("session", logs.user("garnet"))
        index.update()
        with pytest.raises(sqlite3.DatabaseError, match="text 7 is missing"):
            index.worker.database.texts.text(7)


@pytest.mark.parametrize("change", ["DELETE FROM packed", "UPDATE packed SET data = x'28b52ffd'"])
def test_damaged_texts_are_indexed_again(tmp_path: Path, change: str) -> None:
    with file_index(tmp_path) as index:
        index.write("session", logs.user("garnet"))
        index.update()
        index.worker.database.connection.execute(change)
        index.search("garnet")
        index.update()
        assert [session for session, _ in index.found("garnet")] == ["session"]
