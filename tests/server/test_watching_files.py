"""Changes of other programs to session files are seen at once, also without a request."""

import asyncio
import contextlib
import json  # noqa: TID251 - lines are written as another program writes them
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sessiond.config import Config, RootsConfig
from sessiond.server import server
from sessiond.store.files.watch import FolderWatch
from support import logs, waiting
from support.columns import entries_of
from support.daemons import assistant, running, user
from support.patience import BOUND
from support.shared import started


def line(number: int, parent: str | None) -> bytes:
    entry = {
        "type": "message", "id": f"f{number}", "parentId": parent, "timestamp": "2026-03-01T00:00:00Z",
        "message": {"role": "user", "content": f"foreign word {number}"},
    }  # fmt: skip
    return json.dumps(entry).encode() + b"\n"


def write_as_another_program(path: Path, data: bytes) -> None:
    program = "import sys; open(sys.argv[1], 'ab').write(sys.stdin.buffer.read())"
    subprocess.run([sys.executable, "-c", program, path], input=data, check=True)


def is_watched(folder: Path) -> bool:
    """Whether this process has the system tell of changes in a folder."""
    inode = f" ino:{folder.stat().st_ino:x} "
    for descriptor in Path("/proc/self/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
            if inode in descriptor.read_text(encoding="ascii"):
                return True
    return False


async def test_a_line_of_another_program_is_announced_without_waiting_for_the_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "SWEEP_SECONDS", 3600.0)
    async with running(tmp_path) as daemon:
        peer, session_id = await started(daemon, "/w")
        await peer.append(session_id, user("x", id="ours"), assistant("y", id="answer"))
        [path] = daemon.files()
        await waiting.until(lambda: is_watched(path.parent))
        for number in range(5):
            parent = (
                "ours" if number == 0 else f"f{number - 1}"
            )  # the first is no child of our leaf: a branch
            write_as_another_program(path, line(number, parent))
            await peer.until(lambda client, number=number: len(client.told("session/appended")) >= 2 + number)  # type: ignore[misc]
        notes = peer.told("session/appended")[-5:]
        assert [note["origin"]["kind"] for note in notes] == ["foreign"] * 5
        assert [entries_of(note)[0]["id"] for note in notes] == [f"f{number}" for number in range(5)]
        tree = (await peer.call("session/tree", sessionId=session_id))["nodes"]
        assert {node["id"]: node["parentId"] for node in tree}["f0"] == "ours"


@pytest.mark.slow
async def test_files_that_come_grow_move_and_vanish_are_taken_into_the_index_unasked(tmp_path: Path) -> None:
    roots = tmp_path / "theirs"
    roots.mkdir()
    index = tmp_path / "home/state/index.db"

    def indexed() -> dict[str, str]:
        with closing(sqlite3.connect(f"file:{index}?mode=ro", uri=True)) as connection:
            rows = connection.execute(
                "SELECT files.ref, group_concat(entry_id) FROM files JOIN entries ON file = files.id GROUP BY 1"
            )
            return {os.path.basename(os.fsdecode(ref)): ids for ref, ids in rows}  # noqa: PTH119

    async def until(expected: dict[str, str]) -> None:
        seen: object = None
        try:
            async with asyncio.timeout(BOUND):
                while seen != expected:
                    try:
                        seen = indexed()
                    except sqlite3.Error as error:
                        seen = error
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"{seen} instead of {expected}") from None

    async with running(tmp_path / "home", config=Config(roots=RootsConfig(folders=(str(roots),)))):
        await waiting.until(lambda: is_watched(roots))
        folder = roots / "--new-folder--"
        folder.mkdir()
        path = folder / "one-session.jsonl"
        path.write_bytes(logs.log(logs.header(), logs.user("a")))
        await until({"one-session.jsonl": "e1"})
        write_as_another_program(path, line(1, "e1"))
        await until({"one-session.jsonl": "e1,f1"})
        path = path.rename(folder / "another-name.jsonl")
        await until({"another-name.jsonl": "e1,f1"})
        path.unlink()
        await until({})


async def test_a_replaced_file_is_left_to_who_has_it_open_and_read_anew_by_who_opens_it(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as daemon:
        peer, session_id = await started(daemon, "/w")
        await peer.append(session_id, user("x"), assistant("y"))
        [path] = daemon.files()
        await waiting.until(lambda: is_watched(path.parent))
        other = path.with_name("other.tmp")
        other.write_bytes(logs.log(logs.header(id=session_id), logs.user("replaced", id="new")))
        other.rename(path)
        await asyncio.sleep(0.2)
        assert (await peer.call("session/info", sessionId=session_id))["session"]["lastSeq"] == 2
        opened = (await peer.call("session/open", sessionId=session_id))["session"]
        assert opened["leafId"] == "new"


async def test_a_folder_that_is_deleted_and_made_again_is_watched_again(tmp_path: Path) -> None:
    seen: set[str] = set()
    root = tmp_path / "root"
    watch = FolderWatch([str(root)], seen.update)

    async def until_seen(name: str) -> None:
        async with asyncio.timeout(BOUND):
            while str(root / name) not in seen:
                await asyncio.to_thread((root / name).write_bytes, b"x")
                await asyncio.sleep(0.05)

    try:
        for turn in range(2):
            root.mkdir()
            await until_seen(f"session-{turn}.jsonl")
            for path in root.iterdir():
                path.unlink()
            root.rmdir()
    finally:
        watch.close()
    (tmp_path / "root").mkdir()
