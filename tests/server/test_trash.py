"""Deletion and restoration of sessions: every client is notified, and no line is lost."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from support import logs
from support.columns import seqs_of
from support.daemons import Peer, Running, assistant, refusal, running, user
from support.disk import Disk
from support.shared import started


async def talked(daemon: Running, cwd: str, **params: Any) -> tuple[Peer, dict[str, Any]]:
    """A client with a session open in which something was said, and what is known of it."""
    peer, session_id = await started(daemon, cwd, **params)
    await peer.append(session_id, user("hello"), assistant("hi"))
    return peer, (await peer.call("session/info", sessionId=session_id))["session"]


async def listed(peer: Peer, cwd: str) -> list[str]:
    return [session["sessionId"] for session in (await peer.call("session/list", cwd=cwd))["sessions"]]


async def test_a_deleted_session_is_restored_byte_for_byte(daemon: Running, cwd: str) -> None:
    peer, session = await talked(daemon, cwd, title="Plans")
    before = Path(session["path"]).read_bytes()
    gone = await peer.call("session/delete", sessionId=session["sessionId"], note="an experiment")
    assert (gone["sessionId"], gone["path"]) == (session["sessionId"], session["path"])
    assert Path(gone["trashPath"]).read_bytes() == before
    assert not Path(session["path"]).exists()
    assert await listed(peer, cwd) == []
    [found] = [
        row for row in (await peer.call("trash/list"))["sessions"] if row["trashId"] == gone["trashId"]
    ]
    assert (found["path"], found["note"], found["title"]) == (session["path"], "an experiment", "Plans")
    assert (found["cwd"], found["sizeBytes"], found["isDraft"]) == (cwd, len(before), False)
    back = await peer.call("trash/restore", sessionId=session["sessionId"])
    assert (back["session"], back["problems"]) == (session, [])
    assert Path(session["path"]).read_bytes() == before
    assert await listed(peer, cwd) == [session["sessionId"]]
    await peer.append(session["sessionId"], user("again"))


async def test_all_clients_are_notified_of_a_deletion_and_a_restoration(daemon: Running, cwd: str) -> None:
    peer, session = await talked(daemon, cwd)
    other = await daemon.attach()
    await other.call("session/open", sessionId=session["sessionId"])
    gone = await peer.call("session/delete", sessionId=session["sessionId"], note="old")
    await other.until(lambda client: bool(client.told("session/deleted")))
    [note] = other.told("session/deleted")
    assert (note["sessionId"], note["trashId"], note["note"]) == (
        session["sessionId"], gone["trashId"], "old",
    )  # fmt: skip
    await peer.call("trash/restore", trashId=gone["trashId"])
    await other.until(lambda client: bool(client.told("session/restored")))
    assert other.told("session/restored")[0]["session"] == session
    await peer.append(session["sessionId"], user("more"))
    await other.call("server/status")
    assert [seqs_of(note) for note in other.told("session/appended")] == []  # it is closed for all
    assert other.told("session/lagged") == []


async def test_requests_about_a_deleted_session_fail_with_its_place_in_the_trash(
    daemon: Running, cwd: str
) -> None:
    peer, session = await talked(daemon, cwd)
    other = await daemon.attach()
    await other.call("session/open", sessionId=session["sessionId"])
    gone = await peer.call("session/delete", sessionId=session["sessionId"])
    asked = [
        other.append(session["sessionId"], user("too late")),
        other.call("session/open", path=session["path"]),
    ]
    for call in asked:
        refused = await refusal(call)
        assert (refused.kind, refused.code, refused.details["sessionId"]) == (
            "sessionTrashed", 1410, session["sessionId"],
        )  # fmt: skip
        assert (refused.details["trashId"], refused.details["trashPath"]) == (
            gone["trashId"],
            gone["trashPath"],
        )
        assert (refused.details["trashId"], refused.details["trashPath"]) == (
            gone["trashId"],
            gone["trashPath"],
        )


async def test_deleting_a_deleted_session_returns_its_place_in_the_trash(daemon: Running, cwd: str) -> None:
    peer, session = await talked(daemon, cwd)
    gone = await peer.call("session/delete", sessionId=session["sessionId"])
    assert not gone["duplicate"]
    for named in ({"sessionId": session["sessionId"]}, {"path": session["path"]}):
        assert await peer.call("session/delete", **named) == gone | {"duplicate": True}
    await peer.call("server/status")
    assert len(peer.told("session/deleted")) == 1


async def test_deleting_a_purged_session_fails(daemon: Running, cwd: str) -> None:
    peer, session = await talked(daemon, cwd)
    gone = await peer.call("session/delete", sessionId=session["sessionId"])
    await peer.call("trash/purge", trashId=gone["trashId"], dryRun=False)
    refused = await refusal(peer.call("session/delete", sessionId=session["sessionId"]))
    assert refused.kind == "sessionNotFound"


async def test_appends_before_a_deletion_are_stored_and_later_ones_are_refused(
    daemon: Running, cwd: str
) -> None:
    peer, session = await talked(daemon, cwd)
    name = session["sessionId"]
    others = [await daemon.attach() for _ in range(3)]
    calls = [other.append(name, user(f"{number}")) for number in range(20) for other in others]
    asking = [asyncio.ensure_future(call) for call in calls]
    gone = asyncio.ensure_future(peer.call("session/delete", sessionId=name))
    outcomes = await asyncio.gather(*asking, return_exceptions=True)
    kept = Path((await gone)["trashPath"]).read_bytes()
    refused = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert {getattr(error, "kind", error) for error in refused} <= {"sessionTrashed"}
    assert kept.count(b"\n") == 3 + len(outcomes) - len(refused)


async def test_of_two_concurrent_deletions_one_is_a_duplicate(daemon: Running, cwd: str) -> None:
    peer, session = await talked(daemon, cwd)
    other = await daemon.attach()
    calls = [client.call("session/delete", sessionId=session["sessionId"]) for client in (peer, other)]
    answers = await asyncio.gather(*calls)
    assert sorted(answer["duplicate"] for answer in answers) == [False, True]
    assert answers[0]["trashId"] == answers[1]["trashId"]


async def test_a_session_in_memory_is_deleted_and_restored_too(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd, ephemeral=True)
    await peer.append(session_id, user("hello", id="a"))
    gone = await peer.call("session/delete", sessionId=session_id)
    assert gone["path"] is None
    assert (await refusal(peer.append(session_id, user("x")))).kind == "sessionTrashed"
    back = (await peer.call("trash/restore", sessionId=session_id))["session"]
    assert (back["ephemeral"], back["leafId"]) == (True, "a")
    assert (await peer.append(session_id, user("more")))["lastSeq"] == 2


async def test_a_restoration_overwrites_nothing(daemon: Running, cwd: str) -> None:
    name = f"attic-{cwd.rpartition('-')[2]}-{daemon.mode}"
    peer, session = await talked(daemon, cwd, id=name)
    gone = await peer.call("session/delete", sessionId=name)
    _, taken = await talked(daemon, f"{cwd}/elsewhere", id=name)
    for params in ({"sessionId": name}, {"trashId": gone["trashId"]}):
        assert (await refusal(peer.call("trash/restore", **params))).kind == "alreadyExists"
    assert Path(gone["trashPath"]).exists()
    await peer.call("session/delete", sessionId=name)
    assert (await peer.call("trash/restore", trashId=gone["trashId"]))["session"] == session
    assert not Path(taken["path"]).exists()


async def test_of_several_deleted_sessions_with_one_id_the_last_is_restored(
    daemon: Running, cwd: str
) -> None:
    name = f"twice-{cwd.rpartition('-')[2]}-{daemon.mode}"
    for title in ("first", "second"):
        peer, _ = await talked(daemon, cwd, id=name, title=title)
        await peer.call("session/delete", sessionId=name)
    assert (await peer.call("trash/restore", sessionId=name))["session"]["title"] == "second"


async def test_a_file_of_another_program_is_deleted_only_by_its_path(daemon: Running, tmp_path: Path) -> None:
    peer = await daemon.attach()
    file = tmp_path / "theirs" / "2026-02-16T10-20-30-000Z_pi.jsonl"
    file.parent.mkdir()
    data = logs.log(logs.header(id=f"theirs-{tmp_path.name}"[:60].replace("[", "-").replace("]", "-")),
                    logs.user("hello", parent=None))  # fmt: skip
    file.write_bytes(data)
    session_id = (await peer.call("session/open", path=str(file)))["session"]["sessionId"]
    assert (await refusal(peer.call("session/delete", sessionId=session_id))).kind == "invalidParams"
    assert file.read_bytes() == data
    gone = await peer.call("session/delete", path=str(file))
    assert not file.exists()
    assert Path(gone["trashPath"]).read_bytes() == data
    assert (await peer.call("trash/restore", sessionId=session_id))["session"]["path"] == str(file)
    assert file.read_bytes() == data


async def test_the_trash_is_read_in_pages(memory: Running, cwd: str) -> None:
    peer = await memory.attach()
    for number in range(5):
        made = await peer.call("session/create", cwd=cwd, id=f"paged-up-{number}")
        await peer.call("session/close", sessionId=made["session"]["sessionId"])
    everything = (await peer.call("trash/list"))["sessions"]
    assert {item["note"] for item in everything} == {"closed before the first answer"}
    found: list[Any] = []
    cursor: dict[str, Any] = {}
    while True:
        page = await peer.call("trash/list", limit=2, withTotal=True, **cursor)
        assert page["totalCount"] == 5
        found += page["sessions"]
        if page["nextCursor"] is None:
            break
        cursor = {"cursor": page["nextCursor"]}
    assert found == everything
    assert (await refusal(peer.call("trash/list", cursor="\u00e9"))).kind == "cursorExpired"


@pytest.mark.parametrize("method", ["trash/restore", "trash/purge"])
async def test_the_beginning_of_an_id_in_the_trash_is_refused_with_the_ids_that_it_may_mean(
    memory: Running, cwd: str, method: str
) -> None:
    peer = await memory.attach()
    for name in ("atlas-one", "atlas-two"):
        await peer.call("session/create", cwd=cwd, id=name)
        await peer.call("session/delete", sessionId=name)
    refused = await refusal(peer.call(method, sessionId="atlas"))
    assert refused.kind == "sessionNotFound"
    assert refused.details["didYouMean"] == ["atlas-one", "atlas-two"]
    assert (await refusal(peer.call(method, sessionId="atlas-o"))).details["didYouMean"] == ["atlas-one"]
    assert len((await peer.call("trash/list"))["sessions"]) == 2


@pytest.mark.parametrize("params", [{}, {"sessionId": "a", "trashId": "b"}])
async def test_a_restoration_takes_exactly_one_selector(memory: Running, params: dict[str, str]) -> None:
    peer = await memory.attach()
    assert (await refusal(peer.call("trash/restore", **params))).kind == "invalidParams"


async def test_a_session_that_is_not_in_the_trash_is_not_found(memory: Running, cwd: str) -> None:
    peer, session = await talked(memory, cwd)
    for params in ({"sessionId": session["sessionId"]}, {"trashId": "x"}):
        assert (await refusal(peer.call("trash/restore", **params))).kind == "sessionNotFound"


@pytest.mark.parametrize("trash_id", ["../state", "a/b", "/etc/passwd", ".", "a\0b", "", "x" * 129, "\u00e9"])
@pytest.mark.parametrize("method", ["trash/restore", "trash/purge"])
async def test_a_trash_id_is_no_path(memory: Running, method: str, trash_id: str) -> None:
    peer = await memory.attach()
    assert (await refusal(peer.call(method, trashId=trash_id))).kind == "invalidParams"


async def test_a_session_that_is_deleted_again_has_another_trash_id(memory: Running, cwd: str) -> None:
    peer, session = await talked(memory, cwd)
    first = await peer.call("session/delete", sessionId=session["sessionId"])
    await peer.call("trash/restore", trashId=first["trashId"])
    second = await peer.call("session/delete", sessionId=session["sessionId"])
    assert first["trashId"] != second["trashId"]
    refused = await refusal(peer.call("trash/purge", trashId=first["trashId"], dryRun=False))
    assert refused.kind == "sessionNotFound"
    assert Path(second["trashPath"]).exists()


async def test_a_purged_id_that_begins_like_one_in_the_trash_is_not_found(memory: Running, cwd: str) -> None:
    peer = await memory.attach()
    for name in ("harbor-1", "harbor-12"):
        await peer.call("session/create", cwd=cwd, id=name)
        await peer.call("session/delete", sessionId=name)
    await peer.call("trash/purge", sessionId="harbor-1", dryRun=False)
    for method in ("session/info", "session/delete"):
        refused = await refusal(peer.call(method, sessionId="harbor-1"))
        assert (refused.kind, refused.details["didYouMean"]) == ("sessionNotFound", ["harbor-12"])


async def test_the_trash_is_counted_only_on_request(memory: Running, cwd: str) -> None:
    peer, session = await talked(memory, cwd)
    await peer.call("session/delete", sessionId=session["sessionId"])
    assert (await peer.call("trash/list"))["totalCount"] is None
    assert (await peer.call("trash/list", withTotal=True))["totalCount"] == 1


async def test_a_session_in_memory_has_a_trash_id_and_no_trash_path(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd, ephemeral=True)
    gone = await peer.call("session/delete", sessionId=session_id)
    assert gone["trashPath"] is None
    [found] = (await peer.call("trash/list"))["sessions"]
    assert (found["trashId"], found["trashPath"], found["note"]) == (gone["trashId"], None, None)
    assert (await peer.call("trash/restore", trashId=gone["trashId"]))["session"]["sessionId"] == session_id


async def test_a_session_whose_deletion_fails_stays_usable(tmp_path: Path, cwd: str) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session = await talked(daemon, cwd)
        disk.refuse("rename", 1)
        refused = await refusal(peer.call("session/delete", sessionId=session["sessionId"]))
        assert refused.kind == "storageFailed"
        assert (await peer.append(session["sessionId"], user("still here")))["lastSeq"] == 3
        await peer.until(lambda client: bool(client.told("session/lagged")))
        assert (await peer.call("trash/list"))["sessions"] == []


async def test_a_session_can_be_restored_after_a_restart(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path) as daemon:
        peer, session = await talked(daemon, cwd)
        before = Path(session["path"]).read_bytes()
        await peer.call("session/delete", sessionId=session["sessionId"])
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        assert (
            await refusal(peer.call("session/info", sessionId=session["sessionId"]))
        ).kind == "sessionTrashed"
        assert (await peer.call("trash/restore", sessionId=session["sessionId"]))["session"] == session
    assert Path(session["path"]).read_bytes() == before


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.sampled_from(["delete", "restore"]), st.integers(0, 2)), max_size=12))
def test_any_deletions_and_restorations_leave_the_files_unchanged(
    steps: list[tuple[str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    async def main() -> None:
        async with running(tmp_path_factory.mktemp("home")) as daemon:
            sessions = [(await talked(daemon, "/work/a", id=f"session-{number}"))[1] for number in range(3)]
            peer = await daemon.attach()
            before = [Path(session["path"]).read_bytes() for session in sessions]
            there = [True, True, True]
            for step, number in steps:
                call = peer.call(
                    f"{'session' if step == 'delete' else 'trash'}/{step}", sessionId=f"session-{number}"
                )
                if there[number] is (step == "delete"):
                    await call
                    there[number] = not there[number]
                elif step == "delete":
                    assert (await call)["duplicate"] is True
                else:
                    assert (await refusal(call)).kind == "sessionNotFound"
            for number, is_there in enumerate(there):
                if not is_there:
                    await peer.call("trash/restore", sessionId=f"session-{number}")
            assert [Path(session["path"]).read_bytes() for session in sessions] == before
            assert (await peer.call("trash/list"))["sessions"] == []
            assert list((daemon.home / "data" / "trash").glob("*")) == []

    asyncio.run(main())
