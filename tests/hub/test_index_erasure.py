"""After a session is forgotten, no bytes of its texts stay in the files of the index."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.index import packed_texts
from support import logs
from support.daemons import assistant, running, user
from support.file_index import FileIndex, file_index
from support.following import until

SECRETS = [f"secret{number * 7919}heron" for number in range(40)]


def prose(number: int) -> str:
    return f"word{number} in a sentence about {number * 104_729} and its neighbors " * 12


def with_secrets(number: int) -> str:
    return f"{prose(number)} {' '.join(SECRETS)} {prose(number + 1)}"


def traces(state: Path) -> set[str]:
    """The secrets of which a file of the index has bytes: in a table, a dictionary, a free page or the WAL."""
    files = [file.read_bytes() for file in state.glob("index.db*")]
    return {secret for secret in SECRETS if any(secret.encode() in data for data in files)}


def fill(index: FileIndex) -> Path:
    """Write and index sessions of which one has the secrets. Returns the file of that one."""
    index.write("before", *[logs.user(prose(number), id=f"b{number}") for number in range(60)])
    forgotten = index.write(
        "forgotten", *[logs.user(with_secrets(number), id=f"f{number}") for number in range(40)]
    )
    index.update()
    index.write("after", *[logs.user(f"opal {prose(number)}", id=f"a{number}") for number in range(60)])
    index.update()
    return forgotten


def erase(index: FileIndex, *, between: Callable[[], Any] = lambda: None) -> None:
    index.worker.ask(lambda worker: worker.erasure.request())
    while index.worker.ask(lambda worker: worker.erasure.step()):
        between()


@pytest.fixture(autouse=True)
def early_dictionaries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_texts, "FIRST_TRAINING", 80)


def test_an_erasure_leaves_no_word_of_a_removed_session_in_the_files(tmp_path: Path) -> None:
    with file_index(tmp_path) as index:
        forgotten = fill(index)
        connection = index.worker.database.connection
        assert connection.execute("SELECT count(*) FROM dictionaries").fetchone()[0]
        forgotten.unlink()
        index.update()
        assert traces(tmp_path / "state"), "without an erasure, words stay"
        erase(index)
        assert traces(tmp_path / "state") == set()
        assert len(index.found("opal")) == 60
        assert len(index.found("sentence")) == 120


def test_texts_that_are_indexed_during_an_erasure_are_found(tmp_path: Path) -> None:
    with file_index(tmp_path) as index:
        forgotten = fill(index)
        forgotten.unlink()
        index.update()
        written = iter(range(1_000))

        def write_more() -> None:
            number = next(written)
            index.write(f"more-{number}", logs.user(f"beryl {prose(number)}"))
            index.update()

        erase(index, between=write_more)
        count = next(written)
        assert count > 1
        assert len(index.found("beryl")) == count
        assert len(index.found("sentence")) == 120 + count
        assert traces(tmp_path / "state") == set()


def test_an_erasure_that_was_cut_off_is_done_when_the_index_is_opened_again(tmp_path: Path) -> None:
    with file_index(tmp_path) as index:
        forgotten = fill(index)
        forgotten.unlink()
        index.update()
        index.worker.ask(lambda worker: worker.erasure.request())
        index.worker.ask(lambda worker: worker.erasure.step())
    assert traces(tmp_path / "state")
    with file_index(tmp_path) as index:
        index.update()
        while index.worker.ask(lambda worker: worker.erasure.step()):
            pass
        assert traces(tmp_path / "state") == set()
        assert len(index.found("opal")) == 60


def test_an_index_with_few_texts_is_erased_too(tmp_path: Path) -> None:
    with file_index(tmp_path) as index:
        forgotten = index.write(
            "forgotten", *[logs.user(with_secrets(number), id=f"f{number}") for number in range(100)]
        )
        index.update()
        index.write("kept", logs.user("opal"))
        index.update()
        forgotten.unlink()
        index.update()
        erase(index)
        assert traces(tmp_path / "state") == set()
        assert [session for session, _ in index.found("opal")] == ["kept"]


async def test_forgetting_a_session_erases_its_words_from_the_index(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with running(home) as daemon:
        peer = await daemon.attach()
        name = (await peer.call("session/create", cwd=str(tmp_path)))["session"]["sessionId"]
        await peer.append(name, *[user(with_secrets(number)) for number in range(20)], assistant("An answer"))
        assert (await peer.call("session/search", query=SECRETS[0], waitMs=10_000))["hits"]
        assert traces(home / "state")
        await peer.call("session/delete", sessionId=name, forget=True)

        async def is_erased() -> bool:
            return not traces(home / "state")

        await until(is_erased)
