"""Logs as files: where they lie, who may read them, and what is refused."""

import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sessiond.store.errors import LogExists, LogNotFound, LogReadOnly, LogReplaced, StorageFailed, SyncFailed
from support.disk import Disk
from support.stores import (
    CWD,
    HEADER,
    TIMESTAMP,
    append,
    content,
    file_log,
    file_of,
    file_store,
    new_log,
    on_disk,
)

NAME = "2026-02-16T10-20-30-000Z_abc.jsonl"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def files_in(home: Path) -> set[str]:
    return {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}


async def test_drafts_and_sessions_lie_in_folders_named_after_the_working_directory(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        draft = await new_log(store, draft=True)
        assert draft.ref == draft.path == str(tmp_path / "data" / "drafts" / "--work-pi--" / NAME)
        await draft.promote()
        assert draft.ref == draft.path == str(tmp_path / "data" / "sessions" / "--work-pi--" / NAME)
        await draft.close()
    assert files_in(tmp_path) == {f"data/sessions/--work-pi--/{NAME}", "state/log-ids"}


async def test_only_the_owner_may_read_what_we_make(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        async with file_store(tmp_path) as store:
            log = await new_log(store, draft=True, lines=b"one\ntorn")
            await log.promote()
            await log.quarantine_tail(4, 1)
            await log.rewrite(b"two\n", 2)
            await log.close()
            other = await new_log(store, "other")
            await store.trash(other, "test")
    finally:
        os.umask(umask)
    made = list(tmp_path.rglob("*"))
    assert {mode_of(path) for path in made if path.is_dir()} == {0o700}
    assert {mode_of(path) for path in made if path.is_file()} == {0o600}


async def test_a_folder_of_ours_that_others_may_enter_is_closed_to_them(tmp_path: Path) -> None:
    sessions = tmp_path / "data" / "sessions"
    sessions.mkdir(parents=True)
    sessions.chmod(0o777)
    async with file_log(tmp_path):
        assert mode_of(sessions) == 0o700


@pytest.mark.parametrize("name", ["sessions", "sessions/--work-pi--"])
async def test_a_link_in_place_of_a_folder_is_refused(tmp_path: Path, name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = tmp_path / "data" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    async with file_store(tmp_path) as store:
        with pytest.raises(StorageFailed):
            await new_log(store)
        assert list(elsewhere.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
async def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    sessions = tmp_path / "data" / "sessions"
    sessions.mkdir(parents=True)
    os.chown(sessions, 65534, 65534)
    async with file_store(tmp_path) as store:
        with pytest.raises(StorageFailed):
            await new_log(store)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
async def test_a_log_in_our_folders_that_belongs_to_somebody_else_is_refused(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        log = await new_log(store)
        await log.close()
        os.chown(file_of(log), 65534, 65534)
        with pytest.raises(StorageFailed):
            await store.open("abc")


async def test_links_in_our_folders_are_neither_listed_nor_opened_by_id(tmp_path: Path) -> None:
    secret = tmp_path / "secret.jsonl"
    secret.write_bytes(HEADER)
    async with file_log(tmp_path) as log:
        folder = file_of(log).parent
        (folder / "2026_link.jsonl").symlink_to(secret)
        (folder.parent / "linked").symlink_to(tmp_path)
        os.mkfifo(folder / "2026_fifo.jsonl")
        async with file_store(tmp_path) as store:
            assert [stored.session_id for stored in await store.list()] == ["abc"]
            for session_id in ("link", "secret", "fifo"):
                with pytest.raises(LogNotFound):
                    await store.open(session_id)


async def test_a_path_that_a_person_names_may_be_a_link(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign" / "my.session.jsonl"
    foreign.parent.mkdir()
    foreign.write_bytes(HEADER)
    foreign.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(foreign)
    async with file_store(tmp_path) as store:
        log = await store.open_ref(str(link))
        assert (log.path, log.session_id, log.draft) == (str(foreign), "my.session", False)
        await append(log, b"1\n")
        await log.rewrite(b"new\n", 1)
        assert (foreign.read_bytes(), mode_of(foreign), link.is_symlink()) == (b"new\n", 0o640, True)
        await log.close()


async def test_a_path_that_is_no_regular_file_is_no_log(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        async with file_store(tmp_path) as store:
            for ref in ("fifo", "loop", "dangling", "folder", "socket", "nothing", "file/below", "x" * 300):
                with pytest.raises(LogNotFound):
                    await store.open_ref(str(tmp_path / ref))
                with pytest.raises(LogNotFound):
                    list(store.scan(str(tmp_path / ref)))
            with pytest.raises(LogNotFound):
                await store.open_ref("/dev/null")


async def test_a_relative_path_names_nothing_since_the_daemon_has_no_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here.jsonl").write_bytes(HEADER)
    monkeypatch.chdir(tmp_path)
    async with file_store(tmp_path) as store:
        with pytest.raises(LogNotFound):
            await store.open_ref("here.jsonl")


async def test_a_file_that_may_not_be_written_opens_for_reading_and_says_why() -> None:
    with open_to_nobody() as home:
        foreign = home / "foreign.jsonl"
        foreign.write_bytes(HEADER)
        foreign.chmod(0o444)
        with as_nobody():
            async with file_store(home) as store:
                log = await store.open_ref(str(foreign))
                assert content(log) == HEADER
                assert log.read_only is not None
                for refused in (
                    log.append(b"1\n", "synced"),
                    log.rewrite(b"new\n", 1),
                    log.quarantine_tail(0, 1),
                ):
                    with pytest.raises(LogReadOnly):
                        await refused
                await log.close()
        assert foreign.read_bytes() == HEADER


async def test_a_file_that_may_not_be_read_says_so() -> None:
    with open_to_nobody() as home:
        foreign = home / "foreign.jsonl"
        foreign.touch()
        foreign.chmod(0)
        with as_nobody():
            async with file_store(home) as store:
                with pytest.raises(StorageFailed):
                    await store.open_ref(str(foreign))


@contextmanager
def open_to_nobody() -> Iterator[Path]:
    """A folder that any user may enter, which pytest's are not."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        home.chmod(0o755)
        yield home


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without the rights of root, whom no mode stops."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


async def test_an_id_that_cannot_be_a_name_creates_nothing(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        for bad in ("../abc", "a/b", "", "a.b"):
            with pytest.raises(ValueError, match="cannot name"):
                await new_log(store, bad)
    assert files_in(tmp_path) == set()


async def test_a_file_that_has_the_name_already_is_not_replaced(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        folder = tmp_path / "data" / "sessions" / "--work-pi--"
        folder.mkdir(parents=True, mode=0o700)
        (folder / NAME).symlink_to(tmp_path / "nothing")
        with pytest.raises(StorageFailed):
            await new_log(store)
        assert [path.name for path in folder.iterdir()] == [NAME]


@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
async def test_a_log_that_cannot_be_created_leaves_nothing_and_can_be_created_later(
    tmp_path: Path, call: str
) -> None:
    disk = Disk()
    async with file_store(tmp_path, disk.calls) as store:
        first = await new_log(store, "first")  # so that the folders are there
        await first.close()
        disk.refuse(call)
        with pytest.raises(StorageFailed):
            await new_log(store)
        assert files_in(tmp_path / "data") == {f"sessions/--work-pi--/{file_of(first).name}"}
        disk.allow(call)
        log = await new_log(store)
        assert on_disk(log) == HEADER
        await log.close()


async def test_a_name_is_durable_before_create_and_promote_return(tmp_path: Path) -> None:
    disk = Disk()
    async with file_store(tmp_path, disk.calls) as store:
        log = await new_log(store, draft=True)
        renamed = disk.trace.index("rename")
        assert disk.trace[renamed - 2 :] == ["write", "fsync", "rename", "fsync"]
        disk.trace.clear()
        await log.promote()
        assert disk.trace[disk.trace.index("rename") :] == ["rename", "fsync", "fsync"]
        await log.close()


async def test_lines_that_another_process_left_unsynced_are_synced_before_they_are_shown(
    tmp_path: Path,
) -> None:
    disk = Disk()
    async with file_store(tmp_path, disk.calls) as store:
        log = await new_log(store)
        await log.close()
        disk.trace.clear()
        again = await store.open("abc")
        assert disk.trace == ["fdatasync", "fsync"]
        await again.close()
        disk.refuse("fdatasync", 1)
        broken = await store.open("abc")
        assert isinstance(broken.write_error, SyncFailed)
        assert content(broken) == HEADER
        inode = file_of(broken).stat().st_ino
        await append(broken, b"on\n")
        assert file_of(broken).stat().st_ino != inode, "that file is never synced again"
        await broken.close()


async def test_of_two_files_with_one_id_the_newer_is_opened(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        log = await new_log(store)
        await log.close()
        copy = file_of(log).parent.parent / "--copy--" / NAME
        copy.parent.mkdir()
        copy.write_bytes(b"newer\n")
        os.utime(file_of(log), (1, 1))
        again = await store.open("abc")
        assert again.path == str(copy)
        await again.close()


async def test_a_draft_does_not_take_the_place_of_a_session(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        log = await new_log(store, draft=True)
        session = tmp_path / "data" / "sessions" / "--work-pi--" / NAME
        session.parent.mkdir(parents=True, mode=0o700)
        session.write_bytes(b"mine\n")
        with pytest.raises(LogExists):
            await log.promote()
        assert (log.draft, session.read_bytes()) == (True, b"mine\n")
        session.unlink()
        await log.promote()
        assert on_disk(log) == HEADER
        await log.close()


async def test_a_promotion_whose_name_could_not_be_synced_may_be_tried_again(tmp_path: Path) -> None:
    disk = Disk()
    async with file_store(tmp_path, disk.calls) as store:
        log = await new_log(store, draft=True)
        disk.before_next("rename", lambda: disk.refuse("fsync"))
        with pytest.raises(StorageFailed):
            await log.promote()
        disk.allow("fsync")
        await log.promote()
        assert log.draft is False
        assert file_of(log).parent.parent.name == "sessions"
        await append(log, b"1\n")
        await log.close()


async def test_a_draft_opened_by_its_path_is_still_a_draft(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / "real")
    async with file_store(tmp_path / "home") as store:
        log = await new_log(store, draft=True)
        await log.close()
        again = await store.open_ref(str(tmp_path / "home" / "data" / "drafts" / "--work-pi--" / NAME))
        assert again.draft
        await again.promote()
        assert again.path == str(tmp_path / "real" / "data" / "sessions" / "--work-pi--" / NAME)
        await again.close()


async def test_a_file_that_was_moved_away_is_not_promoted(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        log = await new_log(store, draft=True)
        file_of(log).rename(tmp_path / "moved")
        with pytest.raises(LogReplaced):
            await log.promote()
        await log.close()


async def test_drafts_and_sessions_of_every_working_directory_are_listed(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        for number in range(3):
            log = await store.create(
                f"id-{number}", cwd=f"{CWD}/{number}", timestamp=TIMESTAMP, lines=HEADER, draft=number == 1
            )
            await log.close()
        assert sorted(stored.session_id for stored in await store.list()) == ["id-0", "id-1", "id-2"]
