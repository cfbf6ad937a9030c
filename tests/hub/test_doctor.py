"""The doctor: its findings in stores that were damaged on purpose, its fixes, and files that stay unchanged."""

import asyncio
import contextlib
import hashlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sessiond.config import Config
from sessiond.hub.doctor.examination import examine, result_of
from sessiond.hub.doctor.fixing import FIXES
from sessiond.hub.doctor.scope import Scope
from sessiond.hub.prompt_history.database import Prompts
from sessiond.paths import find_locations
from sessiond.protocol.findings import KINDS, finding
from sessiond.session.tree.log_inspection import tree_of_log
from sessiond.session.tree.problems import PROBLEMS
from sessiond.setup import journal
from sessiond.store.files.seekable import compressed
from support import logs
from support.daemons import Running, assistant, refusal, running, user
from support.patience import BOUND

SESSION = "doctors-patient"
MACHINE = {
    "lowDiskSpace", "volatileDisk", "networkDisk", "lowWatchLimit", "lowDescriptorLimit", "openElsewhere", "wrongClock",
    "readOnlyDisk", "diskFullSoon", "agentWillDelete",
}  # fmt: skip
DATABASES = {"damagedIndex", "damagedHistory", "damagedCommands"}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home as the daemon makes it: open to its owner only."""
    before = os.umask(0o077)
    yield tmp_path / "home"
    os.umask(before)


async def patient(daemon: Running) -> Path:
    """A session of two messages that nobody has open."""
    peer = await daemon.attach()
    await peer.call("session/create", cwd="/home/ada/atlas", id=SESSION)
    await peer.append(SESSION, user("Hello."), assistant("Hello!"))
    path = Path((await peer.call("session/info", sessionId=SESSION))["session"]["path"])
    await peer.call("session/close", sessionId=SESSION)
    return path


async def found_after(
    home: Path, damage: Callable[[Path], object], *, again: bool = True
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The findings after some damage to the patient's file, and those after they were fixed."""
    async with running(home) as daemon:
        path = await patient(daemon)
    damage(path)
    async with running(home) as daemon:
        peer = await daemon.attach()
        found = (await peer.call("server/doctor"))["findings"]
        fixed = (await peer.call("server/doctor", fix=True))["findings"]
        if again:
            assert not [
                reported
                for reported in (await peer.call("server/doctor", fix=True))["findings"]
                if reported.get("fixed")
            ]
        return found, fixed


def kinds(findings: list[dict[str, Any]]) -> set[str]:
    """The kinds of what is wrong; the machine that the tests run on may have its own."""
    return {reported["kind"] for reported in findings} - MACHINE


def _of(findings: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [reported for reported in findings if reported["kind"] == kind]


def add(data: bytes) -> Callable[[Path], object]:
    def append(path: Path) -> None:
        with path.open("ab") as file:
            file.write(data)

    return append


def test_every_problem_kind_has_advice_in_the_table_of_findings() -> None:
    assert PROBLEMS.keys() <= KINDS.keys()


def test_the_fixable_kinds_are_those_of_the_table_and_of_the_command() -> None:
    by_the_command = {"unreachable", "damagedEndpoint"}
    assert {kind for kind, of_kind in KINDS.items() if of_kind.fixes} == FIXES.keys() | by_the_command


async def test_an_intact_store_has_no_findings(home: Path) -> None:
    found, fixed = await found_after(home, lambda _: None)
    assert kinds(found) == kinds(fixed) == set()


@pytest.mark.parametrize(
    "tail", [b'{"type":"mess', b'{"type":"message","id":"x1"}\0\0\0\0\0\0\0\0'], ids=["half", "nul"]
)
async def test_a_torn_line_is_quarantined_and_reported(home: Path, tail: bytes) -> None:
    found, fixed = await found_after(home, add(tail))
    assert kinds(found) == {"tornLine"}
    [fix] = _of(fixed, "tornLine")
    assert fix["fixed"] is True
    assert Path(fix["keptPath"]).read_bytes() == tail


async def test_a_damaged_line_is_reported_with_its_position_and_unchanged(home: Path) -> None:
    async with running(home) as daemon:
        path = await patient(daemon)
    before = path.read_bytes()
    path.write_bytes(before + b'not json\n{"type":"custom","id":"c1","parentId":"lost","customType":"x"}\n')
    damaged = path.read_bytes()
    async with running(home) as daemon:
        peer = await daemon.attach()
        found = (await peer.call("server/doctor", fix=True))["findings"]
    assert {"damagedLine", "missingParent"} <= kinds(found)
    [line] = _of(found, "damagedLine")
    assert (line["location"]["line"], line["location"]["byteOffset"]) == (
        before.count(b"\n") + 1,
        len(before),
    )
    assert line["fixable"] is False
    assert path.read_bytes() == damaged


async def test_an_empty_log_is_trashed_unless_it_has_content_meanwhile(home: Path) -> None:
    found, fixed = await found_after(home, lambda path: path.with_name("1_empty-log.jsonl").write_bytes(b""))
    assert kinds(found) == {"emptyLog"}
    [fix] = _of(fixed, "emptyLog")
    assert Path(fix["keptPath"]).parent.name == "trash"
    assert not Path(fix["location"]["path"]).exists()


async def test_permissions_of_other_users_are_removed(home: Path) -> None:
    def open_up(path: Path) -> None:
        path.chmod(0o664)
        path.parent.chmod(0o755)

    found, fixed = await found_after(home, open_up)
    assert kinds(found) == {"insecurePermissions"}
    assert [reported["fixed"] for reported in fixed if reported["kind"] == "insecurePermissions"] == [
        True,
        True,
    ]


async def test_folders_that_commands_and_proxies_of_sessiond_make_are_known(home: Path) -> None:
    def use(_: Path) -> None:
        with journal.opened(str(home / "state")) as opened:
            Path(opened.folder).mkdir(exist_ok=True)
        (home / "state/acp").mkdir()  # as `acp.main` makes it for journals

    found, _ = await found_after(home, use)
    assert kinds(found) == set()


async def test_links_and_unknown_files_are_reported_and_unchanged(home: Path) -> None:
    def litter(path: Path) -> None:
        path.with_name("2_a-link.jsonl").symlink_to(path)
        path.with_name("note to myself").write_bytes(b"")
        os.mkfifo(path.with_name("3_a-fifo.jsonl"), 0o600)
        os.link(path, path.parent.parent.parent / "a second name")

    found, fixed = await found_after(home, litter)
    assert kinds(found) == {"symbolicLink", "unknownFile", "hardLink"}
    assert not [reported for reported in fixed if reported.get("fixed")]


def packed(path: Path) -> Path:
    """Pack a session file as the store does, with its modification time."""
    data, status = path.read_bytes(), path.stat()
    with path.open("rb") as file:
        parts = list(compressed(file.fileno(), len(data)))
    made = path.with_name(f"{path.name}.zst")
    made.write_bytes(b"".join(parts))
    os.utime(made, ns=(status.st_atime_ns, status.st_mtime_ns))
    return made


async def test_a_packed_session_is_healthy(home: Path) -> None:
    def pack(path: Path) -> None:
        packed(path)
        path.unlink()

    found, _ = await found_after(home, pack)
    assert kinds(found) == set()


async def test_a_packed_session_that_was_cut_off_becomes_plain_with_the_lines_that_can_be_read(
    home: Path,
) -> None:
    def cut(path: Path) -> None:
        made = packed(path)
        path.unlink()
        made.write_bytes(made.read_bytes()[:-9])

    found, fixed = await found_after(home, cut, again=False)
    assert kinds(found) == {"damagedPackedFile"}
    [done] = _of(fixed, "damagedPackedFile")
    assert done["fixed"]
    assert Path(done["keptPath"]).name.endswith(".jsonl.packed")
    plain = Path(done["location"]["path"].removesuffix(".zst"))
    assert plain.read_bytes().count(b"\n") == 3


async def test_damaged_lines_of_a_packed_session_are_named_and_the_others_become_plain(home: Path) -> None:
    def damage(path: Path) -> None:
        made = packed(path)
        path.unlink()
        data = bytearray(made.read_bytes())
        data[60] ^= 1
        made.write_bytes(data)

    found, fixed = await found_after(home, damage, again=False)
    assert {"damagedPackedFile"} < kinds(found)
    [done] = _of(fixed, "damagedPackedFile")
    assert "lines 0 to 2" in done["message"]
    assert done["fixed"]


async def test_of_a_session_with_two_files_the_packed_one_is_removed_or_renamed(home: Path) -> None:
    found, fixed = await found_after(home, lambda path: packed(path))
    assert kinds(found) == {"doublePackedFile"}
    assert [done["fixed"] for done in fixed] == [True]


async def test_preserved_files_beside_a_session_are_reported_with_their_content(home: Path) -> None:
    def keep(path: Path) -> None:
        path.with_name(f"{path.name}.torn-3").write_bytes(b'{"type":\n{"ty')
        path.with_name("4_gone.jsonl.v1.bak").write_bytes(b"one\ntwo\n")

    found, _ = await found_after(home, keep)
    assert kinds(found) == {"preservedFile", "orphanedFile"}
    [orphan] = _of(found, "orphanedFile")
    assert "8 bytes" in orphan["message"]
    assert "2 whole lines" in orphan["message"]


async def test_an_old_temporary_file_is_trashed_and_a_young_one_stays(home: Path) -> None:
    def leave(path: Path) -> None:
        for name, age in ((f".{path.name}.0123456789ab.tmp", 7200), (f".{path.name}.ba9876543210.tmp", 0)):
            made = path.with_name(name)
            made.write_bytes(b"half")
            os.utime(made, (time.time() - age,) * 2)

    found, fixed = await found_after(home, leave)
    assert [reported["kind"] for reported in found if reported["kind"] == "staleTemporaryFile"] == [
        "staleTemporaryFile"
    ]
    [fix] = _of(fixed, "staleTemporaryFile")
    assert Path(fix["keptPath"]).read_bytes() == b"half"


async def test_an_old_draft_is_trashed_unless_a_client_has_it_open(home: Path) -> None:
    async with running(home) as daemon:
        peer = await daemon.attach()
        await peer.call("session/create", cwd="/home/ada", id="old-draft")
        await peer.append("old-draft", user("Anybody?"))
        [draft] = daemon.files("drafts")
        os.utime(draft, (time.time() - 30 * 86_400,) * 2)
        other = await daemon.attach()
        [stale] = _of((await other.call("server/doctor", fix=True))["findings"], "staleDraft")
        assert stale["fixed"] is False
        peer.connection.close()
        await peer.connection.wait_closed()
        assert daemon.hub is not None
        await daemon.hub.sessions.close_unless_in_use(daemon.hub.sessions.all()[0])
        [stale] = _of((await other.call("server/doctor", fix=True))["findings"], "staleDraft")
        assert stale["fixed"] is True
        assert Path(stale["keptPath"]).parent.name == "trash"


async def test_a_damaged_blob_is_replaced_by_an_intact_copy_from_the_trash(home: Path) -> None:
    data = b"an image, as it were"
    name = hashlib.sha256(data).hexdigest()
    reference = (
        f'{{"type":"custom","id":"b1","parentId":null,"customType":"x","data":"blob:sha256:{name}"}}\n'
    )

    def damage(path: Path) -> None:
        add(reference.encode())(path)
        blobs = path.parents[2] / "blobs"
        blobs.mkdir(exist_ok=True)
        (blobs / name).write_bytes(b"something else")
        copy = path.parents[2] / "trash" / "blobs-then"
        copy.mkdir(parents=True)
        (copy / name).write_bytes(data)

    found, fixed = await found_after(home, damage)
    assert kinds(found) == {"damagedBlob"}
    [fix] = _of(fixed, "damagedBlob")
    assert Path(fix["keptPath"]).read_bytes() == b"something else"
    assert Path(fix["location"]["path"]).read_bytes() == data


async def test_a_missing_blob_without_a_copy_is_reported_as_not_fixable(home: Path) -> None:
    name = "7" * 64
    reference = (
        f'{{"type":"custom","id":"b1","parentId":null,"customType":"x","data":"blob:sha256:{name}"}}\n'
    )
    found, fixed = await found_after(home, add(reference.encode()))
    assert kinds(found) == kinds(fixed) == {"missingBlob"}
    assert [reported["fixable"] for reported in found if reported["kind"] == "missingBlob"] == [False]


async def test_a_text_that_only_mentions_a_blob_is_no_problem(home: Path) -> None:
    text = (
        f'See \\"blob:sha256:{"7" * 64}\\", blob:sha256:{"8" * 64} and \\\\\\"blob:sha256:{"9" * 64}\\\\\\".'
    )
    line = f'{{"type":"custom","id":"b1","parentId":null,"customType":"x","data":"{text}"}}\n'
    found, _ = await found_after(home, add(line.encode()))
    assert "missingBlob" not in kinds(found)


async def test_two_files_with_one_session_id_are_reported(home: Path) -> None:
    found, _ = await found_after(
        home, lambda path: path.with_name("5_a-copy.jsonl").write_bytes(path.read_bytes())
    )
    assert kinds(found) == {"duplicateSessionId"}


async def test_a_damaged_index_is_quarantined_and_lists_are_as_before(home: Path) -> None:
    index = home / "state/index.db"
    async with running(home) as daemon:
        await patient(daemon)
        peer = await daemon.attach()
        before = (await peer.call("session/list"))["sessions"]
    damage = b"\xff" * 4000
    with index.open("r+b") as file:
        file.seek(100)
        file.write(damage)
    assert [
        reported.finding.kind for reported in examined(home).found if reported.finding.kind in DATABASES
    ] == ["damagedIndex"]
    async with running(home) as daemon:
        peer = await daemon.attach()
        # The daemon looks at its index, too, and may have been faster.
        found = (await peer.call("server/doctor", fix=True))["findings"]
        assert all(reported["fixed"] or reported["fixError"] for reported in _of(found, "damagedIndex"))
        assert (await peer.call("session/list"))["sessions"] == before
        assert _of((await peer.call("server/doctor"))["findings"], "damagedIndex") == []


def test_a_damaged_history_is_reported_and_left_to_the_daemon(home: Path) -> None:
    data = home / "data"
    data.mkdir(parents=True)
    (data / "history.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 8000)
    assert [
        reported.finding.kind for reported in examined(home).found if reported.finding.kind in DATABASES
    ] == ["damagedHistory"]
    assert [path.name for path in data.iterdir()] == ["history.db"]


def damage_an_index_of(database: Path) -> bytes:
    """Overwrite what SQLite does not look at when it opens a database; returns the bytes there."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        [size] = connection.execute("PRAGMA page_size").fetchone()
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_commands_1'"
        [page] = connection.execute(query).fetchone()
    with database.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    return bytes([0xFF]) * int(size)


async def test_a_damaged_journal_of_commands_is_quarantined_and_replaced(home: Path) -> None:
    command: dict[str, Any] = {"cwd": "/home/ada/atlas", "commandId": "once"}
    async with running(home) as daemon:
        first = await (await daemon.attach()).call("session/create", **command)
    damaged = damage_an_index_of(home / "state/commands.db")
    async with running(home) as daemon:
        peer = await daemon.attach()
        [found] = _of((await peer.call("server/doctor"))["findings"], "damagedCommands")
        assert (found["severity"], found["fixable"]) == ("warning", True)
        [fix] = _of((await peer.call("server/doctor", fix=True))["findings"], "damagedCommands")
        assert fix["fixed"] is True
        assert damaged in Path(fix["keptPath"]).read_bytes()
        again = (await peer.call("server/doctor", fix=True))["findings"]
        assert [reported["location"]["path"] for reported in _of(again, "quarantinedDatabase")] == [
            fix["keptPath"]
        ]
        assert not _of(again, "damagedCommands")
        # The session itself says which command has made it; for others the new journal answers.
        assert await peer.call("session/create", **command) == first | {"duplicate": True}
        await peer.call("history/add", prompt="Hello.", commandId="another")
        assert (await peer.call("history/add", prompt="Hello.", commandId="another"))["duplicate"] is True


async def test_a_command_in_flight_while_the_journal_is_quarantined_has_its_result_for_a_repeat(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(home) as daemon:
        peer = await daemon.attach()
        begun, go_on, add = threading.Event(), threading.Event(), Prompts.add

        def later(self: Prompts, *words: Any) -> Any:
            begun.set()
            assert go_on.wait(BOUND)
            return add(self, *words)

        with monkeypatch.context() as patched:
            patched.setattr(Prompts, "add", later)
            asked = asyncio.create_task(peer.call("history/add", prompt="Hello.", commandId="once"))
            assert await asyncio.to_thread(begun.wait, BOUND)
            assert daemon.hub is not None
            await daemon.hub.commands.quarantine_journal()
            go_on.set()
            first = await asked
        assert await peer.call("history/add", prompt="Hello.", commandId="once") == first | {
            "duplicate": True
        }
        assert len((await peer.call("history/list"))["prompts"]) == 1


def test_a_damaged_journal_of_commands_is_found_without_a_daemon(home: Path) -> None:
    state = home / "state"
    state.mkdir(parents=True, mode=0o700)
    (state / "commands.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 8000)
    found = [reported.finding.kind for reported in examined(home).found if reported.finding.kind in DATABASES]
    assert found == ["damagedCommands"]
    assert [path.name for path in state.iterdir()] == ["commands.db"]


def test_damaged_and_quarantined_holds_are_reported(home: Path) -> None:
    holds = home / "state/terminal-holds"
    holds.mkdir(parents=True, mode=0o700)
    for name in ("one.json", "two.json.damaged", "three.json.damaged.2"):
        (holds / name).write_bytes(b'{"sessionId": "s", "proc')
    found = [
        (Path(reported.path).name, reported.finding.kind)
        for reported in examined(home).found
        if reported.path.startswith(str(holds))
    ]
    assert sorted(found) == [
        ("one.json", "damagedHold"),
        ("three.json.damaged.2", "quarantinedHold"), ("two.json.damaged", "quarantinedHold"),
    ]  # fmt: skip
    assert {path.name for path in holds.iterdir()} == {"one.json", "two.json.damaged", "three.json.damaged.2"}


async def test_the_hold_of_a_living_terminal_is_no_finding(home: Path) -> None:
    async with running(home) as daemon:
        pane = {"id": "one", "kind": "tmux", "cwd": "/home/ada", "pid": os.getpid()}
        peer = await daemon.attach()
        await peer.call("session/create", cwd="/home/ada", terminal=pane)
    [hold] = (home / "state/terminal-holds").iterdir()
    assert hold.suffix == ".json"
    assert {reported.finding.kind for reported in examined(home).found} - MACHINE == set()


async def test_a_daemon_log_with_impossible_times_is_read(home: Path) -> None:
    async with running(home) as daemon:
        now = datetime.now().strftime("%Y-%m-%d %H:%M:%S")  # noqa: DTZ005 - as logs have it
        told_at = ("2026-99-99 99:99:99", "0001-01-01 00:00:00", now)
        lines = [f"{text},000 ERROR a: the only one of {text}\n" for text in told_at]
        (home / "state/sessiond.log").write_text("".join(lines), encoding="utf-8")
        (told,) = _of((await (await daemon.attach()).call("server/doctor"))["findings"], "errorsLogged")
    assert told["message"].startswith("one ")
    assert told["message"].endswith(now)


async def test_a_daemon_log_that_is_a_pipe_or_a_link_is_not_read(home: Path) -> None:
    async with running(home) as daemon:
        peer, log = await daemon.attach(), home / "state/sessiond.log"
        os.mkfifo(log, 0o600)
        assert (await peer.call("server/doctor"))["examined"]["sessionCount"] == 0
        log.unlink()
        now = datetime.now().strftime("%Y-%m-%d %H:%M:%S")  # noqa: DTZ005 - as logs have it
        (home / "diary").write_text(f"{now},000 ERROR a: mine\n", encoding="utf-8")
        log.symlink_to(home / "diary")
        found = (await peer.call("server/doctor"))["findings"]
    assert "symbolicLink" in kinds(found)
    assert not _of(found, "errorsLogged")


async def test_a_log_in_the_trash_without_a_note_is_reported(home: Path) -> None:
    def lose_the_note(path: Path) -> None:
        trash = path.parents[2] / "trash"
        trash.mkdir(exist_ok=True)
        (trash / "6_no-note.jsonl").write_bytes(path.read_bytes())

    found, _ = await found_after(home, lose_the_note)
    assert kinds(found) == {"missingTrashNote"}


async def test_many_findings_of_a_kind_are_counted_and_only_some_are_listed(home: Path) -> None:
    async with running(home) as daemon:
        folder = (await patient(daemon)).parent
        for number in range(130):
            folder.with_name(f"strange-{number}").write_bytes(b"")
        peer = await daemon.attach()
        for params, listed in (({}, 100), ({"findingsPerKind": 1_000}, 130), ({"findingsPerKind": 1}, 1)):
            told = await peer.call("server/doctor", **params)
            assert len(_of(told["findings"], "unknownFile")) == listed
            assert _of(told["counts"], "unknownFile") == [
                {"kind": "unknownFile", "severity": "note", "count": 130, "fixedCount": 0}
            ]


def test_findings_that_were_not_fixed_are_listed_first_and_unlisted_ones_count(home: Path) -> None:
    scope = Scope(find_locations(), Config())
    scope.unlisted["tornLine", "error"] = 5
    found = finding("tornLine", "torn", "/log")
    findings = [msgspec.structs.replace(found, fixed=number != 7) for number in range(10)]
    told = result_of(scope, findings, 2)
    assert [reported.fixed for reported in told.findings] == [False, True]
    assert [(count.count, count.fixed_count) for count in told.counts] == [(15, 9)]
    assert not told.healthy


def test_a_store_with_repaired_findings_and_notes_is_healthy(home: Path) -> None:
    scope = Scope(find_locations(), Config())
    fixed = msgspec.structs.replace(finding("tornLine", "torn", "/log"), fixed=True)
    note = finding("unknownFile", "strange", "/file")
    assert result_of(scope, [fixed, note], 100).healthy
    scope.unlisted["tornLine", "error"] = 1
    assert not result_of(scope, [fixed, note], 100).healthy


async def test_only_the_named_paths_are_examined_and_fixed(home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.jsonl"
    elsewhere.write_bytes(logs.log(logs.header(), logs.user("Hi.")) + b'{"torn')
    async with running(home) as daemon:
        add(b'{"torn')(await patient(daemon))
        peer = await daemon.attach()
        told = await peer.call("server/doctor", paths=[str(elsewhere)], fix=True)
        assert told["examined"]["sessionCount"] == 1
        [fix] = told["findings"]
        assert (fix["kind"], fix["fixed"]) == ("tornLine", True)
        assert told["healthy"] is True
        refused = await refusal(peer.call("server/doctor", paths=["relative.jsonl"]))
        assert refused.kind == "invalidParams"


async def test_progress_is_reported_and_the_examination_can_be_canceled(home: Path) -> None:
    async with running(home) as daemon:
        await patient(daemon)
        peer = await daemon.attach()
        await peer.call("server/doctor", workDoneToken="check-up")
        steps = [notification["value"]["kind"] for notification in peer.told("$/progress")]
        assert (steps[0], steps[-1]) == ("begin", "end")


def test_an_examination_creates_no_files(home: Path) -> None:
    examined(home)
    assert not home.exists()


def examined(home: Path) -> Scope:
    """Return the findings in a home without a daemon."""
    scope = Scope(find_locations({"SESSIOND_HOME": str(home)}), Config())
    for _ in examine(scope):
        pass
    return scope


def test_a_token_that_others_could_read_is_reported_and_not_fixed(home: Path) -> None:
    token = home / "state/tcp-token"
    token.parent.mkdir(parents=True)
    token.write_text("x" * 43, encoding="utf-8")
    token.chmod(0o644)
    [found] = [reported.finding for reported in examined(home).found if reported.path == str(token)]
    assert (found.kind, found.fixable) == ("exposedToken", False)


async def test_bytes_that_are_not_utf8_are_found_with_line_and_byte(home: Path) -> None:
    line = b'{"type":"custom","id":"c","parentId":null,"data":"caf\xe9"}\n'
    sizes: list[int] = []

    def damage(path: Path) -> None:
        sizes.append(path.stat().st_size)
        add(line)(path)

    found, _ = await found_after(home, damage)
    [told] = _of(found, "invalidUtf8")
    assert (told["location"]["line"], told["location"]["byteOffset"], told["severity"]) == (
        4,
        sizes[0],
        "warning",
    )
    assert f"byte {sizes[0] + line.index(b'caf') + 3} " in told["message"]


async def test_a_file_that_cannot_be_examined_is_reported_and_the_others_are_examined(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(home) as daemon:
        path = await patient(daemon)
    other = path.with_name(path.name.replace(SESSION, "doctors-second"))
    other.write_bytes(path.read_bytes().replace(SESSION.encode(), b"doctors-second") + b"{broken\n")

    def failing(size: int, read: Any) -> Any:
        if size == path.stat().st_size:
            raise RuntimeError("a defect")
        return tree_of_log(size, read)

    monkeypatch.setattr("sessiond.hub.doctor.logs.tree_of_log", failing)
    async with running(home) as daemon:
        found = (await (await daemon.attach()).call("server/doctor"))["findings"]
    assert [reported["location"]["path"] for reported in _of(found, "unreadable")] == [str(path)]
    assert [reported["location"]["path"] for reported in _of(found, "damagedLine")] == [str(other)]


async def test_a_file_of_a_followed_agent_that_is_not_read_is_named(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "ada"))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    day = tmp_path / "ada/.codex/sessions/2026/01/01"
    day.mkdir(parents=True)
    os.mkfifo(day / "rollout-1.jsonl")
    (day / "rollout-2.jsonl").write_text("not JSON\n", encoding="utf-8")
    (day / "rollout-3.jsonl").write_text("", encoding="utf-8")
    (day / "rollout-4.jsonl").write_bytes(_rollout(cli_version="999.1.0"))
    async with running(home) as daemon:
        peer = await daemon.attach()
        result = await peer.call("server/doctor")
        assert "agentFileSkipped" not in {reported["kind"] for reported in result["findings"]}
        await peer.call("agent/follow", agents=["codex"], workDoneToken="first")
        result = await peer.call("server/doctor")
    skipped = {
        Path(reported["location"]["path"]).name: reported["message"]
        for reported in _of(result["findings"], "agentFileSkipped")
    }
    assert skipped.keys() == {"rollout-1.jsonl", "rollout-2.jsonl"}
    assert "it is not a regular file" in skipped["rollout-1.jsonl"]
    assert "it is not a session file of a known program" in skipped["rollout-2.jsonl"]
    [newer] = _of(result["findings"], "uncheckedAgentVersion")
    assert "version 999.1.0 of Codex" in newer["message"]
    assert {reported["severity"] for reported in result["findings"]} == {"note"}


def _rollout(**header: str) -> bytes:
    """Return a rollout of Codex with one message of the user."""
    payload = {
        "id": "00000000-1111-4222-8333-444444444444",
        "timestamp": "2026-01-01T00:00:00Z",
        "cwd": "/work",
        **header,
    }
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}
    lines = [{"type": "session_meta", "payload": payload}, {"type": "response_item", "payload": said}]
    return b"".join(
        msgspec.json.encode({"timestamp": "2026-01-01T00:00:00Z", **line}) + b"\n" for line in lines
    )
