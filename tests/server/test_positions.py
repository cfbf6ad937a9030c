"""A position names its log: another log under the same session id gets a snapshot, never a silent gap."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sessiond.client import AgentSession, connect
from sessiond.paths import find_locations
from support import logs
from support.columns import entries_of
from support.daemons import Peer, Running, assistant, refusal, running, user

SESSION = "positions-1"


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[tuple[Running, Peer, dict[str, Any]]]:
    """A daemon of its own, a client, and what it says of the session as it opens it."""
    async with running(home) as daemon:
        peer = await daemon.attach()
        yield daemon, peer, (await peer.call("session/open", sessionId=SESSION))["session"]


async def told(home: Path) -> tuple[dict[str, Any], Path]:
    """The last position that a client was told of, of a session with six lines, and its file; the daemon is gone."""
    async with running(home) as daemon:
        peer = await daemon.attach()
        await peer.call("session/create", cwd="/work/positions", id=SESSION)
        for number in range(1, 7):
            done = await peer.append(SESSION, assistant(f"{number}", id=f"e{number}"))
        path = (await peer.call("session/info", sessionId=SESSION))["session"]["path"]
        return {"logId": done["logId"], "seq": done["lastSeq"]}, Path(path)


async def test_every_message_that_tells_a_seq_names_the_same_log(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    created = (await peer.call("session/create", cwd=cwd))["session"]
    session_id, log_id = created["sessionId"], created["logId"]
    done = await peer.append(session_id, user("1", id="a"), assistant("2"))
    subscribed = await peer.call("session/subscribe", sessionId=session_id)
    page = await peer.call("session/entries", sessionId=session_id)
    path = await peer.call("session/path", sessionId=session_id)
    await peer.call("session/branch", sessionId=session_id, entryId="a")
    await peer.until(lambda client: bool(client.told("session/leafMoved")))
    notes = [*peer.told("session/appended"), *peer.told("session/leafMoved")]
    told = [done, subscribed, subscribed["session"], page, path, *notes]
    assert {item["logId"] for item in told} == {log_id}
    forked = (await peer.call("session/fork", sessionId=session_id))["session"]
    assert forked["logId"] != log_id


ON_A_SESSION: list[tuple[str, dict[str, Any]]] = [
    ("session/label", {"entryId": "a1", "label": "here"}),
    ("session/rename", {"title": "Positions"}),
    ("session/tag", {"add": ["one"]}),
    ("state/update", {"tokens": 1}),
    ("state/update", {"tags": ["two"]}),
    ("state/beginTask", {}),
    ("session/configure", {}),
    ("session/configure", {"autoCompact": {"contextWindow": 64_000}}),
    ("session/compact", {"summary": "s", "firstKeptEntryId": "a2"}),
    ("session/branch", {"entryId": "a1"}),
    ("session/branch", {"entryId": "a2", "summary": "s"}),
    ("session/tree", {}),
]


async def test_every_request_that_adds_a_line_returns_its_position(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    created = (await peer.call("session/create", cwd=cwd))["session"]
    session_id = created["sessionId"]
    await peer.append(session_id, user("1", id="a1"), assistant("2"), user("3", id="a2"), assistant("4"))
    for method, params in ON_A_SESSION:
        done = await peer.call(method, sessionId=session_id, **params)
        assert done["logId"] == created["logId"], method
        if "seq" in done:
            position = {"logId": done["logId"], "seq": done["seq"] - 1}
            read = await peer.call("session/entries", sessionId=session_id, after=position)
            record_id = done.get("recordId", done.get("entryId"))
            assert record_id is None or entries_of(read)[0]["id"] == record_id, method


async def test_a_command_that_is_sent_again_tells_the_position_of_its_line(memory: Running, cwd: str) -> None:
    peer = await memory.attach()
    await peer.call("session/create", cwd=cwd, id=SESSION)
    await peer.append(SESSION, user("1", id="a1"), assistant("2"), user("3", id="a2"), assistant("4"))
    for number, (method, params) in enumerate(ON_A_SESSION):
        if params and method != "session/tree":
            named = {**params, "sessionId": SESSION, "commandId": f"command-{number}"}
            first, again = await peer.call(method, **named), await peer.call(method, **named)
            assert again["duplicate"], method
            assert (again["logId"], again["seq"]) == (first["logId"], first["seq"]), method


async def test_a_conflict_names_the_log_in_which_the_missing_lines_are(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    created = (await peer.call("session/create", cwd=cwd))["session"]
    session_id, log_id = created["sessionId"], created["logId"]
    await peer.append(session_id, user("1", id="a1"), assistant("2", id="a2"), user("3", id="a3"))
    refused = [
        await refusal(peer.append(session_id, user("late"), expectedLeafId="a1")),
        await refusal(peer.call("session/branch", sessionId=session_id, entryId="a2", expectedLeafId="a1")),
        await refusal(
            peer.call(
                "session/branch", sessionId=session_id, entryId="a2", expectedLeafId="a1", summarize=True
            )
        ),
        await refusal(peer.call("session/compact", sessionId=session_id, expectedLeafId="a1")),
    ]
    for item in refused:
        assert (item.kind, item.details["logId"], item.details["missingCount"]) == ("leafConflict", log_id, 2)
        after = {"logId": log_id, "seq": item.details["lastSeq"] - item.details["missingCount"]}
        missing = await peer.call("session/entries", sessionId=session_id, after=after)
        assert [entry["id"] for entry in entries_of(missing)] == ["a2", "a3"]
    reused = await refusal(peer.append(session_id, user("other", id="a2")))
    assert (reused.kind, reused.details["logId"], reused.details["seq"]) == ("idReused", log_id, 2)


async def test_a_restart_and_growth_by_another_program_are_replayed(tmp_path: Path) -> None:
    position, path = await told(tmp_path)
    with path.open("ab") as file:
        file.write(logs.log(logs.user("by pi", id="pi1", parent="e6")))
    async with opened(tmp_path) as (_, peer, session):
        assert session["logId"] == position["logId"]
        for seq in range(8):
            result = await peer.call("session/subscribe", sessionId=SESSION, after={**position, "seq": seq})
            assert (result["mode"], result["fromSeq"], result["toSeq"]) == ("replay", seq + 1, 7)


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([f"other{number}" for number in range(1, 7)], id="as many"),
        pytest.param(["e1", "e2", "e3", "o4", "o5", "o6", "o7"], id="another tail"),
        pytest.param(["e1", "e2"], id="fewer"),
    ],
)
@pytest.mark.parametrize("is_new_file", [True, False])
async def test_a_file_with_other_lines_gets_a_snapshot(
    tmp_path: Path, lines: list[str], is_new_file: bool
) -> None:
    position, path = await told(tmp_path)
    header, *old = path.read_bytes().splitlines(keepends=True)
    known = {f"e{number}": line for number, line in enumerate(old, 1)}
    whole = header + b"".join(
        known.get(name) or logs.log(logs.assistant(name, id=name, parent=None)) for name in lines
    )
    if is_new_file:
        path.unlink()
    path.write_bytes(whole)
    async with opened(tmp_path) as (_, peer, session):
        assert session["logId"] != position["logId"]
        result = await peer.call("session/subscribe", sessionId=SESSION, after=position)
        assert (result["mode"], result["logId"], result["toSeq"]) == (
            "snapshot",
            session["logId"],
            len(lines),
        )
        refused = await refusal(peer.call("session/entries", sessionId=SESSION, after=position))
        assert refused.kind == "cursorExpired"


async def test_a_file_that_is_replaced_while_it_is_open_gets_a_snapshot(tmp_path: Path) -> None:
    position, path = await told(tmp_path)
    async with opened(tmp_path) as (_, peer, session):
        assert session["logId"] == position["logId"]
        header, *old = path.read_bytes().splitlines(keepends=True)
        made = path.with_suffix(".made")
        made.write_bytes(header + b"".join(old).replace(b'"e', b'"f'))
        made.rename(path)
        again = (await peer.call("session/open", sessionId=SESSION))["session"]
        assert again["logId"] != position["logId"]
        result = await peer.call("session/subscribe", sessionId=SESSION, after=position)
        assert result["mode"] == "snapshot"


async def test_a_session_that_moves_goes_to_the_trash_and_back_keeps_its_log(
    memory: Running, cwd: str, tmp_path: Path
) -> None:
    peer = await memory.attach()
    made = (await peer.call("session/create", cwd=cwd))["session"]
    name = made["sessionId"]
    await peer.append(name, user("1"), assistant("2"))
    moved = await peer.call("session/move", sessionId=name, cwd=str(tmp_path))
    assert moved["session"]["logId"] == made["logId"]
    gone = await peer.call("session/delete", sessionId=name)
    back = await peer.call("trash/restore", trashId=gone["trashId"])
    assert back["session"]["logId"] == made["logId"]


async def test_a_subscription_of_the_client_library_goes_on_with_the_new_log(tmp_path: Path) -> None:
    position, path = await told(tmp_path)
    locations = find_locations({"SESSIOND_HOME": str(tmp_path)})
    async with running(tmp_path, "socket"), connect(locations=locations) as client:
        entries = client.subscribe(SESSION, after=0)
        assert [(await anext(entries))["id"] for _ in range(6)] == [f"e{number}" for number in range(1, 7)]
        known = entries.position
        assert known is not None
        assert known.log_id == position["logId"]
    path.write_bytes(path.read_bytes().replace(b'"e', b'"f'))
    async with running(tmp_path, "socket"), connect(locations=locations) as client:
        entries = client.subscribe(SESSION, after=known)
        assert [(await anext(entries))["id"] for _ in range(6)] == [f"f{number}" for number in range(1, 7)]
        assert entries.log_id != position["logId"]


async def test_an_agent_that_branched_in_a_replaced_log_follows_what_was_added_there(tmp_path: Path) -> None:
    _, path = await told(tmp_path)
    locations = find_locations({"SESSIOND_HOME": str(tmp_path)})
    async with running(tmp_path, "socket") as daemon, connect(locations=locations) as client:
        agent, peer = await AgentSession.open(client, SESSION), await daemon.attach()
        made = path.with_suffix(".made")
        made.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:4]))
        made.rename(path)
        await peer.call("session/open", sessionId=SESSION)
        await agent.branch("e2")
        label = (await peer.call("session/label", sessionId=SESSION, entryId="e1", label="seen"))["recordId"]
        async with agent.turn():
            said = await agent.append(assistant("on we go")["message"])
        entries = entries_of(await peer.call("session/path", sessionId=SESSION))
        assert [entry["id"] for entry in entries] == ["e1", "e2", label, said]
