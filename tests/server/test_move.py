"""A session that belongs to another folder from now on: its file, its header, the lists and breadcrumbs follow."""

import asyncio
import json  # noqa: TID251 - files are read as another program reads them
from pathlib import Path

from hypothesis import HealthCheck, given, settings, strategies as st

from sessiond.hub.session.migration import with_cwd
from sessiond.session.tree.tree import Tree
from support import logs
from support.columns import entries_of
from support.daemons import Running, assistant, refusal, running, user
from support.disk import Disk
from support.shared import started, terminal


async def test_a_moved_session_is_listed_where_it_belongs_now(daemon: Running, cwd: str) -> None:
    peer, name = await started(daemon, cwd, title="Plans")
    await peer.append(name, user("hello"), assistant("hi"))
    other = await daemon.attach()
    await other.call("session/open", sessionId=name)
    before = (await peer.call("session/info", sessionId=name))["session"]
    original = Path(before["path"]).read_bytes()
    target = f"{cwd}-renamed"
    moved = (await peer.call("session/move", sessionId=name, cwd=target))["session"]
    assert (moved["cwd"], moved["lastSeq"], moved["leafId"]) == (target, before["lastSeq"], before["leafId"])
    path = Path(moved["path"])
    assert (path.parent.name, Path(before["path"]).exists()) == (
        f"--work-{target.rpartition('/')[2]}--",
        False,
    )
    lines, former = path.read_bytes().split(b"\n"), original.split(b"\n")
    assert lines[1:] == former[1:]
    assert json.loads(lines[0]) == json.loads(former[0]) | {"cwd": target}
    assert path.with_name(f"{path.name}.v3.bak").read_bytes() == original
    assert (await peer.call("session/list", cwd=cwd))["sessions"] == []
    assert [
        session["sessionId"] for session in (await peer.call("session/list", cwd=target))["sessions"]
    ] == [name]
    await other.until(lambda client: bool(client.told("session/changed")))
    [note] = other.told("session/changed")
    assert (note["changed"], note["session"]) == (["path", "cwd"], moved)
    await peer.append(name, user("more"))
    await other.until(lambda client: client.seqs() == [4])
    again = (await peer.call("session/move", sessionId=name, cwd=target))["session"]
    assert again["path"] == moved["path"]


async def test_a_draft_moves_as_a_draft_and_becomes_a_session_there(daemon: Running, cwd: str) -> None:
    peer, name = await started(daemon, cwd)
    moved = (await peer.call("session/move", sessionId=name, cwd=f"{cwd}-renamed"))["session"]
    assert moved["isDraft"]
    await peer.append(name, user("hello"), assistant("hi"))
    session = (await peer.call("session/info", sessionId=name))["session"]
    assert Path(session["path"]).parent == daemon.home / "data/sessions" / Path(moved["path"]).parent.name
    assert session["cwd"] == f"{cwd}-renamed"


async def test_appends_around_a_move_are_all_kept_in_order(daemon: Running, cwd: str) -> None:
    peer, name = await started(daemon, cwd)
    await peer.append(name, user("hello"), assistant("hi"))
    calls = [peer.append(name, user(f"{number}")) for number in range(20)]
    calls.insert(10, peer.call("session/move", sessionId=name, cwd=f"{cwd}-renamed"))
    await asyncio.gather(*calls)
    found = await peer.call("session/path", sessionId=name)
    said = [entry["message"]["content"] for entry in entries_of(found)[2:]]
    assert said == [f"{number}" for number in range(20)]


async def test_a_delete_waits_for_a_move_and_leaves_one_whole_file(daemon: Running, cwd: str) -> None:
    for number in range(5):
        peer, name = await started(daemon, cwd, id=f"both-{cwd.rpartition('-')[2]}-{daemon.mode}-{number}")
        other = await daemon.attach()
        await peer.append(name, user("hello"), assistant("hi"))
        move = asyncio.ensure_future(peer.call("session/move", sessionId=name, cwd=f"{cwd}-renamed"))
        gone = await other.call("session/delete", sessionId=name)
        refused = (await asyncio.gather(move, return_exceptions=True))[0]
        assert getattr(refused, "kind", "sessionTrashed") == "sessionTrashed"
        assert [
            path.name
            for path in Path(gone["trashPath"]).parent.glob(f"*{name}.jsonl*")
            if path.suffix != ".json"
        ] == [Path(gone["trashPath"]).name]
        back = (await peer.call("trash/restore", sessionId=name))["session"]
        assert (back["entryCount"], back.get("problems", 0)) == (2, 0)


async def test_a_session_in_memory_moves_too(memory: Running, cwd: str) -> None:
    peer, name = await started(memory, cwd, ephemeral=True)
    assert (await peer.call("session/move", sessionId=name, cwd="/elsewhere"))["session"][
        "cwd"
    ] == "/elsewhere"
    assert (await peer.append(name, user("hello")))["lastSeq"] == 1


async def test_a_terminal_finds_its_session_in_the_folder_that_was_renamed(
    memory: Running, tmp_path: Path, cwd: str
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    where = terminal("pane", cwd=cwd) | {"cwd": str(old)}
    peer, name = await started(memory, str(old), terminal=where)
    await peer.append(name, user("hello"), assistant("hi"))
    newer, newer_name = await started(memory, str(new))
    await newer.append(newer_name, user("hello"), assistant("hi"))
    old.rename(new)
    await peer.call("session/move", sessionId=name, cwd=str(new))
    went = await peer.call("session/continue", cwd=str(new), terminal=where | {"cwd": str(new)})
    assert (went["session"]["sessionId"], went["reason"]) == (name, "breadcrumb")


async def test_another_programs_file_stays_where_it_is(memory: Running, tmp_path: Path) -> None:
    peer = await memory.attach()
    file = tmp_path / "theirs.jsonl"
    data = logs.log(logs.header(id="theirs-1"), logs.user("hello", parent=None))
    file.write_bytes(data)
    await peer.call("session/open", path=str(file))
    refused = await refusal(peer.call("session/move", sessionId="theirs-1", cwd="/elsewhere"))
    assert (refused.kind, file.read_bytes()) == ("invalidParams", data)


async def test_a_folder_is_named_by_an_absolute_path(memory: Running, cwd: str) -> None:
    peer, name = await started(memory, cwd)
    for folder in ("here", "", "/a\0b"):
        assert (await refusal(peer.call("session/move", sessionId=name, cwd=folder))).kind == "invalidParams"


async def test_a_move_that_was_cut_off_is_done_by_the_same_request(tmp_path: Path, cwd: str) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, name = await started(daemon, cwd)
        await peer.append(name, user("hello"), assistant("hi"))
        disk.refuse("rename", 1)
        assert (
            await refusal(peer.call("session/move", sessionId=name, cwd="/elsewhere"))
        ).kind == "storageFailed"
        await peer.append(name, user("more"))
        moved = (await peer.call("session/move", sessionId=name, cwd="/elsewhere"))["session"]
        assert (moved["cwd"], moved["lastSeq"]) == ("/elsewhere", 3)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cwd=st.text(min_size=1, max_size=20).map(lambda text: f"/{text}"), extra=st.text(max_size=10))
def test_only_the_folder_in_the_header_changes(cwd: str, extra: str) -> None:
    log = logs.log(
        logs.header(unknown=extra), logs.user(extra, parent=None), b"damaged", logs.assistant("hi")
    )
    tree = Tree()
    tree.read(log)
    tree.finish()
    lines, former = with_cwd(tree, log, cwd).split(b"\n"), log.split(b"\n")
    assert lines[1:] == former[1:]
    assert json.loads(lines[0]) == json.loads(former[0]) | {"cwd": cwd}
