"""Messages that arrive while the log waits for a write are one batch at the log; each is answered by itself."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.columns import entries_of
from support.daemons import Peer, Refused, Running, assistant, running, user
from support.disk import Disk
from support.patience import BOUND
from support.shared import started


async def session_of(daemon: Running, cwd: str) -> tuple[Peer, str]:
    """A session whose file is in the sessions folder, so that appends take the short way."""
    peer, session_id = await started(daemon, cwd)
    await peer.append(session_id, assistant("ready"))
    return peer, session_id


async def texts(peer: Peer, session_id: str) -> list[Any]:
    found = entries_of(await peer.call("session/path", sessionId=session_id))
    return [entry["message"]["content"] for entry in found[1:]]


@pytest.mark.parametrize("durability", ["written", "synced"])
async def test_messages_of_one_tick_share_a_write_and_are_answered_in_order(
    tmp_path: Path, cwd: str, durability: str
) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id = await session_of(daemon, cwd)
        writes = disk.called["write"]
        results = await asyncio.gather(
            *(peer.append(session_id, user(f"{number}"), durability=durability) for number in range(40))
        )
        assert disk.called["write"] - writes < 5  # one for the messages, and few for records of the daemon
        assert [result["lastSeq"] for result in results] == list(range(2, 42))
        assert [result["entries"][0]["id"] for result in results] == [result["leafId"] for result in results]
        assert await texts(peer, session_id) == [f"{number}" for number in range(40)]


async def test_a_subscriber_receives_joined_messages_together_with_the_leaf_after_them(
    memory: Running, cwd: str
) -> None:
    peer, session_id = await session_of(memory, cwd)
    second, subscriber = await memory.attach(), await memory.attach()
    await subscriber.call("session/subscribe", sessionId=session_id)
    results = await asyncio.gather(
        *(peer.append(session_id, user(f"a{number}")) for number in range(5)),
        *(second.append(session_id, user(f"b{number}")) for number in range(5)),
    )
    await subscriber.until(lambda client: client.seqs() == list(range(2, 12)))
    notes = subscriber.told("session/appended")
    assert len({note["origin"]["clientId"] for note in notes}) == 2
    leaves = {result["lastSeq"]: result["leafId"] for result in results}
    assert [note["leafId"] for note in notes] == [leaves[note["toSeq"]] for note in notes]


async def test_requests_of_other_kinds_keep_their_place_between_messages(memory: Running, cwd: str) -> None:
    peer, session_id = await session_of(memory, cwd)
    first = await peer.append(session_id, user("labeled"))
    kinds = ["message", "label", "message", "batch", "message", "rename", "message"]
    requests = {
        "message": lambda: peer.send("session/append", sessionId=session_id, entries=[user("m")]),
        "label": lambda: peer.send("session/label", sessionId=session_id, entryId=first["leafId"], label="x"),
        "batch": lambda: peer.send("session/append", sessionId=session_id, entries=[user("b"), user("c")]),
        "rename": lambda: peer.send("session/rename", sessionId=session_id, title="t"),
    }
    await asyncio.gather(*(requests[kind]() for kind in kinds))
    stored = entries_of(await peer.call("session/entries", sessionId=session_id))[2:]
    expected = ["message", "label", "message", "message", "message", "message", "session_info", "message"]
    assert [entry["type"] for entry in stored] == expected


async def test_a_failed_write_fails_all_messages_of_its_batch_and_none_before_it(
    tmp_path: Path, cwd: str
) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id = await session_of(daemon, cwd)
        await peer.append(session_id, user("before"))
        disk.refuse("write", 1)
        outcomes = await asyncio.gather(
            *(peer.append(session_id, user("lost")) for _ in range(20)), return_exceptions=True
        )
        assert {getattr(outcome, "kind", outcome) for outcome in outcomes} == {"storageFailed"}
        after = await peer.append(session_id, user("after"))
        assert after["lastSeq"] == 3
        assert await texts(peer, session_id) == ["before", "after"]


async def test_messages_find_their_place_when_another_program_writes_between_them(
    tmp_path: Path, cwd: str
) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id = await session_of(daemon, cwd)
        (path,) = daemon.files()

        def write_as_another_program() -> None:
            line = b'{"type":"custom","customType":"other","id":"f0e1gn","parentId":null,"timestamp":"t"}\n'
            with path.open("ab") as file:
                file.write(line)

        disk.before_next("write", write_as_another_program)
        results = await asyncio.gather(*(peer.append(session_id, user(f"{number}")) for number in range(10)))
        assert [result["entries"][0]["seq"] for result in results] == list(range(3, 13))
        stored = entries_of(await peer.call("session/entries", sessionId=session_id))
        assert stored[1]["id"] == "f0e1gn"
        assert [entry["message"]["content"] for entry in stored[2:]] == [f"{number}" for number in range(10)]


async def test_more_messages_than_one_batch_takes_keep_their_order(memory: Running, cwd: str) -> None:
    peer, session_id = await session_of(memory, cwd)
    results = await asyncio.gather(*(peer.append(session_id, user(f"{number}")) for number in range(300)))
    assert [result["lastSeq"] for result in results] == list(range(2, 302))
    assert await texts(peer, session_id) == [f"{number}" for number in range(300)]


async def test_an_invalid_message_among_valid_ones_is_refused_alone(memory: Running, cwd: str) -> None:
    peer, session_id = await session_of(memory, cwd)
    drafts = [user("a"), {"type": "message", "message": {"content": "no role"}}, user("b")]
    outcomes = await asyncio.gather(
        *(peer.append(session_id, draft) for draft in drafts), return_exceptions=True
    )
    assert [outcome.kind if isinstance(outcome, Refused) else "stored" for outcome in outcomes] == [
        "stored", "invalidEntry", "stored",
    ]  # fmt: skip
    assert await texts(peer, session_id) == ["a", "b"]


async def test_joined_prompts_are_in_the_prompt_history(memory: Running, cwd: str) -> None:
    peer, session_id = await session_of(memory, cwd)
    await asyncio.gather(*(peer.append(session_id, user(f"prompt {number}")) for number in range(3)))

    async with asyncio.timeout(BOUND):
        prompts: list[str] = []
        while len(prompts) < 3:
            found = await peer.call("history/list", sessionId=session_id)
            prompts = [prompt["prompt"] for prompt in found["prompts"]]
    assert prompts == ["prompt 2", "prompt 1", "prompt 0"]
