"""The texts in the index: read from files, saved for several sessions together, and removed with their sessions."""

from pathlib import Path

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
