"""session/stats: the path, the whole tree, and how full the context is."""

import asyncio
from pathlib import Path
from typing import Any

from support import logs
from support.daemons import Peer, Running, assistant, refusal, running, user
from support.shared import started

USAGE = {
    "input": 100, "output": 20, "cacheRead": 7, "cacheWrite": 3, "totalTokens": 130,
    "cost": {"input": 0.1, "output": 0.2, "cacheRead": 0, "cacheWrite": 0, "total": 0.3},
}  # fmt: skip
NOTHING: dict[str, Any] = {
    "entryCount": 0, "messageCount": 0, "messageCounts": {}, "toolCallCount": 0, "toolErrorCount": 0,
    "toolCallCounts": {}, "compactionCount": 0, "branchSummaryCount": 0, "models": [],
    "firstEntryAt": None, "lastEntryAt": None,
    "tokens": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
    "cost": {"input": 0.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.0},
}  # fmt: skip


def answer(text: str, **more: Any) -> dict[str, Any]:
    """A draft of an answer that says what it took."""
    draft = assistant(text, **more)
    draft["message"]["usage"] = USAGE
    return draft


async def stats(peer: Peer, session_id: str, **params: Any) -> dict[str, Any]:
    found: dict[str, Any] = await peer.call("session/stats", sessionId=session_id, **params)
    return found


async def test_a_new_session_is_made_of_nothing(daemon: Running, cwd: str) -> None:
    peer, session = await started(daemon, cwd)
    assert await stats(peer, session) == {
        "pathStats": NOTHING, "treeStats": NOTHING, "leafId": None,
        "context": {"tokens": 0, "estimated": True, "contextWindow": 200_000},
    }  # fmt: skip


async def test_the_path_is_a_part_of_the_tree(daemon: Running, cwd: str) -> None:
    peer, session = await started(daemon, cwd)
    await peer.append(session, user("q"), answer("a"))
    first = (await peer.append(session, user("r"), answer("b")))["leafId"]
    await peer.call("session/branch", sessionId=session, entryId=None)
    last = await peer.append(session, user("again"), answer("c"))

    found = await stats(peer, session)

    assert (found["pathStats"]["entryCount"], found["treeStats"]["entryCount"]) == (2, 7)
    assert found["pathStats"]["messageCounts"] == {"user": 1, "assistant": 1}
    assert found["treeStats"]["messageCounts"] == {"user": 3, "assistant": 3}
    assert (found["pathStats"]["tokens"]["total"], found["treeStats"]["tokens"]["total"]) == (130, 390)
    assert (found["pathStats"]["cost"]["total"], found["treeStats"]["cost"]["total"]) == (0.3, 0.9)
    assert found["leafId"] == last["leafId"]
    other = await stats(peer, session, leafId=first)
    assert (other["pathStats"]["entryCount"], other["treeStats"], other["leafId"]) == (
        4,
        found["treeStats"],
        first,
    )


async def test_statistics_grow_with_the_session(daemon: Running, cwd: str) -> None:
    peer, session = await started(daemon, cwd)
    for number in range(1, 6):
        await peer.append(session, user("q"), answer("a"))
        found = await stats(peer, session)
        assert found["pathStats"] == found["treeStats"]
        assert (found["treeStats"]["entryCount"], found["treeStats"]["tokens"]["input"]) == (
            2 * number,
            100 * number,
        )
    assert [model["model"] for model in found["treeStats"]["models"]] == ["anthropic/claude-test-1"]
    assert found["treeStats"]["models"][0]["messageCount"] == 5


async def test_the_costliest_model_comes_first(memory: Running) -> None:
    peer, session = await started(memory, "/work")
    dear = {**USAGE, "cost": {"total": 5}}
    drafts = [answer("a"), answer("b"), answer("c")]
    for draft, (model, usage) in zip(drafts, (("cheap", USAGE), ("dear", dear), ("free", {})), strict=True):
        draft["message"] |= {"model": model, "usage": usage}
    await peer.append(session, *drafts)
    models = (await stats(peer, session))["treeStats"]["models"]
    assert [model["model"] for model in models] == ["anthropic/dear", "anthropic/cheap", "anthropic/free"]


async def test_the_context_s_use_is_what_the_last_answer_took_and_what_came_since(memory: Running) -> None:
    peer, session = await started(memory, "/work")
    await peer.append(session, user("q"), answer("a"), user("x" * 400))
    context = (await stats(peer, session))["context"]
    assert context == {"tokens": 130 + 100, "estimated": False, "contextWindow": 200_000}


async def test_the_context_window_is_the_session_s_own(memory: Running) -> None:
    peer, session = await started(memory, "/work")
    chosen = {
        "type": "custom", "customType": "sessiond.settings", "data": {"autoCompact": {"contextWindow": 50_000}},
    }  # fmt: skip
    await peer.append(session, chosen)
    assert (await stats(peer, session))["context"]["contextWindow"] == 50_000


async def test_an_entry_that_is_not_there_is_refused(memory: Running) -> None:
    peer, session = await started(memory, "/work")
    assert (await refusal(stats(peer, session, leafId="nowhere"))).kind == "entryNotFound"


async def test_a_file_of_another_program_is_read_and_gone_on_with(tmp_path: Path) -> None:
    file = tmp_path / "foreign.jsonl"
    file.write_bytes(
        logs.log(logs.header(), logs.user("q"), logs.assistant("a", usage=USAGE), logs.user("r", parent="e1"))
    )
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        session = (await peer.call("session/open", path=str(file)))["session"]["sessionId"]
        assert (await stats(peer, session))["treeStats"]["tokens"]["input"] == 100
        await peer.append(session, answer("b"))
        found = await stats(peer, session)
    assert (found["pathStats"]["tokens"]["input"], found["treeStats"]["tokens"]["input"]) == (100, 200)
    assert (found["pathStats"]["entryCount"], found["treeStats"]["entryCount"]) == (3, 4)
    assert found["treeStats"]["firstEntryAt"] == logs.time_of(1)


async def test_an_old_session_is_tallied_before_and_after_it_was_migrated(tmp_path: Path) -> None:
    file = tmp_path / "old.jsonl"
    file.write_bytes(
        logs.log(
            logs.header(version=1), *(
                b'{"type":"message","timestamp":"t","message":{"role":"%b","content":"x"}}\n' % role
                for role in (b"user", b"assistant")
            ),
        )
    )  # fmt: skip
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        session = (await peer.call("session/open", path=str(file)))["session"]["sessionId"]
        assert (await stats(peer, session))["treeStats"]["messageCounts"] == {"user": 1, "assistant": 1}
        await peer.append(session, answer("b"))
        found = await stats(peer, session)
    assert found["pathStats"] == found["treeStats"]
    assert found["treeStats"]["messageCounts"] == {"user": 1, "assistant": 2}


async def test_ids_that_stand_twice_are_counted_once_however_often_one_asks(tmp_path: Path) -> None:
    file = tmp_path / "twice.jsonl"
    twice = [logs.assistant("a", id="same", parent="e1", usage=USAGE) for _ in range(2)]
    file.write_bytes(logs.log(logs.header(), logs.user("q"), *twice))
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        session = (await peer.call("session/open", path=str(file)))["session"]["sessionId"]
        found = [await stats(peer, session) for _ in range(2)]
    assert found[0] == found[1]
    assert (found[0]["treeStats"]["entryCount"], found[0]["pathStats"]["tokens"]["input"]) == (2, 100)


async def test_a_long_session_is_tallied_while_others_are_answered(tmp_path: Path) -> None:
    file = tmp_path / "long.jsonl"
    turn = [logs.user("q"), logs.assistant("a", usage=USAGE)]
    file.write_bytes(logs.log(logs.header(), *(turn * 10_000), logs.user("aside", parent="e2")))
    async with running(tmp_path / "home") as daemon:
        peer, other = await daemon.attach(), await daemon.attach()
        session = (await peer.call("session/open", path=str(file)))["session"]["sessionId"]
        asked = asyncio.gather(*(stats(peer, session) for _ in range(2)), stats(other, session))
        answered = 0
        while not asked.done():
            await other.call("server/status")
            answered += 1
        found = await asked
    assert found[0] == found[1] == found[2]
    assert (found[0]["treeStats"]["tokens"]["input"], found[0]["pathStats"]["entryCount"]) == (1_000_000, 3)
    assert answered > 3


async def test_of_very_many_tools_the_most_called_are_listed(memory: Running, cwd: str) -> None:
    peer, session = await started(memory, cwd)
    calls = [
        {"type": "toolCall", "id": f"c{number}", "name": f"tool-{number % 1_100}", "arguments": {}}
        for number in range(1_101)
    ]
    await peer.append(
        session, user("Why?"), {"type": "message", "message": {"role": "assistant", "content": calls}}
    )
    found = (await stats(peer, session))["treeStats"]
    assert (len(found["toolCallCounts"]), found["toolCallCount"]) == (1_000, 1_101)
    assert found["toolCallCounts"]["tool-0"] == 2
    assert (found["messageCount"], found["messageCounts"]) == (2, {"user": 1, "assistant": 1})
