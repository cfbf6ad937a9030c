"""Other programs at the same file: their lines are taken in, what is torn is kept, nothing is lost."""

import asyncio
import json  # noqa: TID251 - files are written as another program writes them
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.session import log_maintenance
from support import logs
from support.columns import entries_of
from support.daemons import Peer, Running, assistant, refusal, running, user
from support.disk import Disk
from support.shared import lines_of, started
from support.watched_trees import watching

FOREIGN = {"kind": "foreign", **dict.fromkeys(("clientId", "serverId", "agent", "commandId"))}


def write(path: Path, data: bytes) -> None:
    """Append as pi does, in a process of its own: open, write, close."""
    program = "import sys; open(sys.argv[1], 'ab').write(sys.stdin.buffer.read())"
    subprocess.run([sys.executable, "-c", program, path], input=data, check=True)


def line(name: str, parent: str | None, text: str = "foreign") -> bytes:
    entry = {
        "type": "message", "id": name, "parentId": parent, "timestamp": "2026-03-01T00:00:00.000Z",
        "message": {"role": "user", "content": text},
    }  # fmt: skip
    return json.dumps(entry).encode() + b"\n"


async def open_file(
    daemon: Running, folder: Path, data: bytes, name: str = "any.jsonl"
) -> tuple[Peer, str, Path]:
    """A client that has a file open, wherever that lies."""
    path = folder / name
    path.write_bytes(data)
    peer = await daemon.attach()
    session = (await peer.call("session/open", path=str(path)))["session"]
    return peer, session["sessionId"], path


def a_log(cwd: str, *lines: Any) -> bytes:
    return logs.log(logs.header(id=f"file-{cwd.rpartition('-')[2]:>05}", cwd=cwd), *lines)


async def promoted(daemon: Running, cwd: str) -> tuple[Peer, str, Path]:
    peer, session_id = await started(daemon, cwd)
    await peer.append(session_id, user("1", id="a"), assistant("2", id="b"))
    session = (await peer.call("session/info", sessionId=session_id))["session"]
    return peer, session_id, Path(session["path"])


# --- lines -------------------------------------------------------------------------------------------------


async def test_lines_of_another_program_are_announced_as_foreign(daemon: Running, cwd: str) -> None:
    peer, session_id, path = await promoted(daemon, cwd)
    write(path, line("f1", "b") + line("f2", "a"))
    await peer.until(lambda client: client.seqs() == [1, 2, 3, 4])
    last = peer.told("session/appended")[-1]
    assert (last["origin"], last["leafId"], last["toSeq"]) == (FOREIGN, "f2", 4)
    assert [entry["id"] for entry in entries_of(last)] == ["f1", "f2"]
    path_of_leaf = await peer.call("session/path", sessionId=session_id)
    assert [entry["id"] for entry in entries_of(path_of_leaf)] == ["a", "f2"]


async def test_an_append_that_finds_foreign_lines_goes_behind_them(daemon: Running, cwd: str) -> None:
    peer, session_id, path = await promoted(daemon, cwd)
    write(path, line("f1", "b"))
    result = await peer.append(session_id, user("mine", id="m"))
    assert (result["lastSeq"], result["leafId"]) == (4, "m")
    assert [row["id"] for row in lines_of(path)[1:]] == ["a", "b", "f1", "m"]
    assert lines_of(path)[-1]["parentId"] == "f1"
    await peer.until(lambda client: client.seqs() == [1, 2, 3, 4])
    assert [note["origin"]["kind"] for note in peer.told("session/appended")] == [
        "client",
        "foreign",
        "client",
    ]


async def test_an_append_that_expects_a_leaf_moved_by_a_foreign_line_gets_a_conflict(
    daemon: Running, cwd: str
) -> None:
    peer, session_id, path = await promoted(daemon, cwd)
    write(path, line("f1", "b"))
    refused = await refusal(peer.append(session_id, user("mine"), expectedLeafId="b"))
    assert (refused.kind, refused.details["currentLeafId"]) == ("leafConflict", "f1")
    assert refused.details["missingCount"] == 1
    result = await peer.append(session_id, user("mine"), expectedLeafId="b", onConflict="branch")
    assert result["branched"]


async def test_a_foreign_title_label_and_move_are_told_in_plain_words(daemon: Running, cwd: str) -> None:
    peer, _, path = await promoted(daemon, cwd)
    entries = [
        {"type": "session_info", "id": "t", "parentId": "b", "name": "Renamed by pi"},
        {"type": "label", "id": "l", "parentId": "t", "targetId": "a", "label": "start"},
        {"type": "leaf", "id": "m", "parentId": "a", "targetId": "a"},
    ]
    write(path, b"".join(json.dumps(entry).encode() + b"\n" for entry in entries))
    await peer.until(lambda client: bool(client.told("session/leafMoved") and client.told("session/changed")))
    [*_, changed], [moved] = peer.told("session/changed"), peer.told("session/leafMoved")
    assert (changed["changed"], changed["origin"]) == (["title", "labels"], FOREIGN)
    assert changed["session"]["title"] == "Renamed by pi"
    assert (moved["leafId"], moved["previousLeafId"], moved["origin"]) == ("a", "b", FOREIGN)


async def test_many_foreign_lines_at_once_come_as_a_replay_in_slices(memory: Running, cwd: str) -> None:
    peer, session_id, path = await promoted(memory, cwd)
    write(path, b"".join(line(f"f{number}", "b", "x" * 10_000) for number in range(200)))
    await peer.until(lambda client: client.seqs()[-1] == 202)
    await peer.append(session_id, user("mine"))
    await peer.until(lambda client: client.seqs()[-1] == 203)
    assert peer.seqs() == list(range(1, 204))
    assert max(len(body) for body in peer.bodies) < 400_000


@pytest.mark.parametrize("seed", range(4))
async def test_when_two_programs_write_at_once_every_line_is_there_once_and_everybody_is_told(
    daemon: Running, cwd: str, seed: int
) -> None:
    peer, session_id, path = await promoted(daemon, cwd)
    other = await daemon.attach()
    await other.call("session/subscribe", sessionId=session_id, after=await other.position(session_id, 0))
    program = (
        "import sys, time, random, json\n"
        "chance = random.Random(int(sys.argv[2]))\n"
        "for number in range(60):\n"
        "    entry = {'type': 'message', 'id': f'f{number}', 'parentId': 'b', 'timestamp': '2026', "
        "'message': {'role': 'user', 'content': 'x' * chance.randint(1, 2000)}}\n"
        "    with open(sys.argv[1], 'ab', buffering=0) as file:\n"
        "        file.write(json.dumps(entry).encode() + b'\\n')\n"
        "    time.sleep(chance.random() * 0.004)\n"
    )
    writer = await asyncio.create_subprocess_exec(sys.executable, "-c", program, str(path), str(seed))
    chance = random.Random(seed)
    results: list[dict[str, Any]] = []
    while writer.returncode is None or len(results) < 40:
        burst = [peer.append(session_id, user("mine")) for _ in range(chance.randint(1, 6))]
        results += await asyncio.gather(*burst)
        await asyncio.sleep(chance.random() * 0.004)
        if len(results) > 40:
            await writer.wait()
    session = (await peer.append(session_id, user("last")))["lastSeq"]
    # Where our line came behind a half-written one, it began with a newline, and a blank line may be left.
    rows = path.read_bytes().split(b"\n")[:-1]
    names = [json.loads(row)["id"] if row else None for row in rows]
    assert len(rows) == session + 1
    stored = [name for name in names if name is not None]
    assert len(set(stored)) == len(stored) == len(results) + 60 + 4
    assert [name for name in names if name in {f"f{n}" for n in range(60)}] == [f"f{n}" for n in range(60)]
    for result in results:
        for entry in result["entries"]:
            assert names[entry["seq"]] == entry["id"]
    for who in (peer, other):
        await who.until(lambda client: client.seqs()[-1] == session)
        assert who.seqs() == [seq for seq, name in enumerate(names) if name is not None][1:]
        told = [entry for note in who.told("session/appended") for entry in entries_of(note)]
        assert told == [json.loads(row) for row in rows if row][1:]
        for note in who.told("session/appended"):
            if not note["replay"]:
                mine = {
                    name in {f"f{n}" for n in range(60)}
                    for name in (entry["id"] for entry in entries_of(note))
                }
                assert mine == {note["origin"] == FOREIGN}


# --- half lines --------------------------------------------------------------------------------------------


async def test_a_half_line_that_is_finished_later_is_one_line(daemon: Running, cwd: str) -> None:
    peer, session_id, path = await promoted(daemon, cwd)
    whole = line("f1", "b")
    write(path, whole[:30])
    await asyncio.sleep(0)
    appending = asyncio.create_task(peer.append(session_id, user("mine", id="m")))
    write(path, whole[30:])
    assert (await appending)["lastSeq"] == 4
    assert [row["id"] for row in lines_of(path)[1:]] == ["a", "b", "f1", "m"]
    assert not list(path.parent.glob("*.torn-*"))


async def test_an_append_that_landed_behind_half_a_foreign_line_is_acknowledged_with_the_seq_that_it_has(
    tmp_path: Path, cwd: str
) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id, path = await promoted(daemon, cwd)
        foreign = line("f1", "b")

        def overtake() -> None:
            with path.open("ab") as file:
                file.write(line("f0", "b") + foreign[:30])

        disk.before_next("write", overtake)
        both = asyncio.gather(
            peer.append(session_id, user("1", id="m1"), user("2", id="m2")),
            peer.append(session_id, user("3", id="m3")),
        )
        results = list(await both)
        write(path, foreign[30:])
        results.append(await peer.append(session_id, user("4", id="m4")))
        rows = path.read_bytes().split(b"\n")[:-1]
        names = {
            seq: json.loads(row)["id"]
            for seq, row in enumerate(rows)
            if row.startswith(b"{") and row.endswith(b"}")
        }
        acknowledged = {entry["seq"]: entry["id"] for result in results for entry in result["entries"]}
        assert list(acknowledged.values()) == ["m1", "m2", "m3", "m4"]
        assert {seq: names[seq] for seq in acknowledged} == acknowledged
        assert [name for name in names.values() if name.startswith("m")] == ["m1", "m2", "m3", "m4"]
        problems = (await peer.call("session/info", sessionId=session_id))["problems"]
        assert [problem["line"] - 1 for problem in problems] == [
            rows.index(foreign[:30]),
            rows.index(foreign[30:-1]),
        ]
        await peer.until(lambda client: client.seqs()[-1] == results[-1]["lastSeq"])
        told = [entry["id"] for note in peer.told("session/appended") for entry in entries_of(note)]
        assert told == ["a", "b", "f0", "m1", "m2", "m3", "m4"]


async def test_a_torn_tail_that_grows_while_it_is_put_aside_loses_nothing(tmp_path: Path, cwd: str) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id, path = await promoted(daemon, cwd)
        foreign = line("f1", "b")
        with path.open("ab") as file:
            file.write(foreign[:30])

        def finish() -> None:
            with path.open("ab") as file:
                file.write(foreign[30:])

        disk.before_next("fsync", finish)
        result = await peer.append(session_id, user("mine", id="m"))
        assert [row["id"] for row in lines_of(path)[1:]] == ["a", "b", "f1", "m"]
        assert result["lastSeq"] == 4
        assert not list(path.parent.glob("*.torn-*"))


async def test_a_torn_last_line_is_kept_beside_the_log_before_the_first_append_and_not_before(
    daemon: Running, tmp_path: Path, cwd: str
) -> None:
    torn = b'{"type":"message","id":"e2","mess'
    data = a_log(cwd, logs.user("hi")) + torn
    peer, session_id, path = await open_file(daemon, tmp_path, data)
    opened = await peer.call("session/open", sessionId=session_id)
    assert opened["problems"][0]["byteOffset"] == len(data) - len(torn)
    assert opened["problems"][0]["line"] == 3
    assert [entry["id"] for entry in entries_of(await peer.call("session/path", sessionId=session_id))] == [
        "e1"
    ]
    await peer.call("session/tree", sessionId=session_id)
    await peer.call("session/flush")
    assert path.read_bytes() == data
    assert sorted(path.parent.glob("any*")) == [path]
    assert (await peer.append(session_id, user("on", id="on")))["lastSeq"] == 2
    assert path.read_bytes().startswith(
        data.removesuffix(torn) + b'{"type":"message","id":"on","parentId":"e1"'
    )
    [kept] = path.parent.glob("*.torn-*")
    assert kept.read_bytes() == torn
    assert (await peer.call("session/info", sessionId=session_id))["problems"] == []


async def test_two_torn_lines_are_both_kept(daemon: Running, tmp_path: Path, cwd: str) -> None:
    peer, session_id, path = await open_file(daemon, tmp_path, a_log(cwd, logs.user("hi")) + b'{"one')
    await peer.append(session_id, user("on"))
    write(path, b'{"two')
    await peer.append(session_id, user("and on"))
    assert {path.read_bytes() for path in path.parent.glob("*.torn-*")} == {b'{"one', b'{"two'}
    assert len(lines_of(path)) == 4


async def test_a_whole_last_line_without_its_newline_gets_one(
    daemon: Running, tmp_path: Path, cwd: str
) -> None:
    data = a_log(cwd, logs.user("hi"), logs.assistant("yo")).removesuffix(b"\n")
    peer, session_id, path = await open_file(daemon, tmp_path, data)
    assert (await peer.call("session/info", sessionId=session_id))["session"]["leafId"] == "e2"
    assert path.read_bytes() == data
    assert (await peer.append(session_id, user("on", id="on")))["lastSeq"] == 3
    assert path.read_bytes().startswith(data + b"\n{")
    assert [row["id"] for row in lines_of(path)[1:]] == ["e1", "e2", "on"]
    entries = entries_of(await peer.call("session/entries", sessionId=session_id))
    assert [entry["id"] for entry in entries] == ["e1", "e2", "on"]
    await peer.append(session_id, user("and on"))
    assert len(lines_of(path)) == 5


async def test_the_missing_newline_may_come_from_the_other_program(
    daemon: Running, tmp_path: Path, cwd: str
) -> None:
    data = a_log(cwd, logs.user("hi")).removesuffix(b"\n")
    peer, session_id, path = await open_file(daemon, tmp_path, data)
    write(path, b"\n" + line("f1", "e1"))
    assert (await peer.append(session_id, user("on", id="on")))["lastSeq"] == 3
    assert [row["id"] for row in lines_of(path)[1:]] == ["e1", "f1", "on"]
    entries = entries_of(await peer.call("session/entries", sessionId=session_id))
    assert [entry["id"] for entry in entries] == ["e1", "f1", "on"]


def _place(path: Path, name: str) -> int:
    """The number of the physical line of an entry, from 0."""
    return next(
        at for at, raw in enumerate(path.read_bytes().split(b"\n")) if f'"id":"{name}"'.encode() in raw
    )


async def test_a_line_that_a_second_program_continues_is_one_line_for_the_daemon_too(
    daemon: Running, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_maintenance, "SETTLE_SECONDS", 30.0)
    peer, session_id, path = await promoted(daemon, cwd)
    write(path, line("f0", "b") + line("f1", "b").removesuffix(b"\n"))
    await peer.until(lambda client: client.seqs() == [1, 2, 3])  # the daemon has seen f1, too
    write(path, b'{"type":"message","id":"f2\n' + line("f3", "b"))
    result = await peer.append(session_id, user("mine", id="m"))
    assert result["lastSeq"] == 6 == _place(path, "m")
    info = await peer.call("session/info", sessionId=session_id)
    assert [(problem["kind"], problem["line"]) for problem in info["problems"]] == [("damagedLine", 5)]
    entries = await peer.call("session/entries", sessionId=session_id)
    assert [entry["id"] for entry in entries_of(entries)] == ["a", "b", "f0", "f3", "m"]


async def test_an_entry_whose_newline_never_comes_is_announced_and_finished_by_the_next_append(
    daemon: Running, cwd: str
) -> None:
    peer, session_id, path = await promoted(daemon, cwd)
    foreign = line("f1", "b").removesuffix(b"\n")
    write(path, foreign)
    await peer.until(lambda client: client.seqs() == [1, 2, 3])
    assert path.read_bytes().endswith(foreign)
    assert (await peer.append(session_id, user("mine", id="m")))["lastSeq"] == 4 == _place(path, "m")


async def test_an_append_finishes_an_entry_whose_newline_has_not_come_yet(daemon: Running, cwd: str) -> None:
    peer, session_id, path = await promoted(daemon, cwd)
    write(path, line("f1", "b").removesuffix(b"\n"))
    assert (await peer.append(session_id, user("mine", id="m")))["lastSeq"] == 4 == _place(path, "m")
    await peer.until(lambda client: client.seqs() == [1, 2, 3, 4])


async def test_an_announced_entry_that_another_program_continues_makes_the_file_another_one(
    daemon: Running, cwd: str
) -> None:
    peer, session_id, path = await promoted(daemon, cwd)
    write(path, line("f1", "b").removesuffix(b"\n"))
    await peer.until(lambda client: client.seqs() == [1, 2, 3])
    write(path, b'{"type":"message","id":"f2\n' + line("f3", "b"))
    content = path.read_bytes()
    refused = await refusal(peer.append(session_id, user("mine", id="m")))
    assert (refused.kind, path.read_bytes()) == ("foreignWriter", content)
    await peer.call("session/open", path=str(path))
    assert (await peer.append(session_id, user("mine", id="m")))["lastSeq"] == 5 == _place(path, "m")
    entries = await peer.call("session/entries", sessionId=session_id)
    assert [entry["id"] for entry in entries_of(entries)] == ["a", "b", "f3", "m"]


# --- replaced ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["truncated", "replaced", "removed", "rewritten in place"])
async def test_a_file_that_is_no_longer_the_one_that_was_opened_is_not_written(
    daemon: Running, tmp_path: Path, cwd: str, how: str
) -> None:
    data = a_log(cwd, logs.user("1"), logs.assistant("2"))
    peer, session_id, path = await open_file(daemon, tmp_path, data)
    await peer.append(session_id, user("3"))
    other = a_log(cwd, logs.user("other"))
    match how:
        case "truncated":
            path.write_bytes(data[:-10])
        case "replaced":
            (tmp_path / "new").write_bytes(other * 5)
            (tmp_path / "new").rename(path)
        case "removed":
            path.unlink()
        case _:
            path.write_bytes(other + line("x", None) * 20)
    present = path.read_bytes() if path.exists() else None
    for _ in range(2):
        refused = await refusal(peer.append(session_id, user("4")))
        assert (refused.kind, refused.code, refused.details["path"]) == ("foreignWriter", 1423, str(path))
    for method, params in (("rename", {"title": "x"}), ("branch", {"entryId": None})):
        refused = await refusal(peer.call(f"session/{method}", sessionId=session_id, **params))
        assert refused.kind == "foreignWriter"
    assert (path.read_bytes() if path.exists() else None) == present


async def test_opening_a_replaced_file_again_reads_what_is_there_now(
    daemon: Running, tmp_path: Path, cwd: str
) -> None:
    data = a_log(cwd, logs.user("1"), logs.assistant("2"))
    peer, session_id, path = await open_file(daemon, tmp_path, data)
    subscriber = await daemon.attach()
    await subscriber.call(
        "session/subscribe", sessionId=session_id, after=await subscriber.position(session_id, 2)
    )
    (tmp_path / "new").write_bytes(a_log(cwd, logs.user("new")))
    (tmp_path / "new").rename(path)
    opened = (await peer.call("session/open", path=str(path)))["session"]
    assert (opened["sessionId"], opened["lastSeq"], opened["firstPrompt"]) == (session_id, 1, "new")
    await subscriber.until(lambda client: bool(client.told("session/lagged")))
    assert subscriber.told("session/lagged")[0]["lastSeq"] == 2
    result = await subscriber.call(
        "session/subscribe", sessionId=session_id, after=await subscriber.position(session_id, 2)
    )
    assert result["mode"] == "snapshot"
    assert (await peer.append(session_id, user("on")))["lastSeq"] == 2
    await subscriber.until(lambda client: client.seqs() == [2])


async def test_a_watched_tree_of_a_replaced_file_lapses_and_a_new_watch_shows_what_is_there_now(
    daemon: Running, tmp_path: Path, cwd: str
) -> None:
    peer, session_id, path = await open_file(
        daemon, tmp_path, a_log(cwd, logs.user("1"), logs.assistant("2"))
    )
    viewer = await daemon.attach()
    shown = await watching(viewer, session_id)
    (tmp_path / "new").write_bytes(a_log(cwd, logs.user("new")))
    (tmp_path / "new").rename(path)
    await peer.call("session/open", path=str(path))
    await viewer.until(lambda client: bool(client.told("session/treeLapsed")))
    (note,) = viewer.told("session/treeLapsed")
    assert note["watchId"] == shown.watch_id
    assert note["reason"] in ("closed", "otherLog")
    again = await watching(viewer, session_id)
    assert again.rows == (await peer.call("session/tree", sessionId=session_id, layout="path"))["nodes"]


# --- old versions and other shapes -------------------------------------------------------------------------


def v1(cwd: str) -> bytes:
    head = {"type": "session", "id": f"v1-{cwd.rpartition('-')[2]:>06}", "timestamp": "2025", "cwd": cwd}
    said = [("user", "one"), ("assistant", "two"), ("user", "three")]
    entries = [
        {"type": "message", "timestamp": "2025", "message": {"role": r, "content": t}} for r, t in said
    ]
    kept = {
        "type": "compaction",
        "summary": "s",
        "firstKeptEntryIndex": 2,
        "tokensBefore": 1,
        "timestamp": "2025",
    }
    return b"".join(json.dumps(item).encode() + b"\n" for item in [head, *entries, kept])


def v2(cwd: str) -> bytes:
    return logs.log(
        logs.header(version=2, id=f"v2-{cwd.rpartition('-')[2]:>06}", cwd=cwd),
        logs.user("one"), logs.assistant("two"), logs.message("hookMessage", "three", customType="x"),
    )  # fmt: skip


@pytest.mark.parametrize("make", [v1, v2])
async def test_an_old_log_is_migrated_at_the_first_write_and_the_original_is_kept(
    daemon: Running, tmp_path: Path, cwd: str, make: Any
) -> None:
    data = make(cwd)
    peer, session_id, path = await open_file(daemon, tmp_path, data)
    before = await peer.call("session/entries", sessionId=session_id)
    shown = await peer.call("session/tree", sessionId=session_id)
    watched = await watching(peer, session_id)
    assert path.read_bytes() == data
    result = await peer.append(session_id, user("on", id="on"))
    assert result["lastSeq"] == len(data.splitlines())
    [original] = path.parent.glob("*.bak")
    assert original.read_bytes() == data
    head, *entries, on = lines_of(path)
    assert head["version"] == 3
    assert entries == entries_of(before)
    assert on["parentId"] == entries[-1]["id"]
    after = await peer.call("session/entries", sessionId=session_id)
    assert after["items"][:-1] == before["items"]
    nodes = (await peer.call("session/tree", sessionId=session_id))["nodes"]
    assert [node["id"] for node in nodes][: len(shown["nodes"])] == [node["id"] for node in shown["nodes"]]
    await watched.until(result["lastSeq"])
    path_rows = (await peer.call("session/tree", sessionId=session_id, layout="path"))["nodes"]
    assert watched.rows == path_rows
    await peer.append(session_id, user("and on"))
    assert len(list(path.parent.glob("*.bak"))) == 1


async def test_readers_of_an_old_log_see_the_same_while_it_is_migrated(
    memory: Running, tmp_path: Path, cwd: str
) -> None:
    head = {"type": "session", "id": "v1-long-one", "timestamp": "2025", "cwd": cwd}
    text = {"type": "message", "timestamp": "2025", "message": {"role": "user", "content": "x" * 300}}
    data = b"".join(json.dumps(item).encode() + b"\n" for item in [head, *[text] * 3000])
    peer, session_id, _ = await open_file(memory, tmp_path, data)
    reader = await memory.attach()
    before = await reader.raw("session/path", sessionId=session_id)
    appending = asyncio.create_task(peer.append(session_id, user("on")))
    while not appending.done():
        now = await reader.call("session/path", sessionId=session_id, limit=3000)
        assert json.dumps(now["items"][:3000])[1:-1] in json.dumps(json.loads(before)["result"])
        assert (await reader.call("session/info", sessionId=session_id))["session"]["entryCount"] >= 3000
    assert (await appending)["lastSeq"] == 3001


async def test_the_title_slot_of_oh_my_pi_is_never_disturbed(
    daemon: Running, tmp_path: Path, cwd: str
) -> None:
    slot = b'{"type":"title","title":"From oh-my-pi"}' + b" " * 200 + b"\n"
    data = slot + a_log(cwd, logs.user("1"), logs.assistant("2"))
    peer, session_id, path = await open_file(daemon, tmp_path, data)
    session = (await peer.call("session/info", sessionId=session_id))["session"]
    assert (session["title"], session["lastSeq"], session["entryCount"]) == ("From oh-my-pi", 2, 2)
    assert (await peer.append(session_id, user("3")))["lastSeq"] == 3
    await peer.call("session/rename", sessionId=session_id, title="Mine")
    assert path.read_bytes().startswith(data)
    assert (await peer.call("session/info", sessionId=session_id))["session"]["title"] == "Mine"


async def test_a_line_that_is_still_being_written_delays_only_its_own_session(
    memory: Running, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_maintenance, "SETTLE_SECONDS", 60)
    peer, session_id, path = await promoted(memory, cwd)
    write(path, b'{"half')
    waiting = asyncio.create_task(peer.append(session_id, user("waits")))
    other, other_id = await started(memory, cwd)
    assert (await other.append(other_id, user("does not")))["lastSeq"] == 1
    assert (await other.call("session/info", sessionId=session_id))["session"]["lastSeq"] == 2
    assert not waiting.done()
    write(path, b'": 1}\n')
    assert (await waiting)["lastSeq"] == 4
