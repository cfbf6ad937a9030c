"""An agent with a database is followed as one with files, and its database is left alone."""

import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from random import Random
from string import ascii_letters
from typing import Any

import pytest

from sessiond.agents.opencode import database as opencode_database
from sessiond.agents.session_database import UnreadableDatabase
from sessiond.agents.table import AGENTS
from sessiond.hub.following import follower
from sessiond.hub.following.storage import sources_of
from sessiond.hub.transfer import foreign_files
from support.columns import entries_of, messages_of
from support.daemons import Peer, running
from support.following import has, info, texts, until
from support.writing_opencode import SESSION, WritingOpenCode

YEAR_2001 = 1_000_000_000

OTHER = "ses_barn_owl"


@pytest.fixture
def database(agents_home: Path) -> Path:
    return agents_home / ".local/share/opencode/opencode.db"


@pytest.fixture
def opencode(database: Path) -> Iterator[WritingOpenCode]:
    agent = WritingOpenCode(database)
    yield agent
    agent.close()


@pytest.fixture
async def peer(tmp_path: Path, agents_home: Path) -> AsyncIterator[Peer]:
    async with running(tmp_path / "home") as daemon:
        yield await daemon.attach()


async def follow(peer: Peer) -> None:
    """Follow OpenCode, and wait until what it has is here."""
    await peer.call("agent/follow", agents=["opencode"], workDoneToken="first")


async def listed(peer: Peer) -> dict[str, Any]:
    """OpenCode as `agent/list` describes it."""
    [found] = [agent for agent in (await peer.call("agent/list"))["agents"] if agent["name"] == "opencode"]
    return dict(found)


async def has_problem(peer: Peer, part: str) -> bool:
    return any(part in problem["message"] for problem in (await listed(peer))["problems"])


async def test_messages_of_opencode_are_announced_and_found(peer: Peer, opencode: WritingOpenCode) -> None:
    opencode.begins()
    opencode.asks("Where is the heron?")
    opencode.says("In the reeds.")
    await follow(peer)
    assert await texts(peer, SESSION) == ["Where is the heron?", "In the reeds."]
    await peer.call("session/subscribe", sessionId=SESSION)
    opencode.asks("And the rhinoceros?")
    opencode.says("In the savanna.")
    await peer.until(lambda client: any("savanna" in str(body) for body in client.bodies))
    await until(lambda: _found(peer, "rhinoceros"))
    assert (await texts(peer, SESSION))[2:] == ["And the rhinoceros?", "In the savanna."]


async def _found(peer: Peer, word: str) -> bool:
    return bool((await peer.call("session/search", query=word))["hits"])


async def test_a_new_session_and_its_subagent_are_announced(peer: Peer, opencode: WritingOpenCode) -> None:
    await follow(peer)
    for session, parent in ((SESSION, None), (OTHER, SESSION)):
        opencode.begins(session, parent=parent)
        opencode.asks("look it up", session)
        opencode.says("found", session)
    await has(peer, "found", OTHER)
    assert (await info(peer, OTHER))["parentSessionId"] == SESSION
    created = {notification["session"]["sessionId"] for notification in peer.told("session/created")}
    assert created == {SESSION, OTHER}


async def test_only_the_sessions_that_changed_are_read_again(
    peer: Peer, opencode: WritingOpenCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        opencode.begins(f"ses_number_{number}")
        opencode.asks("hello", f"ses_number_{number}")
        opencode.says("hello", f"ses_number_{number}")
    await follow(peer)
    was_read: list[str] = []
    read = foreign_files.read

    def reading(path: str, *more: Any) -> Any:
        was_read.append(path.partition("#")[2])
        return read(path, *more)

    monkeypatch.setattr(foreign_files, "read", reading)
    opencode.asks("and now?", "ses_number_3")
    opencode.says("now", "ses_number_3")
    await has(peer, "now", "ses_number_3")
    assert set(was_read) == {"ses_number_3"}


async def test_a_session_without_events_is_followed_by_the_time_of_its_newest_message(
    peer: Peer, database: Path
) -> None:
    opencode = WritingOpenCode(database, numbers_events=False)
    opencode.begins()
    opencode.asks("hello")
    await follow(peer)
    name = opencode.begins_to_say()
    opencode.ends(name, "from an older version")
    await has(peer, "from an older version", SESSION)
    opencode.close()


async def test_an_answer_is_read_when_it_is_complete(peer: Peer, opencode: WritingOpenCode) -> None:
    opencode.begins()
    opencode.asks("Where is the heron?")
    await follow(peer)
    name = opencode.begins_to_say()
    await has(peer, "Where is the heron?", SESSION)
    opencode.ends(name, "In the reeds.")
    await has(peer, "In the reeds.", SESSION)
    assert await texts(peer, SESSION) == ["Where is the heron?", "In the reeds."]


async def test_only_the_last_messages_of_a_long_session_are_read(
    peer: Peer, opencode: WritingOpenCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    opencode.begins()
    for number in range(40):
        opencode.asks(f"question {number}")
        opencode.says(f"answer {number}")
    await follow(peer)
    opencode.says("read whole")
    await has(peer, "read whole", SESSION)
    whole: list[str] = []
    read = foreign_files.read

    def reading(path: str, *more: Any) -> Any:
        whole.append(path)
        return read(path, *more)

    monkeypatch.setattr(foreign_files, "read", reading)
    for number in range(60):
        opencode.says(f"alone {number}")
        if number % 10 == 9:
            await has(peer, f"alone {number}", SESSION)
    opencode.titles("A later title")
    await until(lambda: _has_title(peer, "A later title"))
    assert whole == []
    said = [f"{name} {number}" for number in range(40) for name in ("question", "answer")]
    assert await texts(peer, SESSION) == [*said, "read whole", *(f"alone {number}" for number in range(60))]


def other_clock(random: Random, *, late_by: float) -> Callable[[int, str], str]:
    """Ids of prompts by a clock that is wrong by some seconds; the ends of all ids are random."""

    def name(now: int, role: str) -> str:
        at = now + (int(1000 * late_by) if role == "user" else 0)
        return f"msg_{at * 4096 % (1 << 48):012x}{''.join(random.choices(ascii_letters, k=14))}"

    return name


async def spoken(peer: Peer, session: str = SESSION) -> list[str]:
    """The texts of the messages that a model receives."""
    found = messages_of(await peer.call("session/context", sessionId=session))
    return [part["text"] for message in found for part in message["content"]]


@pytest.mark.parametrize("late_by", [-600.0, -0.01, 3.0, 86_400.0])
async def test_a_wrong_clock_of_the_ids_of_prompts_changes_nothing(
    peer: Peer, database: Path, late_by: float
) -> None:
    random, ticks = Random(late_by), count(1_767_225_600_000, 7)
    opencode = WritingOpenCode(database, name=other_clock(random, late_by=late_by), clock=ticks.__next__)
    said: dict[str, list[str]] = {SESSION: [], OTHER: []}
    for session, texts_before in said.items():
        opencode.begins(session)
        for _ in range(1 if session == SESSION else 40):
            texts_before += ["asked", "answered"]
            opencode.asks("asked", session)
            opencode.says("answered", session)
    await follow(peer)
    for turn in range(12):
        for session, before in said.items():
            before.append(f"prompt {turn}")
            opencode.asks(before[-1], session)
            before += [f"answer {turn}.{number}" for number in range(random.choice([1, 2, 3]))]
            for text in before[before.index(f"prompt {turn}") + 1 :]:
                opencode.says(text, session)
        if turn % 3 == 2:
            for session, before in said.items():
                await has(peer, before[-1], session)
    for session, before in said.items():
        assert await spoken(peer, session) == before
    assert len((await peer.call("session/list"))["sessions"]) == 2
    opencode.close()


async def test_a_message_whose_clock_went_back_follows_those_that_are_here(
    peer: Peer, database: Path
) -> None:
    times = [1_767_225_600_000]
    opencode = WritingOpenCode(database, clock=lambda: times[0])
    opencode.begins()
    opencode.asks("one")
    opencode.says("two")
    await follow(peer)
    times[0] -= 3_600_000
    opencode.asks("three")
    opencode.says("four")
    await has(peer, "four", SESSION)
    times[0] += 7_200_000
    opencode.asks("five")
    opencode.says("six")
    await has(peer, "six", SESSION)
    assert await spoken(peer) == ["one", "two", "three", "four", "five", "six"]
    assert len((await peer.call("session/list"))["sessions"]) == 1
    opencode.close()


async def test_a_session_of_2000_messages_goes_on_with_its_last_messages_only(
    peer: Peer, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opencode = WritingOpenCode(database, name=other_clock(Random(1), late_by=-600.0))
    opencode.begins()
    opencode.db.execute("PRAGMA synchronous = OFF")
    for number in range(1_000):
        opencode.asks(f"prompt {number}")
        opencode.says(f"answer {number}")
    await follow(peer)
    opencode.asks("read whole")
    opencode.says("once more")
    await has_in_context(peer, "once more")
    whole: list[str] = []
    read = foreign_files.read

    def reading(path: str, *more: Any) -> Any:
        whole.append(path)
        return read(path, *more)

    monkeypatch.setattr(foreign_files, "read", reading)
    for number in range(1_000, 1_010):
        opencode.asks(f"prompt {number}")
        opencode.says(f"answer {number}")
        await has_in_context(peer, f"answer {number}")
    assert whole == []
    found = await spoken(peer)
    said = [f"{name} {number}" for number in range(1_010) for name in ("prompt", "answer")]
    assert found == [*said[:2_000], "read whole", "once more", *said[2_000:]]
    opencode.close()


async def has_in_context(peer: Peer, text: str) -> None:
    async def is_last() -> bool:
        return (await spoken(peer))[-1:] == [text]

    await until(is_last)


async def _has_title(peer: Peer, title: str) -> bool:
    return bool((await info(peer, SESSION))["title"] == title)


async def test_titles_follow(peer: Peer, opencode: WritingOpenCode) -> None:
    opencode.begins()
    opencode.asks("hello")
    opencode.says("hello")
    await follow(peer)
    opencode.titles("Of herons and owls")
    await until(lambda: _has_title(peer, "Of herons and owls"))


async def test_a_session_that_opencode_deletes_stays_and_says_so(
    peer: Peer, opencode: WritingOpenCode
) -> None:
    for session in (SESSION, OTHER):
        opencode.begins(session)
        opencode.asks("hello", session)
        opencode.says("keep me", session)
    await follow(peer)
    opencode.deletes()
    await until(lambda: _is_gone(peer, SESSION))
    assert await texts(peer, SESSION) == ["hello", "keep me"]
    assert not await _is_gone(peer, OTHER)


async def _is_gone(peer: Peer, session: str) -> bool:
    return bool((await info(peer, session))["origin"]["gone"])


async def test_messages_that_are_taken_back_stay_as_a_branch(peer: Peer, opencode: WritingOpenCode) -> None:
    opencode.begins()
    opencode.asks("first")
    kept = opencode.says("kept")
    back = opencode.asks("taken back")
    opencode.says("taken back, too")
    await follow(peer)
    opencode.reverts_to(back)
    opencode.removes_from(back)
    opencode.asks("another way")
    opencode.says("gone another way")
    await has(peer, "gone another way", SESSION)
    assert len(await texts(peer, SESSION)) == 6
    entries = {
        entry["id"]: entry
        for entry in entries_of(await peer.call("session/entries", sessionId=SESSION, limit=100))
    }
    leaf = entries[(await info(peer, SESSION))["leafId"]]
    assert entries[leaf["parentId"]]["parentId"] == kept


async def test_a_daemon_that_starts_reads_what_was_written_while_none_ran(
    agents_home: Path, opencode: WritingOpenCode, tmp_path: Path
) -> None:
    opencode.begins()
    opencode.asks("hello")
    opencode.says("hello")
    async with running(tmp_path / "home", "process") as daemon:
        await follow(await daemon.attach())
    opencode.says("while you were away")
    async with running(tmp_path / "home", "process") as daemon:
        await has(await daemon.attach(), "while you were away", SESSION)


async def test_databases_of_other_channels_are_followed_when_they_appear(
    peer: Peer, opencode: WritingOpenCode, database: Path
) -> None:
    opencode.begins()
    await follow(peer)
    dev = WritingOpenCode(database.with_name("opencode-dev.db"))
    dev.begins(OTHER)
    dev.asks("from another channel", OTHER)
    dev.says("hello", OTHER)
    await has(peer, "from another channel", OTHER)
    dev.close()
    await until(lambda: _found(peer, "channel"))


async def test_the_files_of_a_followed_database_are_left_alone(
    peer: Peer, opencode: WritingOpenCode, database: Path
) -> None:
    opencode.begins()
    opencode.asks("hello")
    await follow(peer)
    opencode.says("listen")
    before = contents(database)
    await has(peer, "listen", SESSION)
    assert contents(database) == before


async def test_a_database_that_no_program_has_open_gets_no_files_beside_it(
    peer: Peer, opencode: WritingOpenCode, database: Path
) -> None:
    opencode.begins()
    opencode.asks("hello")
    opencode.says("listen")
    opencode.close()
    await follow(peer)
    await has(peer, "listen", SESSION)
    assert [path.name for path in database.parent.iterdir()] == ["opencode.db"]


def contents(database: Path) -> dict[str, bytes]:
    """The database and its log, without the file in which SQLite, within one process, also counts readers."""
    return {
        path.name: path.read_bytes() for path in database.parent.iterdir() if not path.name.endswith("-shm")
    }


def last_written_long_ago(database: Path) -> None:
    """Have the files of a database say so; a file that was just written may get the same time again."""
    for content in contents(database):
        os.utime(database.with_name(content), (YEAR_2001, YEAR_2001))


async def test_a_followed_database_at_rest_is_not_opened(
    peer: Peer, opencode: WritingOpenCode, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opencode.begins()
    opencode.asks("hello")
    opencode.says("hello")
    last_written_long_ago(database)
    await follow(peer)
    opened: list[str] = []
    marks = opencode_database.marks

    def counting(path: str) -> Any:
        opened.append(path)
        return marks(path)

    monkeypatch.setattr(opencode_database, "marks", counting)
    for _ in range(5):
        assert (await peer.call("agent/wake", agent="opencode"))["isFollowed"]
    assert opened == []
    opencode.says("now")
    await has(peer, "now", SESSION)
    assert opened != []


async def test_a_database_whose_files_only_got_another_owner_or_mode_is_not_opened(
    agents_home: Path, opencode: WritingOpenCode, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opencode.begins()
    last_written_long_ago(database)
    sources = sources_of(AGENTS["opencode"], {"HOME": str(agents_home)})
    sources.census()
    opened: list[str] = []
    monkeypatch.setattr(opencode_database, "marks", opened.append)
    Path(f"{database}-wal").chmod(0o600)  # SQLite sets the owner when root opens the file
    assert sources.changes_in(str(database)).changed == []
    assert opened == []


async def test_opencode_writes_while_a_reader_reads(peer: Peer, opencode: WritingOpenCode) -> None:
    opencode.begins()
    await follow(peer)
    opencode.db.execute("PRAGMA busy_timeout = 0")
    for number in range(200):  # a lock of ours would raise
        opencode.asks(f"prompt {number}")
    opencode.says("done")
    await has(peer, "done", SESSION)


async def test_a_database_of_an_unknown_version_is_named_and_the_others_are_followed(
    peer: Peer, opencode: WritingOpenCode, database: Path
) -> None:
    opencode.begins()
    opencode.asks("hello")
    future = WritingOpenCode(database.with_name("opencode-next.db"))
    future.db.execute("ALTER TABLE part RENAME COLUMN data TO body")
    (database.with_name("opencode-torn.db")).write_bytes(b"no database" * 1_000)
    await follow(peer)
    named = {Path(problem["path"]).name: problem["message"] for problem in (await listed(peer))["problems"]}
    assert set(named) == {"opencode-next.db", "opencode-torn.db"}
    assert "its table part has no column data" in named["opencode-next.db"]
    assert "not a database" in named["opencode-torn.db"]
    opencode.says("still followed")
    await has(peer, "still followed", SESSION)
    problems = (await peer.call("server/doctor"))["findings"]
    assert {
        Path(problem["location"]["path"]).name
        for problem in problems
        if problem["kind"] == "agentFileSkipped"
    } == set(named)
    future.close()


async def test_a_database_that_was_busy_is_read_when_it_is_free(
    peer: Peer, opencode: WritingOpenCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "BUSY_SECONDS", 0.05)
    opencode.begins()
    opencode.asks("hello")
    await follow(peer)
    marks = opencode_database.marks
    is_busy = True

    def busy(path: str) -> Any:
        if is_busy:
            refusal = UnreadableDatabase("it is busy")
            refusal.is_passing = True
            raise refusal
        return marks(path)

    monkeypatch.setattr(opencode_database, "marks", busy)
    opencode.says("later")
    await until(lambda: has_problem(peer, "it is busy"))
    is_busy = False
    await has(peer, "later", SESSION)
    assert not await has_problem(peer, "it is busy")


async def test_a_database_that_is_replaced_is_named_and_what_it_had_stays(
    peer: Peer, opencode: WritingOpenCode, database: Path, tmp_path: Path
) -> None:
    opencode.begins()
    opencode.asks("hello")
    opencode.says("hello")
    await follow(peer)
    opencode.close()
    other = WritingOpenCode(tmp_path / "other.db")
    other.begins(OTHER)
    other.asks("from the new database", OTHER)
    other.says("hello", OTHER)
    other.close()
    (tmp_path / "other.db").replace(database)
    await has(peer, "from the new database", OTHER)
    await until(lambda: _is_gone(peer, SESSION))
    assert await texts(peer, SESSION) == ["hello", "hello"]
    assert await has_problem(peer, "replaced")


async def test_a_folder_with_other_things_of_opencode_is_not_walked(
    peer: Peer, opencode: WritingOpenCode, database: Path
) -> None:
    below = database.parent / "snapshot/opencode.db"
    below.parent.mkdir()
    shutil.copy(database, below)
    opencode.begins()
    opencode.asks("hello")
    opencode.says("hello")
    await follow(peer)
    agent = await listed(peer)
    assert (agent["fileCount"], agent["sessionCount"], agent["problems"]) == (1, 1, [])
    assert agent["sizeBytes"] >= database.stat().st_size


async def test_forgetting_opencode_moves_its_sessions_to_the_trash(
    peer: Peer, opencode: WritingOpenCode, database: Path
) -> None:
    opencode.begins()
    opencode.asks("hello")
    opencode.says("hello")
    await follow(peer)
    result = await peer.call("agent/forget", agent="opencode")
    assert result == {"deletedCount": 1, "failed": [], "failedCount": 0}
    assert await texts(peer, SESSION) == []
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        assert db.execute("SELECT count(*) FROM session").fetchone() == (1,)
    await follow(peer)
    assert await texts(peer, SESSION) == ["hello", "hello"]
