"""session/import again: files that are unchanged are not read, and every change is noticed."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.transfer import foreign_files, source_state, unchanged
from sessiond.hub.transfer.source_state import SourceState
from support.claude_transcripts import OLD, SESSION, imported, turn, write
from support.daemons import Running, running, user
from support.dialects import jsonl
from support.shared import lines_of


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are converted, in order. Files that were just written count as old."""
    names: list[str] = []
    convert = foreign_files.read

    def noted(path: str, *arguments: Any) -> Any:
        names.append(Path(path).name)
        return convert(path, *arguments)

    monkeypatch.setattr(foreign_files, "read", noted)
    monkeypatch.setattr(source_state, "UNSETTLED_SECONDS", -1.0)
    return names


async def test_an_unchanged_file_is_not_read_again_and_has_the_same_report(
    memory: Running, tmp_path: Path, read: list[str]
) -> None:
    bad = {"type": "mystery", "sessionId": SESSION}
    source = write(tmp_path / "session.jsonl", turn(0), turn(1), bad, b"no json")
    peer = await memory.attach()
    first = await imported(peer, source)
    assert (first["status"], first["addedCount"]) == ("created", 5)
    everything = memory.everything()
    for _ in range(2):
        assert await imported(peer, source) == {**first, "status": "unchanged", "addedCount": 0}
    assert read == ["session.jsonl"]
    assert memory.everything() == everything


async def test_the_report_is_that_of_a_file_that_is_read(
    memory: Running, tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = {**turn(0), "cwd": ""}
    source = write(tmp_path / "session.jsonl", nowhere, b"no json")
    peer = await memory.attach()
    assert (await imported(peer, source))[
        "problemCount"
    ] == 2  # one is about the new session: it has no folder
    recognized = await imported(peer, source)
    monkeypatch.setattr(unchanged, "IMPORTER", "another")
    assert await imported(peer, source) == recognized
    assert len(read) == 2


async def test_a_restarted_daemon_recognizes_the_files(tmp_path: Path, read: list[str]) -> None:
    source = write(tmp_path / "session.jsonl", turn(0), turn(1))
    for status in ("created", "unchanged", "unchanged"):
        async with running(tmp_path / "home") as daemon:
            assert (await imported(await daemon.attach(), source))["status"] == status
    assert len(read) == 1


@pytest.mark.parametrize("damage", [None, b"not a database" * 1_000])
async def test_without_its_records_a_daemon_reads_the_files_and_adds_nothing(
    damage: bytes | None, tmp_path: Path, read: list[str]
) -> None:
    source = write(tmp_path / "session.jsonl", turn(0), turn(1))
    home = tmp_path / "home"
    async with running(home) as daemon:
        await imported(await daemon.attach(), source)
    for file in (home / "state").glob("imports.db*"):
        file.unlink()
    if damage is not None:
        (home / "state/imports.db").write_bytes(damage)
    async with running(home) as daemon:
        peer = await daemon.attach()
        assert [(await imported(peer, source))["status"] for _ in range(2)] == ["unchanged"] * 2
    assert len(read) == 2
    assert [path.read_bytes() for path in (home / "state").glob("*.damaged-1")] == (
        [damage] if damage else []
    )


async def test_another_version_of_the_importer_reads_the_files_again(
    memory: Running, tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path / "session.jsonl", turn(0), turn(1))
    peer = await memory.attach()
    await imported(peer, source)
    monkeypatch.setattr(unchanged, "IMPORTER", "another")
    assert (await imported(peer, source))["status"] == "unchanged"
    assert len(read) == 2


# --- changes of the source -----------------------------------------------------------------------------------


async def test_a_change_that_keeps_the_size_and_the_modification_time_is_noticed(
    memory: Running, tmp_path: Path, read: list[str]
) -> None:
    source = write(tmp_path / "session.jsonl", turn(0), turn(1))
    peer = await memory.attach()
    first = await imported(peer, source)
    size = source.stat().st_size
    write(source, turn(0, "other!"), turn(1))
    assert (source.stat().st_size, source.stat().st_mtime) == (size, OLD)
    changed = await imported(peer, source)
    assert changed["status"] == "created", "another content under the same ids is another session"
    assert changed["sessionId"] != first["sessionId"]


async def test_a_young_file_is_compared_by_its_content(
    memory: Running, tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_state, "UNSETTLED_SECONDS", 3_600.0)
    source = write(tmp_path / "session.jsonl", turn(0), turn(1))
    peer = await memory.attach()
    await imported(peer, source)
    frozen = source.stat()
    assert (await imported(peer, source))["status"] == "unchanged"
    assert len(read) == 1, "the digest shows that nothing has changed"
    write(source, turn(0, "other!"), turn(1))
    present = os.stat
    monkeypatch.setattr(
        os, "stat", lambda path, **more: frozen if path == str(source) else present(path, **more)
    )
    assert (await imported(peer, source))["status"] == "created", "an equal status alone proves nothing"


async def test_a_touched_file_is_compared_by_its_content_once(
    memory: Running, tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path / "session.jsonl", turn(0), turn(1))
    peer = await memory.attach()
    await imported(peer, source)
    os.utime(source, (OLD + 1, OLD + 1))
    compared: list[str] = []
    compare = foreign_files.state_if_same_content

    def noted(path: str, state: SourceState) -> SourceState | None:
        compared.append(path)
        return compare(path, state)

    monkeypatch.setattr(foreign_files, "state_if_same_content", noted)
    assert [(await imported(peer, source))["status"] for _ in range(2)] == ["unchanged"] * 2
    assert (len(read), compared) == (1, [str(source)])


async def test_a_file_that_has_grown_adds_what_is_new_and_is_then_recognized(
    memory: Running, tmp_path: Path, read: list[str]
) -> None:
    source = write(tmp_path / "session.jsonl", turn(0), turn(1))
    peer = await memory.attach()
    await imported(peer, source)
    write(source, *map(turn, range(4)))
    grown = await imported(peer, source)
    assert (grown["status"], grown["addedCount"]) == ("grown", 2)
    assert await imported(peer, source) == {**grown, "status": "unchanged", "addedCount": 0}
    assert len(read) == 2


async def test_lines_that_were_held_back_are_added_when_the_file_no_longer_grows(
    memory: Running, tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    unfinished = turn(1)
    unfinished["message"]["stop_reason"] = None
    source = write(tmp_path / "session.jsonl", turn(0), unfinished)
    monkeypatch.setattr(foreign_files, "GROWING_SECONDS", float("inf"))
    peer = await memory.attach()
    first = await imported(peer, source)
    assert first["heldBackCount"] == 1
    assert (await imported(peer, source))["heldBackCount"] == 1
    monkeypatch.setattr(foreign_files, "GROWING_SECONDS", 0.0)
    later = await imported(peer, source)
    assert (later["status"], later["addedCount"], later["heldBackCount"]) == ("grown", 1, 0)


async def test_a_torn_last_line_is_read_when_the_file_no_longer_grows(
    memory: Running, tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path / "session.jsonl", turn(0), turn(1))
    source.write_bytes(source.read_bytes() + b'{"type":')
    monkeypatch.setattr(foreign_files, "GROWING_SECONDS", float("inf"))
    peer = await memory.attach()
    assert (await imported(peer, source))["preservedLines"] == {}
    monkeypatch.setattr(foreign_files, "GROWING_SECONDS", 0.0)
    assert (await imported(peer, source))["status"] == "grown"


async def test_a_change_of_the_file_beside_it_is_noticed(
    memory: Running, tmp_path: Path, read: list[str]
) -> None:
    source = write(tmp_path / "session.jsonl", turn(0), turn(1))
    peer = await memory.attach()
    await imported(peer, source)
    (tmp_path / "session.meta.json").write_bytes(b'{"agentType":"explorer"}')
    await imported(peer, source)
    await imported(peer, source)
    assert len(read) == 2


async def test_another_file_at_the_path_is_noticed(memory: Running, tmp_path: Path, read: list[str]) -> None:
    source = write(tmp_path / "session.jsonl", turn(0), turn(1))
    peer = await memory.attach()
    first = await imported(peer, source)
    other = "99999999-2222-4333-8444-555555555555"
    write(tmp_path / "new", turn(0, sessionId=other), turn(1, sessionId=other)).replace(source)
    second = await imported(peer, source)
    assert (second["status"], second["sessionId"] != first["sessionId"]) == ("created", True)


async def test_a_file_that_is_gone_is_reported(memory: Running, tmp_path: Path, read: list[str]) -> None:
    source = write(tmp_path / "session.jsonl", turn(0), turn(1))
    peer = await memory.attach()
    await imported(peer, source)
    source.unlink()
    result = await peer.call("session/import", path=str(source))
    assert [entry["message"] for entry in result["skipped"]] == ["there is no such file or folder"]


async def test_a_format_that_the_request_names_is_not_that_of_another_request(
    memory: Running, tmp_path: Path, read: list[str]
) -> None:
    source = write(tmp_path / "session.jsonl", turn(0), turn(1))
    peer = await memory.attach()
    await imported(peer, source)
    result = await peer.call("session/import", path=str(source), format="codex")
    assert (result["sessions"], len(result["skipped"])) == ([], 1)
    assert (await imported(peer, source))["format"] == "claude-code"
    assert len(read) == 2


# --- changes of the session ----------------------------------------------------------------------------------


async def test_a_deleted_session_is_imported_again(memory: Running, tmp_path: Path, read: list[str]) -> None:
    source = write(tmp_path / "session.jsonl", turn(0), turn(1))
    peer = await memory.attach()
    first = await imported(peer, source)
    await peer.call("session/delete", sessionId=first["sessionId"])
    again = await imported(peer, source)
    assert (again["status"], again["sessionId"]) == ("created", first["sessionId"])


@pytest.mark.parametrize("change", ["rename", "append"])
async def test_a_session_that_was_changed_here_is_described_as_it_is_now(
    change: str, memory: Running, tmp_path: Path, read: list[str]
) -> None:
    source = write(tmp_path / "session.jsonl", turn(0), turn(1))
    peer = await memory.attach()
    session_id = (await imported(peer, source))["sessionId"]
    if change == "rename":
        await peer.call("session/rename", sessionId=session_id, title="Renamed")
    else:
        await peer.append(session_id, user("and here I go on"))
    again = await imported(peer, source)
    assert (again["status"], again["title"]) == ("unchanged", "Renamed" if change == "rename" else None)
    assert await imported(peer, source) == again
    assert len(read) == 2


async def test_entries_that_another_program_removed_from_the_session_are_added_again(
    tmp_path: Path, read: list[str]
) -> None:
    source = write(tmp_path / "session.jsonl", *map(turn, range(4)))
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await imported(peer, source)
        [file] = daemon.files()
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:3]))
    async with running(tmp_path / "home") as daemon:
        again = await imported(await daemon.attach(), source)
        assert again["status"] == "grown"
        assert {"turn-2", "turn-3"} <= {line.get("id") for line in lines_of(file)}


# --- files that are not imported -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"not json at all", "it is not a session file of a known program"),
        (jsonl({"type": "summary", "summary": "x", "leafUuid": "y"}), ""),
    ],
)
async def test_a_file_that_is_no_session_is_skipped_again_for_the_same_reason(
    data: bytes, message: str, memory: Running, tmp_path: Path, read: list[str]
) -> None:
    source = tmp_path / "session.jsonl"
    source.write_bytes(data)
    os.utime(source, (OLD, OLD))
    peer = await memory.attach()
    first = await peer.call("session/import", path=str(source))
    assert first["skipped"][0]["message"].startswith(message)
    assert await peer.call("session/import", path=str(source)) == first
    assert len(read) == 1
    write(source, turn(0), turn(1))
    assert (await imported(peer, source))["status"] == "created"


async def test_an_import_that_another_session_prevents_is_tried_again(
    memory: Running, tmp_path: Path, read: list[str]
) -> None:
    sources = [write(tmp_path / name / "session.jsonl", turn(0, name), turn(1)) for name in ("one", "two")]
    peer = await memory.attach()
    ids = [(await imported(peer, source))["sessionId"] for source in sources]
    assert ids[0] != ids[1]
    assert [(await imported(peer, source))["sessionId"] for source in sources] == ids
    assert len(read) == 2


# --- many files ----------------------------------------------------------------------------------------------


async def test_a_folder_lists_unchanged_and_changed_files_in_their_order(
    memory: Running, tmp_path: Path, read: list[str]
) -> None:
    folder = tmp_path / "many"
    for name in "abcd":
        write(
            folder / f"{name}.jsonl",
            turn(0, sessionId=f"session-{name}"),
            turn(1, sessionId=f"session-{name}"),
        )
    peer = await memory.attach()
    await peer.call("session/import", path=str(folder))
    write(folder / "c.jsonl", *(turn(number, sessionId="session-c") for number in range(4)))
    result = await peer.call("session/import", path=str(folder))
    found = [(Path(session["path"]).stem, session["status"]) for session in result["sessions"]]
    assert found == [("a", "unchanged"), ("b", "unchanged"), ("c", "grown"), ("d", "unchanged")]
    assert read[4:] == ["c.jsonl"]


async def test_an_import_that_fails_in_between_records_what_it_has_imported(
    memory: Running, tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "many"
    for name in "ab":
        write(
            folder / f"{name}.jsonl",
            turn(0, sessionId=f"session-{name}"),
            turn(1, sessionId=f"session-{name}"),
        )
    convert: Callable[..., Any] = foreign_files.read

    def failing(path: str, *arguments: Any) -> Any:
        if path.endswith("b.jsonl"):
            raise ZeroDivisionError
        return convert(path, *arguments)

    monkeypatch.setattr(foreign_files, "read", failing)
    peer = await memory.attach()
    with pytest.raises(Exception, match="internal"):
        await peer.call("session/import", path=str(folder))
    monkeypatch.setattr(foreign_files, "read", convert)
    result = await peer.call("session/import", path=str(folder))
    assert [session["status"] for session in result["sessions"]] == ["unchanged", "created"]
    assert read == ["a.jsonl", "b.jsonl"]
