"""A sync of two machines: what each gets, what stays different, and why."""

import asyncio
import base64
import json  # noqa: TID251 - the tests' own reader is not the daemon's
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sessiond.client.wire import RpcError
from sessiond.sync.folders import pair_of
from support.daemons import assistant, user
from support.disk import Disk
from support.two_machines import Machine, Machines, two_machines


@pytest.fixture
async def machines(tmp_path: Path) -> AsyncIterator[Machines]:
    async with two_machines(tmp_path) as made:
        yield made


async def test_each_machine_gets_the_sessions_of_the_other_byte_for_byte(machines: Machines) -> None:
    mine, theirs = await machines.here.talk(title="Mine"), await machines.there.talk(title="Theirs")
    report = await machines.sync()
    assert (report.sent.session_count, report.received.session_count) == (1, 1)
    assert await machines.here.ids() == await machines.there.ids() == {mine, theirs}
    assert await machines.are_same(mine)
    assert await machines.are_same(theirs)
    again = await machines.sync()
    assert (again.has_changes, again.unchanged_count) == (False, 2)


async def test_entries_that_both_added_become_branches_with_one_leaf(machines: Machines) -> None:
    session_id = await machines.here.talk()
    await machines.sync()
    [mine] = await machines.here.say(session_id, "said here")
    [theirs] = await machines.there.say(session_id, "said there")
    report = await machines.sync()
    assert report.merged == [session_id]
    assert await machines.are_same(session_id)
    assert (await machines.here.info(session_id))["leafId"] in (mine, theirs)
    for machine in (machines.here, machines.there):
        items = (await machine.peer.call("session/entries", sessionId=session_id))["items"]
        parents = {item["entry"]["id"]: item["entry"]["parentId"] for item in items}
        assert parents[mine] == parents[theirs]
    assert not (await machines.sync()).has_changes


async def test_titles_labels_tags_and_the_leaf_of_one_side_are_taken_over(machines: Machines) -> None:
    session_id = await machines.here.talk()
    await machines.sync()
    call = machines.there.peer.call
    first = (await machines.there.peer.call("session/entries", sessionId=session_id))["items"][0]["entry"][
        "id"
    ]
    await call("session/rename", sessionId=session_id, title="Renamed there")
    await call("session/tag", sessionId=session_id, add=["done"])
    await call("session/label", sessionId=session_id, entryId=first, label="start")
    await call("session/branch", sessionId=session_id, entryId=first)
    report = await machines.sync()
    assert report.merged == []
    assert await machines.are_same(session_id)
    info = await machines.here.info(session_id)
    assert (info["title"], info["tags"], info["leafId"]) == ("Renamed there", ["done"], first)


async def test_only_one_direction_changes_only_one_side(machines: Machines) -> None:
    mine, theirs = await machines.here.talk(), await machines.there.talk()
    await machines.sync(pull=False)
    assert (await machines.here.ids(), await machines.there.ids()) == ({mine}, {mine, theirs})
    await machines.here.say(mine, "said here")
    await machines.there.say(mine, "said there")
    await machines.sync(push=False)
    assert await machines.here.ids() == {mine, theirs}
    assert await machines.there.lines(mine) < await machines.here.lines(mine)
    await machines.sync()
    assert await machines.are_same(mine)


async def test_a_deleted_session_does_not_come_back(machines: Machines) -> None:
    session_id = await machines.here.talk()
    await machines.sync()
    await machines.here.delete(session_id)
    report = await machines.sync()
    assert report.trashed == [session_id]
    assert await machines.here.ids() == await machines.there.ids() == set()
    assert not (await machines.sync()).has_changes


@pytest.mark.parametrize("is_deleted_by_sync", [True, False])
async def test_a_session_that_was_restored_on_one_machine_is_restored_on_the_other(
    machines: Machines, is_deleted_by_sync: bool
) -> None:
    session_id = await machines.here.talk()
    await machines.sync()
    await machines.here.delete(session_id)
    await machines.sync()
    restoring = machines.there if is_deleted_by_sync else machines.here
    before = (await restoring.peer.call("trash/list"))["sessions"][0]
    restored = (await restoring.peer.call("trash/restore", trashId=before["trashId"]))["session"]
    report = await machines.sync()
    assert (report.restored, report.trashed, report.merged) == ([session_id], [], [])
    assert await machines.are_same(session_id)
    assert (await machines.here.info(session_id))["leafId"] == restored["leafId"]
    assert not (await machines.sync()).has_changes
    await machines.here.delete(session_id)
    assert (await machines.sync()).trashed == [session_id]
    assert await machines.here.ids() == await machines.there.ids() == set()


async def test_a_store_that_takes_part_in_no_sync_restores_a_session_byte_for_byte(
    machines: Machines,
) -> None:
    session_id = await machines.here.talk()
    [path] = machines.here.running.home.rglob(f"*_{session_id}.jsonl")
    before = path.read_bytes()
    await machines.here.peer.call("trash/restore", trashId=await machines.here.delete(session_id))
    assert path.read_bytes() == before


async def test_a_deleted_session_is_restored_if_the_other_machine_has_added_to_it(machines: Machines) -> None:
    session_id = await machines.here.talk()
    await machines.sync()
    await machines.here.delete(session_id)
    await machines.there.say(session_id, "still in use")
    report = await machines.sync()
    assert report.restored == [session_id]
    assert await machines.are_same(session_id)


async def test_a_session_with_fewer_lines_than_the_deleted_one_is_deleted_too(machines: Machines) -> None:
    session_id = await machines.here.talk()
    await machines.sync()
    await machines.here.say(session_id, "one more")
    await machines.here.delete(session_id)
    assert (await machines.sync()).trashed == [session_id]


async def test_a_purged_session_does_not_come_back(machines: Machines) -> None:
    session_id = await machines.here.talk()
    await machines.sync()
    trash_id = await machines.here.delete(session_id)
    await machines.here.peer.call("trash/purge", trashId=trash_id, dryRun=False)
    assert (await machines.sync()).trashed == [session_id]
    assert await machines.here.ids() == await machines.there.ids() == set()


async def test_draft_sessions_travel_only_on_request(machines: Machines) -> None:
    made = await machines.here.peer.call("session/create", cwd="/work/p")
    session_id = made["session"]["sessionId"]
    await machines.here.say(session_id, "a draft")
    assert (await machines.sync()).session_count == 0
    await machines.sync(drafts=True)
    assert await machines.are_same(session_id)
    assert (await machines.there.info(session_id))["isDraft"]


async def test_a_project_an_agent_or_a_tag_chooses_the_sessions(machines: Machines) -> None:
    inside, outside = await machines.here.talk("/work/p/sub"), await machines.here.talk("/work/pq")
    tagged = await machines.here.talk("/elsewhere", tags=["keep", "b"])
    await machines.sync(project="/work/p")
    assert await machines.there.ids() == {inside}
    await machines.sync(tags=["b", "keep"])
    assert await machines.there.ids() == {inside, tagged}
    await machines.sync(agent="codex")
    assert outside not in await machines.there.ids()


async def test_folders_are_mapped_in_both_directions(machines: Machines) -> None:
    mine, theirs = await machines.here.talk("/home/a/p/x"), await machines.there.talk("/Users/a/q")
    await machines.sync(pairs=[pair_of("/home/a=/Users/a")])
    assert (await machines.there.info(mine))["cwd"] == "/Users/a/p/x"
    assert (await machines.here.info(theirs))["cwd"] == "/home/a/q"
    assert (await machines.sync()).unchanged_count == 2


async def test_folders_of_the_same_git_repository_are_mapped(machines: Machines, tmp_path: Path) -> None:
    for name, url in (("mine", "git@example.com:ada/p.git"), ("theirs", "https://example.com/ada/p")):
        folder = tmp_path / name
        (folder / ".git").mkdir(parents=True)
        (folder / ".git/HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        (folder / ".git/config").write_text(f'[remote "origin"]\n\turl = {url}\n', encoding="utf-8")
    mine = await machines.here.talk(str(tmp_path / "mine/sub"))
    await machines.there.talk(str(tmp_path / "theirs"))
    await machines.sync()
    assert (await machines.there.info(mine))["cwd"] == str(tmp_path / "theirs/sub")


async def test_blobs_travel_before_the_lines_that_reference_them(machines: Machines) -> None:
    stored = await machines.here.peer.call("blob/put", data=base64.b64encode(b"picture").decode())
    session_id = await machines.here.talk()
    await machines.here.peer.append(session_id, user(f"see {stored['ref']}"))
    report = await machines.sync()
    assert report.sent.blob_count == 1
    there = await machines.there.peer.call("blob/get", hash=stored["hash"])
    assert base64.b64decode(there["data"]) == b"picture"
    absent = "blob:sha256:" + "0" * 64
    await machines.here.peer.call(
        "sync/put", sessionId=session_id,
        lines=base64.b64encode(b'{"type":"x","id":"abs","parentId":null,"image":"%b"}\n' % absent.encode()).decode(),
    )  # fmt: skip
    assert [problem.session_id for problem in (await machines.sync()).problems] == [session_id]
    assert await machines.are_same(session_id)


async def test_entries_with_the_same_id_and_other_content_are_named_and_both_are_kept(
    machines: Machines,
) -> None:
    session_id = await machines.here.talk()
    await machines.sync()
    await machines.here.peer.append(session_id, user("mine", id="the-same"), user("also mine"))
    await machines.there.peer.append(session_id, user("theirs", id="the-same"))
    report = await machines.sync()
    assert [(problem.session_id, problem.entry_id) for problem in report.problems] == [
        (session_id, "the-same")
    ]
    for machine, text in ((machines.here, b'"mine"'), (machines.there, b'"theirs"')):
        lines = await machine.lines(session_id)
        assert any(text in line for line in lines)
        assert any(b"also mine" in line for line in lines)
    again = await machines.sync()
    assert (again.has_changes, len(again.problems)) == (False, 1)


async def test_a_dry_run_writes_nothing(machines: Machines) -> None:
    await machines.here.talk()
    before = machines.there.running.everything()
    report = await machines.sync(is_dry_run=True)
    assert (report.sent.session_count, report.sent.line_count) == (1, 2)
    assert machines.there.running.everything() == before


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_full_disk_is_an_error_and_the_next_sync_completes(tmp_path: Path, is_known: bool) -> None:
    disk = Disk()
    async with two_machines(tmp_path, disk_there=disk) as machines:
        session_id = await machines.here.talk()
        if is_known:
            await machines.sync()
        await machines.here.say(session_id, "more")
        disk.refuse("write", error=28)
        with pytest.raises(RpcError) as refused:
            await machines.sync()
        assert refused.value.kind == "storageFull"
        disk.allow("write")
        await machines.sync()
        assert await machines.are_same(session_id)


async def test_a_large_session_travels_in_pages(machines: Machines) -> None:
    session_id = await machines.here.talk()
    for _ in range(12):
        await machines.here.say(session_id, *("x" * 100_000 for _ in range(10)))
    await machines.sync()
    assert await machines.are_same(session_id)
    for machine in (machines.here, machines.there):
        for _ in range(10):
            await machine.say(session_id, *("y" * 100_000 for _ in range(10)))
    await machines.sync()
    assert await machines.are_same(session_id)
    assert not (await machines.sync()).has_changes


async def test_the_origin_of_a_session_of_an_agent_travels_and_it_is_resumed_there(
    machines: Machines, tmp_path: Path
) -> None:
    source = tmp_path / "rollout.jsonl"
    uuid = "11111111-2222-4333-8444-555555555555"
    rows = [
        {"timestamp": "2026-01-01T00:00:00.000Z", "type": "session_meta", "payload": {
            "id": uuid, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": str(tmp_path), "originator": "codex_cli_rs",
            "cli_version": "0.50.0"}},
        *({"timestamp": "2026-01-01T00:00:01.000Z", "type": "response_item", "payload": {
            "type": "message", "role": role, "content": [{"type": kind, "text": text}]}}
          for role, kind, text in (("user", "input_text", "why?"), ("assistant", "output_text", "a race"))),
    ]  # fmt: skip
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    [made] = (await machines.here.peer.call("session/import", paths=[str(source)]))["sessions"]
    session_id = made["sessionId"]
    await machines.sync(agent="codex")
    source.unlink()
    mine, theirs = await machines.here.info(session_id), await machines.there.info(session_id)
    assert theirs["origin"] == mine["origin"]
    assert theirs["origin"]["agent"] == "codex"
    home = {"HOME": str(tmp_path / "home-there")}
    resumed = await machines.there.peer.call("session/resume", sessionId=session_id, env=home)
    assert resumed["agent"] == "codex"
    assert "a race" in Path(resumed["path"]).read_text(encoding="utf-8")


async def test_appends_during_syncs_lose_nothing(machines: Machines) -> None:
    session_id = await machines.here.talk()
    await machines.sync()

    async def write(machine: int) -> None:
        for number in range(25):
            await (machines.here, machines.there)[machine].say(session_id, f"{machine} {number}")

    async def keep_syncing(writers: "asyncio.Future[tuple[None, None]]") -> None:
        while not writers.done():
            await machines.sync()

    writers = asyncio.gather(write(0), write(1))
    await asyncio.gather(writers, keep_syncing(writers))
    await machines.sync()
    assert await machines.are_same(session_id)
    texts = b"\n".join(await machines.here.lines(session_id))
    assert all(f'"{machine} {number}"'.encode() in texts for machine in (0, 1) for number in range(25))
    assert not (await machines.sync()).has_changes
    await machines.here.peer.append(session_id, assistant("done"))


async def test_a_packed_session_is_sent_and_gets_lines_and_is_equal_to_a_plain_one(
    machines: Machines,
) -> None:
    session_id = await machines.here.talk("/work/p", *["a long text " * 500] * 8)
    await machines.here.peer.call("session/close", sessionId=session_id)
    await machines.here.peer.call("session/flush")
    await _pack(machines.here, session_id)
    report = await machines.sync()
    assert report.sent.session_count == 1
    assert await machines.are_same(session_id)
    await machines.there.peer.call("session/close", sessionId=session_id)
    await machines.here.peer.call("session/close", sessionId=session_id)
    await _pack(machines.there, session_id)
    assert not (await machines.sync()).has_changes
    await machines.here.say(session_id, "said here")
    await machines.sync()
    assert await machines.are_same(session_id)
    assert (await machines.there.info(session_id))["path"].endswith(".jsonl")


async def _pack(machine: Machine, session_id: str) -> None:
    """Pack a session that is not in use, as the daemon does after some weeks."""
    sessions = machine.running.inside.hub.sessions
    live = sessions.cached(session_id)
    if live is not None:
        await sessions.close_session(live)
    totals = await machine.running.inside.hub.packing.pack_unused(0.0)
    assert totals.session_count == 1
