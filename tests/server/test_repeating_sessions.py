"""Requests about whole sessions can be repeated: a journal records those that write no line."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.idempotency.journal import KEPT_SECONDS, Journal
from sessiond.session.tree.command_ids import CommandRecord
from sessiond.store.errors import StorageFailed
from support.daemons import Peer, Running, assistant, refusal, running, user
from support.shared import lines_of

COMMAND = "press-2 'of' ../the button\n"


@dataclass(frozen=True)
class Scene:
    """The state before a request: a session with an answer, and another one in the trash."""

    peer: Peer
    cwd: str
    session_id: str
    trash_id: str
    trashed_session_id: str
    prompt_id: str


@dataclass(frozen=True)
class Write:
    """A request about whole sessions: its method, its params in a scene, and `other` params under the same id."""

    method: str
    params: Callable[[Scene], dict[str, Any]]
    other: dict[str, Any]

    def __str__(self) -> str:
        return self.method.replace("/", "-")


WRITES = [
    Write("session/create", lambda scene: {"cwd": scene.cwd, "title": "T"}, {"title": "U"}),
    Write("session/create", lambda scene: {"cwd": scene.cwd, "id": f"of-mine-{scene.session_id}"}, {"title": "U"}),
    Write("session/create", lambda scene: {"cwd": scene.cwd, "ephemeral": True}, {"ephemeral": False}),
    Write("session/continue", lambda scene: {"cwd": f"{scene.cwd}/new"}, {"cwd": "/else"}),
    Write("session/fork", lambda scene: {"sessionId": scene.session_id}, {"title": "U"}),
    Write("session/move", lambda scene: {"sessionId": scene.session_id, "cwd": f"{scene.cwd}/to"}, {"cwd": "/else"}),
    Write("session/delete", lambda scene: {"sessionId": scene.session_id, "note": "old"}, {"note": "new"}),
    Write("trash/restore", lambda scene: {"trashId": scene.trash_id}, {"trashId": "else"}),
    Write("trash/purge", lambda scene: {"trashId": scene.trash_id, "dryRun": False}, {"trashId": "else"}),
    Write(
        "session/cleanup", lambda scene: {"maxAgeMs": 0, "tags": [scene.session_id], "dryRun": False},
        {"maxAgeMs": 1},
    ),
    Write("history/add", lambda scene: {"prompt": f"in {scene.cwd}", "cwd": scene.cwd}, {"prompt": "else"}),
    Write("history/delete", lambda scene: {"promptIds": [scene.prompt_id]}, {"promptIds": ["else"]}),
    Write("blob/collect", lambda _: {"graceMs": 0, "dryRun": False}, {"graceMs": 1}),
]  # fmt: skip
every_write = pytest.mark.parametrize("write", WRITES, ids=str)
LASTING = [write for write in WRITES if "ephemeral" not in write.other]
every_lasting_write = pytest.mark.parametrize("write", LASTING, ids=str)


async def a_scene(daemon: Running, cwd: str) -> Scene:
    peer = await daemon.attach()
    ids = []
    for _ in range(2):
        made = (await peer.call("session/create", cwd=cwd))["session"]["sessionId"]
        await peer.append(made, user("hello"), assistant("hi"))
        await peer.call("session/tag", sessionId=made, add=[made])
        await peer.call("session/close", sessionId=made)
        ids.append(made)
    gone = await peer.call("session/delete", sessionId=ids[1])
    prompt = await peer.call("history/add", prompt=f"typed for {ids[0]}")
    return Scene(peer, cwd, ids[0], gone["trashId"], ids[1], prompt["promptId"])


async def do_something_else(scene: Scene) -> None:
    """Undo or overtake whatever the request has done, as far as that can be."""
    peer = scene.peer
    for method, params in [
        ("trash/restore", {"sessionId": scene.session_id}),
        ("session/move", {"sessionId": scene.session_id, "cwd": f"{scene.cwd}/elsewhere"}),
        ("session/delete", {"sessionId": scene.trashed_session_id}),
        ("history/add", {"prompt": "something else"}),
        ("session/create", {"cwd": scene.cwd}),
    ]:
        await asyncio.gather(peer.call(method, **params), return_exceptions=True)


def facts(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without the values that change later in a session that it opened."""
    known = {name: value for name, value in answer.items() if name not in ("duplicate", "session")}
    return known | ({"session": answer["session"]["sessionId"]} if "session" in answer else {})


def files_of(daemon: Running) -> dict[Path, bytes]:
    return daemon.everything()


@every_write
async def test_a_request_sent_twice_takes_effect_once(daemon: Running, cwd: str, write: Write) -> None:
    scene = await a_scene(daemon, cwd)
    params = {**write.params(scene), "commandId": f"{COMMAND}{cwd}"}
    first = await scene.peer.call(write.method, **params)
    before = files_of(daemon)
    prompts = await scene.peer.call("history/list", limit=100)
    other = await daemon.attach()
    for peer in (scene.peer, other):
        again = await peer.call(write.method, **params)
        assert again == first | {"duplicate": True}
    assert not first["duplicate"]
    assert files_of(daemon) == before
    assert await scene.peer.call("history/list", limit=100) == prompts


@every_write
async def test_a_repeat_after_other_requests_changes_nothing(memory: Running, cwd: str, write: Write) -> None:
    scene = await a_scene(memory, cwd)
    params = {**write.params(scene), "commandId": COMMAND}
    first = await scene.peer.call(write.method, **params)
    await do_something_else(scene)
    before = files_of(memory)
    again = await scene.peer.call(write.method, **params)
    assert again["duplicate"] is True
    assert facts(again) == facts(first)
    assert files_of(memory) == before


@every_write
async def test_two_clients_that_send_it_at_once_both_get_the_answer(
    daemon: Running, cwd: str, write: Write
) -> None:
    scene = await a_scene(daemon, cwd)
    other = await daemon.attach()
    params = {**write.params(scene), "commandId": f"{COMMAND}{cwd}"}
    answers = await asyncio.gather(
        *(client.call(write.method, **params) for client in (scene.peer, other) * 2)
    )
    assert sorted(answer["duplicate"] for answer in answers) == [False, True, True, True]
    assert all(facts(answer) == facts(answers[0]) for answer in answers)


@every_lasting_write
@pytest.mark.parametrize("is_answered", [True, False], ids=["answered", "crashed after the effect"])
async def test_a_repeat_on_another_daemon_finds_what_was_done(
    tmp_path: Path, cwd: str, write: Write, is_answered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as daemon:
        scene = await a_scene(daemon, cwd)
        params = {**write.params(scene), "commandId": COMMAND}
        with monkeypatch.context() as patched:
            if not is_answered:
                patched.setattr(Journal, "finish", _refuse)
            first = await scene.peer.call(write.method, **params)
    before = daemon.everything()
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        # Others come first: what was interrupted is settled before anything else changes.
        other = await a_scene(daemon, f"{cwd}/other")
        await do_something_else(replace(scene, peer=peer))
        again = await peer.call(write.method, **params)
        if is_answered or write.method not in ("session/cleanup", "blob/collect"):
            assert again["duplicate"] is True
        if is_answered:
            assert facts(again) == facts(first)
        assert other.session_id != scene.session_id
    assert before


@every_write
async def test_a_request_that_was_interrupted_before_its_effect_is_carried_out_by_the_repeat(
    tmp_path: Path, cwd: str, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as daemon:
        scene = await a_scene(daemon, cwd)
        params = write.params(scene)
    journal = Journal(str(tmp_path / "state/commands.db"))
    intent: dict[str, Any] = {
        "sessionId": scene.session_id,
        "trashId": scene.trash_id,
        "cwd": params.get("cwd"),
        "sessions": [],
    }
    command = CommandRecord(id=COMMAND, method=write.method, digest="of the interrupted request")
    journal.begin(command, intent | {"from": await _path(tmp_path, scene.session_id)}, int(time.time()))
    journal.close()
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        assert not (await peer.call(write.method, **params, commandId=COMMAND))["duplicate"]


@every_write
async def test_other_params_or_another_method_under_the_id_are_refused(
    memory: Running, cwd: str, write: Write
) -> None:
    scene = await a_scene(memory, cwd)
    params = {**write.params(scene), "commandId": COMMAND}
    first = await scene.peer.call(write.method, **params)
    before = files_of(memory)
    session_id = first.get("session", {}).get("sessionId", scene.session_id)
    others: list[tuple[str, dict[str, Any]]] = [
        (write.method, params | write.other),
        *((item.method, item.params(scene)) for item in WRITES if item.method != write.method),
        *(
            (name, {"sessionId": session_id, "title": "T"})
            for name in ("session/rename",)
            if "session" in first
        ),
    ]
    for method, other in others:
        refused = await refusal(scene.peer.call(method, **other | {"commandId": COMMAND}))
        assert (refused.kind, refused.details["commandId"]) == ("idReused", COMMAND)
    assert files_of(memory) == before


@pytest.mark.parametrize("method", ["session/delete", "session/move"])
async def test_the_id_of_a_command_that_wrote_a_line_is_not_free_for_the_session(
    memory: Running, cwd: str, method: str
) -> None:
    scene = await a_scene(memory, cwd)
    await scene.peer.call("session/rename", sessionId=scene.session_id, title="T", commandId=COMMAND)
    params = {"sessionId": scene.session_id, "commandId": COMMAND}
    if method == "session/move":
        params["cwd"] = "/else"
    before = entries_of(memory)
    assert (await refusal(scene.peer.call(method, **params))).kind == "idReused"
    assert entries_of(memory) == before


def entries_of(daemon: Running) -> dict[Path, bytes]:
    """All files without their first lines: the title in a header is overwritten a moment after its entry."""
    return {path: data.partition(b"\n")[2] for path, data in files_of(daemon).items()}


@pytest.mark.parametrize("write", WRITES[:5], ids=str)
async def test_a_repeat_opens_the_session_that_was_made(memory: Running, cwd: str, write: Write) -> None:
    scene = await a_scene(memory, cwd)
    params = {**write.params(scene), "commandId": COMMAND}
    made = (await scene.peer.call(write.method, **params))["session"]["sessionId"]
    other = await memory.attach()
    await scene.peer.call("server/status")
    told = len(scene.peer.told("session/created"))
    await other.call(write.method, **params)
    await scene.peer.append(made, user("are you there?"))
    await other.until(lambda client: bool(client.told("session/appended")))
    await scene.peer.call("server/status")
    assert len(scene.peer.told("session/created")) == told


@pytest.mark.parametrize("write", [WRITES[0], WRITES[1], WRITES[4]], ids=str)
async def test_a_session_that_was_made_and_deleted_is_not_made_again(
    memory: Running, cwd: str, write: Write
) -> None:
    scene = await a_scene(memory, cwd)
    params = {**write.params(scene), "commandId": COMMAND}
    made = (await scene.peer.call(write.method, **params))["session"]["sessionId"]
    gone = await scene.peer.call("session/delete", sessionId=made)
    refused = await refusal(scene.peer.call(write.method, **params))
    assert (refused.kind, refused.details["trashId"]) == ("sessionTrashed", gone["trashId"])
    await scene.peer.call("trash/purge", trashId=gone["trashId"], dryRun=False)
    assert (await refusal(scene.peer.call(write.method, **params))).kind == "sessionNotFound"


@pytest.mark.parametrize("write", [WRITES[0], WRITES[1], WRITES[4]], ids=str)
async def test_a_session_says_in_its_header_which_command_has_made_it(
    tmp_path: Path, cwd: str, write: Write
) -> None:
    async with running(tmp_path) as daemon:
        scene = await a_scene(daemon, cwd)
        params = {**write.params(scene), "commandId": COMMAND}
        first = await scene.peer.call(write.method, **params)
        header = lines_of(first["session"]["path"])[0]
        assert (header["sessiondCommand"]["id"], header["sessiondCommand"]["method"]) == (
            COMMAND,
            write.method,
        )
    for file in (tmp_path / "state").glob("commands.db*"):
        file.unlink()  # as if it was too long ago for the journal
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        again = await peer.call(write.method, **params)
        assert again == first | {"duplicate": True}
        other = peer.call(write.method, **params | {"title": "else"})
        assert (await refusal(other)).kind == "idReused"


async def test_the_id_of_a_new_session_follows_from_the_command_and_is_no_path(memory: Running) -> None:
    peer = await memory.attach()
    made = await peer.call("session/create", cwd="/work", commandId="../../../tmp/evil\u202e")
    session_id = made["session"]["sessionId"]
    assert len(session_id) == 36
    assert set(session_id) <= set("0123456789abcdef-")
    assert Path(made["session"]["path"]).is_relative_to(memory.home / "data")


async def test_a_refused_request_can_be_sent_again_with_other_params(memory: Running, cwd: str) -> None:
    peer = await memory.attach()
    refused = peer.call("session/create", cwd="not absolute", commandId=COMMAND)
    assert (await refusal(refused)).kind == "invalidParams"
    assert not (await peer.call("session/create", cwd=cwd, commandId=COMMAND))["duplicate"]


async def test_a_dry_run_is_no_command(memory: Running, cwd: str) -> None:
    scene = await a_scene(memory, cwd)
    for method, params in (
        ("trash/purge", {"trashId": scene.trash_id}),
        ("session/cleanup", {"maxSessions": 0}),
        ("blob/collect", {}),
    ):
        for _ in range(2):
            assert not (await scene.peer.call(method, **params, commandId=COMMAND))["duplicate"]


async def test_a_journal_that_cannot_be_written_refuses_what_it_could_not_answer_for(
    memory: Running, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = await memory.attach()
    with monkeypatch.context() as patched:
        patched.setattr(Journal, "begin", _refuse)
        refused = await refusal(peer.call("session/create", cwd=cwd, commandId=COMMAND))
        assert (refused.kind, refused.data["retryable"]) == ("storageFailed", True)
        assert memory.files("drafts") == []
    assert not (await peer.call("session/create", cwd=cwd, commandId=COMMAND))["duplicate"]


async def test_a_damaged_journal_is_kept_beside_a_new_one(tmp_path: Path, cwd: str) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state/commands.db").write_bytes(b"not a database" * 1000)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        first = await peer.call("session/create", cwd=cwd, commandId=COMMAND)
        assert await peer.call("session/create", cwd=cwd, commandId=COMMAND) == first | {"duplicate": True}
    assert (tmp_path / "state/commands.db.damaged-1").read_bytes() == b"not a database" * 1000


def test_the_journal_forgets_commands_after_a_month_and_above_a_number(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path / "commands.db"))
    now = int(time.time())
    for number in range(3):
        command = CommandRecord(id=f"c{number}", method="session/move", digest="d")
        journal.begin(command, {}, now - KEPT_SECONDS + number)
    assert [entry.id for entry in journal.all(now + 1)] == ["c1", "c2"]
    journal.close()


def _refuse(*_: object) -> None:
    raise StorageFailed("the disk of the test takes nothing")


async def _path(home: Path, session_id: str) -> str:
    [path] = [path for path in (home / "data/sessions").rglob("*.jsonl") if session_id in path.name]
    return str(path)
