"""session/import of many files: one request reads at most `limit` of them, and a cursor continues."""

from pathlib import Path
from typing import Any

from support.daemons import Peer, Running, refusal
from support.dialects import jsonl


def write(folder: Path, name: str, text: str = "Hello") -> None:
    folder.mkdir(exist_ok=True)
    about = {
        "uuid": f"u-{name}", "parentUuid": None, "sessionId": f"session-{name}", "cwd": "/work",
        "timestamp": "2026-01-01T00:00:00.000Z",
    }  # fmt: skip
    message = {"role": "user", "content": text}
    (folder / f"{name}.jsonl").write_bytes(jsonl({"type": "user", **about, "message": message}))


async def pages(peer: Peer, folder: Path, limit: int) -> list[list[str]]:
    """The ids of the sessions of each page."""
    found = []
    cursor: dict[str, Any] = {}
    while True:
        result = await peer.call("session/import", path=str(folder), limit=limit, **cursor)
        found.append([session["sessionId"] for session in result["sessions"]])
        if result["nextCursor"] is None:
            return found
        cursor = {"cursor": result["nextCursor"]}


async def test_the_pages_of_an_import_have_every_file_once(memory: Running, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    for name in "abcde":
        write(folder, name)
    peer = await memory.attach()
    expected = [["session-a", "session-b"], ["session-c", "session-d"], ["session-e"]]
    assert await pages(peer, folder, 2) == expected
    assert await pages(peer, folder, 2) == expected
    assert await pages(peer, folder, 5) == [[name for page in expected for name in page]]


async def test_files_that_appear_or_vanish_do_not_shift_the_next_page(
    memory: Running, tmp_path: Path
) -> None:
    folder = tmp_path / "many"
    for name in "cdef":
        write(folder, name)
    peer = await memory.attach()
    first = await peer.call("session/import", path=str(folder), limit=2)
    write(folder, "a")
    write(folder, "b")
    (folder / "c.jsonl").unlink()
    rest = await peer.call("session/import", path=str(folder), limit=2, cursor=first["nextCursor"])
    assert [session["sessionId"] for session in rest["sessions"]] == ["session-e", "session-f"]
    assert rest["nextCursor"] is None


async def test_a_cursor_of_another_import_is_refused(memory: Running, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        for name in "ab":
            write(tmp_path / folder, name)
    peer = await memory.attach()
    cursor = (await peer.call("session/import", path=str(tmp_path / "one"), limit=1))["nextCursor"]
    for other in (cursor, "", "nothing", "1", "-1.0", "9" * 40):
        error = await refusal(peer.call("session/import", path=str(tmp_path / "two"), cursor=other))
        assert error.kind == "cursorExpired"


async def test_skipped_files_count_towards_the_limit(memory: Running, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    write(folder, "c")
    for name in ("a", "b"):
        (folder / f"{name}.jsonl").write_bytes(b"no session")
    peer = await memory.attach()
    first = await peer.call("session/import", path=str(folder), limit=2)
    assert (len(first["skipped"]), first["sessions"]) == (2, [])
    rest = await peer.call("session/import", path=str(folder), limit=2, cursor=first["nextCursor"])
    assert [session["sessionId"] for session in rest["sessions"]] == ["session-c"]


async def test_a_file_with_many_kinds_of_lines_names_the_most_frequent(
    memory: Running, tmp_path: Path
) -> None:
    folder = tmp_path / "many"
    write(folder, "a")
    kinds = [f"kind-{number}" for number in range(300)]
    with (folder / "a.jsonl").open("ab") as file:
        file.write(jsonl(*({"type": kind} for kind in (*kinds, "kind-299", "x" * 5_000, "x" * 5_000))))
    peer = await memory.attach()
    [session] = (await peer.call("session/import", path=str(folder)))["sessions"]
    preserved = session["preservedLines"]
    assert len(preserved) == 100
    assert (preserved["kind-299"], preserved["x" * 100]) == (2, 2)
