"""Sessions as one file: what another home has afterwards, and what a backup restores."""

import asyncio
import json  # noqa: TID251 - the tests' own reader is not the daemon's
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from sessiond.client.wire import RpcError
from sessiond.protocol import methods as m, types as t
from sessiond.session.union.comparable import comparable
from sessiond.sync.bundle.archive import ArchiveWriter
from sessiond.sync.bundle.errors import NothingChosenError
from sessiond.sync.bundle.reader import opened
from sessiond.sync.bundle.writer import BundleWriter
from sessiond.sync.bundle.writing import BundleTarget, write_bundle
from sessiond.sync.folders import pair_of
from sessiond.sync.options import SyncOptions
from support.bundles import NO_KEYS, back_up, members_of, restore, take, write
from support.daemons import assistant, user
from support.disk import Disk
from support.two_machines import Machines, two_machines


@pytest.fixture
async def machines(tmp_path: Path) -> AsyncIterator[Machines]:
    async with two_machines(tmp_path) as made:
        yield made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "some.sessiond"


async def test_another_home_gets_the_same_lines_and_blobs(machines: Machines, file: Path) -> None:
    here, there = machines.here, machines.there
    plain = await here.talk(title="Plain", tags=["kept"])
    large = await here.talk("/work/q", "x" * 600_000)
    first = (await here.peer.call("session/entries", sessionId=plain))["items"][0]["entry"]["id"]
    await here.peer.call("session/label", sessionId=plain, entryId=first, label="start")
    await here.peer.call("session/branch", sessionId=plain, entryId=first)
    written = await write(here, file)
    assert (written.session_count, written.blob_count, written.problems) == (2, 1, [])
    taken = await take(there, file)
    assert (taken.received.session_count, taken.received.blob_count) == (2, 1)
    assert await machines.are_same(plain)
    assert await machines.are_same(large)
    assert (await there.info(plain))["tags"] == ["kept"]
    again = await take(there, file)
    assert (again.has_changes, again.unchanged_count) == (False, 2)


async def test_other_programs_read_a_bundle_as_a_compressed_archive(machines: Machines, file: Path) -> None:
    session_id = await machines.here.talk()
    await write(machines.here, file)
    members = members_of(file)
    assert json.loads(members["manifest.json"])["sessions"][0]["sessionId"] == session_id
    assert json.loads(members["sessions/000001/000000.jsonl"])["id"] == session_id
    lines = members["sessions/000001/000001.jsonl"].splitlines()
    assert frozenset(map(comparable, lines)) == await machines.here.lines(session_id)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.lists(st.binary(min_size=1, max_size=60).map(lambda line: line.replace(b"\n", b" ")), max_size=6),
        min_size=1,
        max_size=4,
    )
)
def test_lines_of_any_bytes_come_back_as_they_were(pages: list[list[bytes]]) -> None:
    lines = [[comparable(line) for line in page if line.strip()] for page in pages]
    head = (
        b'{"type":"session","version":3,"id":"session-1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}\n'
    )
    position = t.SyncPosition(
        session_id="session-1", state="stored", line_count=0, digest="", cwd="/p", is_draft=False, tags=[],
        agent=None, trash_id=None, problem=None,
    )  # fmt: skip

    async def put(bundle: BundleWriter, number: int, page: list[bytes]) -> None:
        params = t.SyncPutParams(
            session_id="session-1",
            lines=b"".join(line + b"\n" for line in page),
            head=None if number else head,
        )
        await bundle.call(m.SYNC_PUT, params)

    async def read(path: str) -> list[bytes]:
        found, after = [], 0
        with opened(path, NO_KEYS, spool_folder=None) as bundle:
            while True:
                page = await bundle.call(m.SYNC_LINES, t.SyncLinesParams(session_id="session-1", after=after))
                found += page.lines.split(b"\n")[:-1]
                if page.next_after is None:
                    return found
                after = page.next_after

    with tempfile.NamedTemporaryFile() as file:
        writer = BundleWriter(ArchiveWriter(file), [position])  # type: ignore[arg-type]  # a file in binary mode
        for number, page in enumerate(lines):
            asyncio.run(put(writer, number, page))
        writer.finish("bundle", "2026-01-01T00:00:00Z", [])
        file.flush()
        assert asyncio.run(read(file.name)) == [line for page in lines for line in page]


async def test_entries_that_both_added_become_branches(machines: Machines, file: Path) -> None:
    session_id = await machines.here.talk()
    await write(machines.here, file)
    await take(machines.there, file)
    await machines.here.say(session_id, "said here")
    await machines.there.say(session_id, "said there")
    await write(machines.here, file, force=True)
    report = await take(machines.there, file)
    assert report.merged == [session_id]
    assert await machines.here.lines(session_id) < await machines.there.lines(session_id)
    assert not (await take(machines.there, file)).has_changes


async def test_other_content_under_one_id_is_refused_by_name_and_both_are_kept(
    machines: Machines, file: Path
) -> None:
    session_id = await machines.here.talk()
    await write(machines.here, file)
    await take(machines.there, file)
    for machine, text in ((machines.here, "one"), (machines.there, "two")):
        entry = {**user(text), "id": "same-name"}
        await machine.peer.call("session/append", sessionId=session_id, entries=[entry])
    mine = await machines.there.lines(session_id)
    await write(machines.here, file, force=True)
    report = await take(machines.there, file)
    assert [problem.entry_id for problem in report.problems] == ["same-name"]
    assert await machines.there.lines(session_id) == mine


async def test_a_session_that_was_deleted_or_purged_comes_back(machines: Machines, file: Path) -> None:
    deleted, purged = await machines.here.talk(), await machines.here.talk()
    await write(machines.here, file)
    await machines.here.delete(deleted)
    trash_id = await machines.here.delete(purged)
    await machines.here.peer.call("trash/purge", trashId=trash_id, dryRun=False)
    report = await take(machines.here, file)
    assert (report.restored, report.received.session_count) == ([deleted], 1)
    assert await machines.here.ids() == {deleted, purged}


async def test_folders_are_mapped_and_a_dry_run_stores_nothing(machines: Machines, file: Path) -> None:
    session_id = await machines.here.talk("/home/a/p")
    await write(machines.here, file)
    report = await take(machines.there, file, is_dry_run=True)
    assert (report.received.session_count, await machines.there.ids()) == (1, set())
    await take(machines.there, file, pairs=[pair_of("/Users/a=/home/a")])
    assert (await machines.there.info(session_id))["cwd"] == "/Users/a/p"


async def test_files_that_no_bundle_can_hold_are_named_with_the_reason(
    machines: Machines, file: Path
) -> None:
    session_id = await machines.here.talk()
    [path] = machines.here.running.home.rglob(f"*_{session_id}.jsonl")
    copy = path.with_name(f"2020-01-01T00-00-00-000Z_{session_id}.jsonl")
    copy.write_bytes(path.read_bytes())
    os.utime(copy, (1, 1))
    damaged = path.with_name("2026-01-01T00-00-00-000Z_damaged-one.jsonl")
    damaged.write_bytes(b"no session\n")
    report = await back_up(machines.here, file)
    assert (report.session_count, report.problems) == (1, [])
    assert {Path(session.path).name for session in report.left_out} == {copy.name, damaged.name}
    assert all(session.message for session in report.left_out)
    chosen = await write(machines.here, file, force=True, session_ids={session_id})
    assert chosen.left_out == []


async def test_a_selection_without_sessions_writes_no_file(machines: Machines, file: Path) -> None:
    chosen = await machines.here.talk("/work/p", tags=["x"])
    await machines.here.talk("/work/q")
    with pytest.raises(NothingChosenError):
        await write(machines.here, file, tags=["absent"])
    assert not list(file.parent.glob("*sessiond*"))
    for options in ({"tags": ["x"]}, {"project": "/work/p"}, {"session_ids": [chosen]}):
        assert (await write(machines.here, file, force=True, **options)).session_count == 1


async def test_a_backup_has_drafts_and_the_trash_with_its_notes(machines: Machines, file: Path) -> None:
    here, there = machines.here, machines.there
    kept, deleted = await here.talk(), await here.talk("/work/q", "y" * 600_000)
    draft = (await here.peer.call("session/create", cwd="/work/p"))["session"]["sessionId"]
    await here.say(draft, "a draft")
    await here.peer.call("session/delete", sessionId=deleted, note="no longer needed")
    written = await back_up(here, file)
    assert (written.session_count, written.trashed_count, written.blob_count) == (2, 1, 1)
    report = await restore(there, file)
    assert (report.trashed_count, report.problems) == (1, [])
    assert await machines.are_same(kept)
    assert await there.ids(includeDrafts=True) == {kept, draft}
    [gone] = (await there.peer.call("trash/list"))["sessions"]
    assert (gone["sessionId"], gone["note"]) == (deleted, "no longer needed")
    again = await restore(there, file)
    assert (again.has_changes, again.unchanged_count) == (False, 3)


async def test_a_session_in_use_is_not_deleted_by_a_backup_that_has_it_in_the_trash(
    machines: Machines, file: Path
) -> None:
    session_id = await machines.here.talk()
    await write(machines.here, file)
    await take(machines.there, file)
    await machines.here.say(session_id, "one more")
    await machines.here.delete(session_id)
    await back_up(machines.here, file.with_name("all"))
    report = await restore(machines.there, file.with_name("all"))
    assert [problem.session_id for problem in report.problems] == [session_id]
    assert await machines.there.ids() == {session_id}


async def test_a_backup_is_consistent_while_a_client_writes(machines: Machines, file: Path) -> None:
    here = machines.here
    sessions = [await here.talk() for _ in range(5)]
    is_done = asyncio.Event()

    async def write_on() -> None:
        while not is_done.is_set():
            for session_id in sessions:
                await here.peer.append(session_id, user("more"), assistant("yes"))

    writing = asyncio.create_task(write_on())
    written = await back_up(here, file)
    is_done.set()
    await writing
    assert written.problems == []
    assert (await restore(machines.there, file)).problems == []
    for session_id in sessions:
        lines = await machines.there.lines(session_id)
        assert lines <= await here.lines(session_id)
        assert len(lines) % 2 == 0  # both messages of an append, or none


async def test_a_canceled_bundle_leaves_no_file(machines: Machines, file: Path) -> None:
    for _ in range(3):
        await machines.here.talk()
    task: asyncio.Task[object]

    def cancel(done: int, count: int) -> None:
        task.cancel()

    task = asyncio.ensure_future(
        write_bundle(machines.here.daemon, BundleTarget(file), SyncOptions(), cancel)
    )
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not list(file.parent.glob("*some*"))


async def test_after_a_full_disk_a_repetition_stores_the_rest(tmp_path: Path) -> None:
    disk = Disk()
    async with two_machines(tmp_path, disk_there=disk) as machines:
        session_id = await machines.here.talk("/work/p", "z" * 10_000)
        await write(machines.here, tmp_path / "one")
        disk.room = 100
        with pytest.raises(RpcError) as refused:
            await take(machines.there, tmp_path / "one")
        assert refused.value.kind == "storageFull"
        disk.room = None
        assert (await take(machines.there, tmp_path / "one")).problems == []
        assert await machines.are_same(session_id)


async def test_a_bundle_does_not_bring_a_forgotten_session_back(machines: Machines, file: Path) -> None:
    here = machines.here
    kept, forgotten = await here.talk(), await here.talk()
    await write(here, file)
    await here.peer.call("session/delete", sessionId=forgotten, forget=True)
    await here.delete(kept)
    await take(here, file)

    assert forgotten not in await here.ids()
    [session] = (await here.peer.call("forgotten/list"))["sessions"]
    assert session["sessionId"] == forgotten
