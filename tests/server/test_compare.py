"""session/compare: where two branches part, and what each has of its own."""

from pathlib import Path
from typing import Any

from support import logs
from support.daemons import Peer, Running, assistant, refusal, user
from support.shared import started


def edit(path: str) -> dict[str, Any]:
    """An answer that changes a file."""
    call = {
        "type": "toolCall",
        "id": "c1",
        "name": "edit",
        "arguments": {"path": path, "oldText": "a", "newText": "b"},
    }
    usage = {"input": 100, "output": 5, "totalTokens": 105, "cost": {"total": 0.25}}
    message = {
        "role": "assistant",
        "provider": "p",
        "model": "m",
        "stopReason": "toolUse",
        "usage": usage,
        "content": [call],
    }
    return {"type": "message", "message": message}


async def parted(daemon: Running, cwd: str) -> tuple[Peer, str, list[str]]:
    """A question with two answers; the first changed a file, the second is the leaf."""
    peer, session = await started(daemon, cwd)
    made = await peer.append(session, user("Why?"), edit("a.py"), assistant("Done."))
    question, change, first = (entry["id"] for entry in made["entries"])
    second = (await peer.append(session, assistant("A race."), parentId=question))["entries"][0]["id"]
    return peer, session, [question, change, first, second]


async def test_each_side_has_what_lies_below_the_common_ancestor(daemon: Running, cwd: str) -> None:
    peer, session, [question, change, first, second] = await parted(daemon, cwd)
    found = await peer.call("session/compare", sessionId=session, leftId=first, rightId=second)
    assert found["ancestorId"] == question
    assert found["left"]["entryIds"] == [change, first]
    assert found["right"]["entryIds"] == [second]
    assert found["left"]["modifiedFiles"] == ["a.py"]
    assert found["right"]["modifiedFiles"] == []
    assert found["left"]["stats"]["cost"]["total"] == 0.25
    assert found["left"]["tokens"] > found["right"]["tokens"] > 0


async def test_the_right_side_is_the_leaf_when_it_is_left_out(memory: Running, cwd: str) -> None:
    peer, session, [*_, first, second] = await parted(memory, cwd)
    assert (await peer.call("session/compare", sessionId=session, leftId=first))["right"]["leafId"] == second


async def test_an_entry_on_the_path_of_the_other_has_nothing_of_its_own(memory: Running, cwd: str) -> None:
    peer, session, [question, change, first, _] = await parted(memory, cwd)
    found = await peer.call("session/compare", sessionId=session, leftId=question, rightId=first)
    assert (found["ancestorId"], found["left"]["entryIds"]) == (question, [])
    assert found["right"]["entryIds"] == [change, first]


async def test_other_roots_have_nothing_in_common(memory: Running, cwd: str) -> None:
    peer, session, [question, *_] = await parted(memory, cwd)
    other = (await peer.append(session, user("Anew."), parentId=None))["entries"][0]["id"]
    found = await peer.call("session/compare", sessionId=session, leftId=question, rightId=other)
    assert found["ancestorId"] is None
    assert (found["left"]["entryIds"], found["right"]["entryIds"]) == ([question], [other])


async def test_moves_of_the_leaf_are_no_entries_of_a_branch(memory: Running, cwd: str) -> None:
    peer, session, [question, _, first, second] = await parted(memory, cwd)
    await peer.call("session/branch", sessionId=session, entryId=first)
    third = (await peer.append(session, assistant("More.")))["entries"][0]["id"]
    found = await peer.call("session/compare", sessionId=session, leftId=third, rightId=second)
    assert found["ancestorId"] == question
    assert found["left"]["entryIds"][-1] == third
    assert len(found["left"]["entryIds"]) == 3


async def test_an_entry_that_is_not_there_is_named(memory: Running, cwd: str) -> None:
    peer, session, [question, *_] = await parted(memory, cwd)
    asked = peer.call("session/compare", sessionId=session, leftId=question, rightId="nobody")
    assert (await refusal(asked)).kind == "entryNotFound"


async def test_a_side_with_many_entries_and_files_lists_the_first_and_counts_all(
    memory: Running, tmp_path: Path
) -> None:
    edits = [
        logs.tool_call("write", {"path": f"{number:04}.py", "content": ""}, call=f"c{number}")
        for number in range(1_100)
    ]
    results = [logs.tool_result("ok", call=f"c{number}", name="write") for number in range(1_100)]
    path = tmp_path / "long.jsonl"
    path.write_bytes(
        logs.log(
            logs.header(cwd="/work"), logs.user("Why?"), logs.assistant(edits), *results,
            *(logs.user("again") for _ in range(9_000)),
        )
    )  # fmt: skip
    peer = await memory.attach()
    session = (await peer.call("session/open", path=str(path)))["session"]
    found = await peer.call("session/compare", sessionId=session["sessionId"], leftId="e1")
    side = found["right"]
    assert side["entryIds"] == [f"e{number}" for number in range(2, 10_002)]
    assert side["stats"]["entryCount"] == 10_101
    assert (len(side["modifiedFiles"]), side["modifiedFileCount"]) == (1_000, 1_100)
    assert side["modifiedFiles"][0] == "0000.py"
