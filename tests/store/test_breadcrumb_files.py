"""Breadcrumbs as files: oh-my-pi's two lines and our third, read leniently, written at once."""

import asyncio
import os
from pathlib import Path

import pytest

from sessiond.store.errors import StorageFailed
from sessiond.store.records import Breadcrumb
from support.disk import Disk
from support.stores import file_store, names_in

CRUMB = Breadcrumb("/work/pi", "/sessions/one.jsonl", "one")


def crumb_file(home: Path, name: str = "pts-3") -> Path:
    return home / "state" / "terminal-sessions" / name


async def test_a_breadcrumb_is_three_lines_that_only_the_owner_may_read(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        await store.write_breadcrumb("pts-3", CRUMB)
    file = crumb_file(tmp_path)
    assert file.read_bytes() == b"/work/pi\n/sessions/one.jsonl\none\n"
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize(
    ("data", "crumb"),
    [
        (b"/work\n/a.jsonl", Breadcrumb("/work", "/a.jsonl")),
        (b"/work\n/a.jsonl\n", Breadcrumb("/work", "/a.jsonl")),
        (b"/work\n/a.jsonl\nid-1", Breadcrumb("/work", "/a.jsonl", "id-1")),
        (b"/work\n/a.jsonl\nfresh\ncwdstat 1 2\n", Breadcrumb("/work", "/a.jsonl", "fresh")),
        (b"/work\n/a.jsonl\n../../x\n", Breadcrumb("/work", "/a.jsonl")),
        (b"/w\xff\n/a\xe2\x80\xa8b.jsonl\n", Breadcrumb("/w\udcff", "/a\u2028b.jsonl")),
        (b"", None),
        (b"/work", None),
        (b"\n\n\n", None),
        (b"work\n/a.jsonl\n", None),
        (b"/work\na.jsonl\n", None),
        (b"/work\n/a\0.jsonl\n", None),
        (bytes(100), None),
        (b"x" * 1_000_000, None),
    ],
)
async def test_a_file_that_is_no_breadcrumb_is_none(
    tmp_path: Path, data: bytes, crumb: Breadcrumb | None
) -> None:
    file = crumb_file(tmp_path)
    file.parent.mkdir(parents=True)
    file.write_bytes(data)
    async with file_store(tmp_path) as store:
        assert await store.read_breadcrumbs("pts-3") == ([] if crumb is None else [crumb])


async def test_a_path_that_is_no_file_is_no_breadcrumb(tmp_path: Path) -> None:
    folder = crumb_file(tmp_path).parent
    folder.mkdir(parents=True)
    (folder / "folder").mkdir()
    os.mkfifo(folder / "fifo")
    (tmp_path / "secret").write_bytes(b"/work\n/a.jsonl\n")
    (folder / "link").symlink_to(tmp_path / "secret")
    async with file_store(tmp_path) as store:
        for terminal in ("folder", "fifo", "link", "nothing"):
            assert not await store.read_breadcrumbs(terminal)


async def test_a_link_in_place_of_a_breadcrumb_is_replaced_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    async with file_store(tmp_path) as store:
        await store.write_breadcrumb("other", CRUMB)
        crumb_file(tmp_path).symlink_to(secret)
        await store.write_breadcrumb("pts-3", CRUMB)
        assert await store.read_breadcrumbs("pts-3") == [CRUMB]
    assert secret.read_bytes() == b"secret"


@pytest.mark.parametrize("terminal", ["../../escape", "/etc/passwd", "..", "", "a\0b", "\ud800", "x" * 5000])
async def test_no_terminal_id_leaves_the_folder(tmp_path: Path, terminal: str) -> None:
    async with file_store(tmp_path) as store:
        await store.write_breadcrumb(terminal, CRUMB)
        assert await store.read_breadcrumbs(terminal) == [CRUMB]
    (file,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert file.parent == crumb_file(tmp_path).parent


@pytest.mark.parametrize("cwd", ["/new\nline", "/lone\ud800"])
async def test_a_breadcrumb_that_fits_in_no_line_is_forgotten_with_the_earlier_ones_of_its_folder(
    tmp_path: Path, cwd: str
) -> None:
    async with file_store(tmp_path) as store:
        await store.write_breadcrumb("pts-3", CRUMB)
        await store.write_breadcrumb("pts-3", Breadcrumb(cwd, "/a.jsonl"))
        assert await store.read_breadcrumbs("pts-3") == [CRUMB]
        await store.write_breadcrumb("pts-3", Breadcrumb(CRUMB.cwd, "/new\nline.jsonl"))
        assert not await store.read_breadcrumbs("pts-3")


@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
async def test_a_breadcrumb_that_cannot_be_written_leaves_the_one_before(tmp_path: Path, call: str) -> None:
    disk = Disk()
    async with file_store(tmp_path, disk.calls) as store:
        await store.write_breadcrumb("pts-3", CRUMB)
        disk.refuse(call, 1)
        with pytest.raises(StorageFailed):
            await store.write_breadcrumb("pts-3", Breadcrumb("/new", "/new.jsonl"))
        assert await store.read_breadcrumbs("pts-3") == [CRUMB]
    assert names_in(crumb_file(tmp_path).parent) == {"pts-3"}


async def test_the_file_begins_with_the_folder_that_was_used_last(tmp_path: Path) -> None:
    other = Breadcrumb("/work/other", "/sessions/two.jsonl", "two")
    async with file_store(tmp_path) as store:
        for crumb in (CRUMB, other, CRUMB):
            await store.write_breadcrumb("pts-3", crumb)
    assert crumb_file(tmp_path).read_bytes() == (
        b"/work/pi\n/sessions/one.jsonl\none\n\n/work/other\n/sessions/two.jsonl\ntwo\n"
    )


async def test_of_very_many_folders_those_that_were_used_last_are_remembered(tmp_path: Path) -> None:
    long = "x" * 2000
    async with file_store(tmp_path) as store:
        for number in range(60):
            await store.write_breadcrumb("pts-3", Breadcrumb(f"/{number}/{long}", "/a.jsonl"))
        found = await store.read_breadcrumbs("pts-3")
    assert [breadcrumb.cwd for breadcrumb in found] == [
        f"/{59 - number}/{long}" for number in range(len(found))
    ]
    assert 20 < len(found) < 40
    assert crumb_file(tmp_path).stat().st_size <= 65_536


async def test_two_folders_that_a_terminal_uses_at_once_are_both_remembered(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        crumbs = [Breadcrumb(f"/{number}", "/a.jsonl") for number in range(10)]
        await asyncio.gather(*(store.write_breadcrumb("pts-3", crumb) for crumb in crumbs))
        assert set(await store.read_breadcrumbs("pts-3")) == set(crumbs)


async def test_old_breadcrumbs_are_removed_but_those_of_living_terminals(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        for terminal in ("old", "old-and-alive", "young"):
            await store.write_breadcrumb(terminal, CRUMB)
            if terminal != "young":
                os.utime(crumb_file(tmp_path, terminal), (1000, 1000))
        (crumb_file(tmp_path).parent / "folder").mkdir()
        assert await store.remove_old_breadcrumbs(3600.0, ["old-and-alive"]) == 1
    assert names_in(crumb_file(tmp_path).parent) == {"old-and-alive", "young", "folder"}
