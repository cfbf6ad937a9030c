"""session/resume: a session goes on in its agent, or in a new session that is written for an agent."""

import json  # noqa: TID251 - files are read as other programs read them
import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sessiond.agents import table
from sessiond.agents.claude_code.row import project_folder
from sessiond.agents.writing import NATIVE_WRITERS
from support.daemons import Peer, Running, assistant, refusal, user
from support.dialects import jsonl
from support.shared import started

AGENTS = list(NATIVE_WRITERS)
FILES = [agent for agent in AGENTS if table.AGENTS[agent].new_file is not None]
"""The agents that have a file for each session."""
NATIVE_ID = "11111111-2222-4333-8444-555555555555"


async def told(daemon: Running, cwd: str) -> tuple[Peer, str, list[str]]:
    """A session with a question and an answer in the folder `cwd`."""
    Path(cwd).mkdir(parents=True, exist_ok=True)
    peer, session = await started(daemon, cwd, title="Flaky")
    made = await peer.append(session, user("Why?"), assistant("A race."), user("Sure?"), assistant("Yes."))
    return peer, session, [entry["id"] for entry in made["entries"]]


def home(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home")}


async def resumed(peer: Peer, session_id: str, tmp_path: Path, **params: Any) -> dict[str, Any]:
    result = await peer.call("session/resume", sessionId=session_id, env=home(tmp_path), **params)
    return dict(result)


@pytest.mark.parametrize("agent", AGENTS)
async def test_a_session_is_written_for_an_agent_in_its_place(
    memory: Running, tmp_path: Path, agent: str
) -> None:
    peer, session, _ = await told(memory, str(tmp_path / "work"))
    found = await resumed(peer, session, tmp_path, agent=agent)
    path = Path(found["path"])
    assert found["agent"] == agent
    assert found["nativeSessionId"] in found["argv"]
    assert found["cwd"] == found["env"]["PWD"] == os.path.realpath(tmp_path / "work")
    assert "A race." in path.read_text(encoding="utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700
    assert (found["importArgv"] is None) == path.is_relative_to(tmp_path / "home") == (agent in FILES)
    assert not list(path.parent.glob("*.tmp"))


@pytest.mark.parametrize("agent", FILES)
async def test_a_repeat_gives_the_same_session(memory: Running, tmp_path: Path, agent: str) -> None:
    peer, session, _ = await told(memory, str(tmp_path / "work"))
    first = await resumed(peer, session, tmp_path, agent=agent)
    before = Path(first["path"]).stat()
    assert await resumed(peer, session, tmp_path, agent=agent) == first
    assert Path(first["path"]).stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize("agent", FILES)
async def test_a_session_that_the_agent_has_continued_stays_and_another_one_is_written(
    memory: Running, tmp_path: Path, agent: str
) -> None:
    peer, session, _ = await told(memory, str(tmp_path / "work"))
    first = await resumed(peer, session, tmp_path, agent=agent)
    with Path(first["path"]).open("ab") as file:
        file.write(b'{"type":"mystery"}\n')
    continued = Path(first["path"]).read_bytes()
    second = await resumed(peer, session, tmp_path, agent=agent)
    assert second["nativeSessionId"] != first["nativeSessionId"]
    assert Path(first["path"]).read_bytes() == continued
    assert (await resumed(peer, session, tmp_path, agent=agent)) == second


async def test_only_the_path_to_the_named_entry_is_written(memory: Running, tmp_path: Path) -> None:
    peer, session, [_, answer, *_] = await told(memory, str(tmp_path / "work"))
    found = await resumed(peer, session, tmp_path, agent="codex", leafId=answer)
    assert "A race." in (text := Path(found["path"]).read_text(encoding="utf-8"))
    assert "Sure?" not in text


async def test_the_result_lists_what_the_format_cannot_hold(memory: Running, tmp_path: Path) -> None:
    peer, session, [question, *_] = await told(memory, str(tmp_path / "work"))
    await peer.call("session/label", sessionId=session, entryId=question, label="start")
    found = await resumed(peer, session, tmp_path, agent="codex")
    assert {"name": "label", "count": 1} in found["losses"]
    assert {"name": "title", "count": 1} in found["losses"]


async def test_the_folder_is_the_real_one(memory: Running, tmp_path: Path) -> None:
    peer, session, _ = await told(memory, str(tmp_path / "work"))
    (tmp_path / "link").symlink_to(tmp_path / "work")
    found = await resumed(peer, session, tmp_path, agent="claude-code", cwd=str(tmp_path / "link"))
    assert found["cwd"] == os.path.realpath(tmp_path / "work")
    lines = [json.loads(line) for line in Path(found["path"]).read_text(encoding="utf-8").splitlines()]
    assert {line["cwd"] for line in lines if "cwd" in line} == {found["cwd"]}


async def test_a_variable_of_the_client_moves_the_place(memory: Running, tmp_path: Path) -> None:
    peer, session, _ = await told(memory, str(tmp_path / "work"))
    moved = {**home(tmp_path), "CODEX_HOME": str(tmp_path / "moved"), "SECRET": "x"}
    found = await peer.call("session/resume", sessionId=session, agent="codex", env=moved)
    assert Path(found["path"]).is_relative_to(tmp_path / "moved")
    assert found["env"] == {"PWD": found["cwd"], "CODEX_HOME": str(tmp_path / "moved")}


def claude_file(tmp_path: Path) -> Path:
    """A session of Claude Code in its place."""
    (tmp_path / "work").mkdir()
    cwd = os.path.realpath(tmp_path / "work")
    base = {"sessionId": NATIVE_ID, "cwd": cwd}
    asked = {
        "type": "user", "uuid": "u-1", "parentUuid": None, "timestamp": "2026-01-01T00:00:00.000Z",
        "message": {"role": "user", "content": "Why?"}, **base,
    }  # fmt: skip
    answered = {
        "type": "assistant", "uuid": "a-1", "parentUuid": "u-1", "timestamp": "2026-01-01T00:00:01.000Z",
        "message": {"role": "assistant", "model": "m", "content": [{"type": "text", "text": "A race."}]}, **base,
    }  # fmt: skip
    path = tmp_path / "home/.claude/projects" / project_folder(cwd) / f"{NATIVE_ID}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(asked, answered))
    return path


async def imported(memory: Running, path: Path) -> tuple[Peer, str]:
    peer = await memory.attach()
    [session] = (await peer.call("session/import", path=str(path)))["sessions"]
    return peer, session["sessionId"]


async def test_an_imported_session_goes_on_in_the_session_of_its_agent(
    memory: Running, tmp_path: Path
) -> None:
    path = claude_file(tmp_path)
    before = path.read_bytes()
    peer, session = await imported(memory, path)
    found = await resumed(peer, session, tmp_path)
    assert found["argv"] == ["claude", "--resume", NATIVE_ID]
    assert found["path"] == str(path)
    assert found["losses"] == []
    assert path.read_bytes() == before


async def test_a_session_that_its_agent_deleted_is_written_anew(memory: Running, tmp_path: Path) -> None:
    path = claude_file(tmp_path)
    peer, session = await imported(memory, path)
    path.unlink()
    found = await resumed(peer, session, tmp_path)
    assert found["argv"] == ["claude", "--resume", found["nativeSessionId"]]
    assert "A race." in Path(found["path"]).read_text(encoding="utf-8")
    assert Path(found["path"]).stem == found["nativeSessionId"]


async def test_a_session_of_a_folder_that_was_moved_is_written_for_the_new_one(
    memory: Running, tmp_path: Path
) -> None:
    path = claude_file(tmp_path)
    before = path.read_bytes()
    peer, session = await imported(memory, path)
    (tmp_path / "work").rename(tmp_path / "moved")
    await peer.call("session/move", sessionId=session, cwd=str(tmp_path / "moved"))
    found = await resumed(peer, session, tmp_path)
    assert found["nativeSessionId"] != NATIVE_ID
    assert Path(found["path"]).parent.name == project_folder(os.path.realpath(tmp_path / "moved"))
    assert path.read_bytes() == before


async def test_a_copy_that_the_agent_does_not_find_is_written_anew(memory: Running, tmp_path: Path) -> None:
    path = claude_file(tmp_path)
    copy = path.rename(tmp_path / "copy.jsonl")
    peer, session = await imported(memory, copy)
    found = await resumed(peer, session, tmp_path)
    assert Path(found["path"]).is_relative_to(tmp_path / "home")
    assert "A race." in Path(found["path"]).read_text(encoding="utf-8")


async def test_a_session_of_opencode_is_imported_once(memory: Running, tmp_path: Path) -> None:
    peer, session, _ = await told(memory, str(tmp_path / "work"))
    first = await resumed(peer, session, tmp_path, agent="opencode")
    assert first["importArgv"] == ["opencode", "import", first["path"]]
    messages = [
        message["info"]["id"]
        for message in json.loads(Path(first["path"]).read_text(encoding="utf-8"))["messages"]
    ]
    database = tmp_path / "home/.local/share/opencode/opencode.db"
    database.parent.mkdir(parents=True)
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE part(id, message_id, session_id, time_created, time_updated, data)")
        connection.execute("CREATE TABLE message(id, session_id, time_created, time_updated, data)")
        columns = "id, parent_id, slug, directory, title, version, revert, time_created, time_updated"
        connection.execute(f"CREATE TABLE session({columns})")
        rows = [(message, first["nativeSessionId"], 0, 0, "{}") for message in messages]
        connection.executemany("INSERT INTO message VALUES(?, ?, ?, ?, ?)", rows)
    again = await resumed(peer, session, tmp_path, agent="opencode")
    assert (again["nativeSessionId"], again["importArgv"]) == (first["nativeSessionId"], None)
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(
            "INSERT INTO message VALUES('msg_later', ?, 0, 0, '{}')", [first["nativeSessionId"]]
        )
    continued = await resumed(peer, session, tmp_path, agent="opencode")
    assert continued["nativeSessionId"] != first["nativeSessionId"]
    assert continued["importArgv"] is not None


async def test_gemini_finds_the_session_by_the_owner_of_its_folder(memory: Running, tmp_path: Path) -> None:
    projects = tmp_path / "home/.gemini/tmp"
    (projects / "my-work").mkdir(parents=True)
    (projects / "my-work/.project_root").write_text("/another/my.work", encoding="utf-8")
    peer, session, _ = await told(memory, str(tmp_path / "My.Work"))
    path = Path((await resumed(peer, session, tmp_path, agent="gemini"))["path"])
    assert path.parts[-3:-1] == ("my-work-1", "chats")
    assert (path.parent.parent / ".project_root").read_text(encoding="utf-8") == os.path.realpath(
        tmp_path / "My.Work"
    )
    header = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    assert not path.stem.endswith(header["sessionId"][:8])


@pytest.mark.parametrize("params", [{}, {"agent": "copilot"}, {"agent": "nobody"}])
async def test_a_session_without_an_agent_to_resume_it_in_is_refused(
    memory: Running, tmp_path: Path, params: dict[str, str]
) -> None:
    peer, session, _ = await told(memory, str(tmp_path / "work"))
    refused = await refusal(peer.call("session/resume", sessionId=session, env=home(tmp_path), **params))
    assert refused.kind == "invalidParams"


async def test_a_folder_that_does_not_exist_is_named(memory: Running, tmp_path: Path) -> None:
    peer, session = await started(memory, str(tmp_path / "gone"))
    await peer.append(session, user("Why?"), assistant("A race."))
    call = peer.call("session/resume", sessionId=session, agent="codex", env=home(tmp_path))
    assert str(tmp_path / "gone") in (await refusal(call)).message


async def test_a_path_without_a_message_is_refused(memory: Running, tmp_path: Path) -> None:
    peer, session = await started(memory, str(tmp_path))
    call = peer.call("session/resume", sessionId=session, agent="codex", env=home(tmp_path))
    assert (await refusal(call)).kind == "invalidParams"
    assert not (tmp_path / "home").exists()


async def listed(peer: Peer, **params: Any) -> list[dict[str, Any]]:
    sessions: list[dict[str, Any]] = (await peer.call("session/list", **params))["sessions"]
    return sessions


async def went_on(peer: Peer, path: Path, line: dict[str, Any]) -> str:
    """The session of a copy that its agent has gone on with, which is read from its file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    [session] = (await peer.call("session/import", path=str(path)))["sessions"]
    return str(session["sessionId"])


def answered(text: str, at: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text}]
    payload = {"type": "message", "role": "assistant", "content": content}
    return {"timestamp": at, "type": "response_item", "payload": payload}


async def test_a_copy_is_listed_only_when_its_agent_has_gone_on_with_it(
    memory: Running, tmp_path: Path
) -> None:
    peer, session = await imported(memory, claude_file(tmp_path))
    copy = Path((await resumed(peer, session, tmp_path, agent="codex"))["path"])
    found = await peer.call("session/import", path=str(copy))
    assert (found["sessions"], [row["path"] for row in found["skipped"]]) == ([], [str(copy)])
    assert [item["sessionId"] for item in await listed(peer)] == [session]
    there = await went_on(peer, copy, answered("In the reeds.", "2026-02-01T00:00:00.000Z"))
    assert [item["sessionId"] for item in await listed(peer)] == [there, session]


async def test_a_copy_is_read_where_its_source_is_not(memory: Running, tmp_path: Path) -> None:
    peer, session = await imported(memory, claude_file(tmp_path))
    copy = Path((await resumed(peer, session, tmp_path, agent="codex"))["path"])
    await peer.call("session/delete", sessionId=session)
    [read] = (await peer.call("session/import", path=str(copy)))["sessions"]
    assert [item["sessionId"] for item in await listed(peer)] == [read["sessionId"]]


async def test_a_session_that_was_handed_over_is_one_row_with_its_lineage(
    memory: Running, tmp_path: Path
) -> None:
    peer, first = await imported(memory, claude_file(tmp_path))
    copy = Path((await resumed(peer, first, tmp_path, agent="codex"))["path"])
    second = await went_on(peer, copy, answered("In the reeds.", "2026-02-01T00:00:00.000Z"))
    again = Path((await resumed(peer, second, tmp_path, agent="claude-code"))["path"])
    last = json.loads(again.read_text(encoding="utf-8").splitlines()[-1])
    said = {"role": "user", "content": "And then?"}
    line = {"type": "user", "message": said, "timestamp": "2026-02-02T00:00:00.000Z", "sessionId": again.stem,
            "uuid": "9a3c5a51-0000-4000-8000-000000000001", "parentUuid": last.get("uuid")}  # fmt: skip
    third = await went_on(peer, again, line)
    steps = [
        {"agent": "claude-code", "sessionId": first}, {"agent": "codex", "sessionId": second},
        {"agent": "claude-code", "sessionId": third},
    ]  # fmt: skip
    rows = {session["sessionId"]: session["origin"].get("lineage") for session in await listed(peer)}
    assert rows == {first: None, second: steps[:1], third: steps[:2]}
    page = await peer.call("session/list", foldLineages=True, withTotal=True)
    assert [session["sessionId"] for session in page["sessions"]] == [third]
    assert (page["totalCount"], page["lineages"]) == (1, {third: steps[:2]})
    assert "lineages" not in await peer.call("session/list")
    await peer.call("session/append", sessionId=first, entries=[user("Once more")])
    page = await peer.call("session/list", foldLineages=True)
    assert [session["sessionId"] for session in page["sessions"]] == [first], "the last one that was written"
    assert page["lineages"][first] == steps[1:]
    await peer.call("session/delete", sessionId=first)
    assert [session["sessionId"] for session in await listed(peer, foldLineages=True)] == [third]


async def test_a_copy_has_the_version_of_the_agent_that_writes_here(memory: Running, tmp_path: Path) -> None:
    path = claude_file(tmp_path)
    peer, session = await imported(memory, path)
    theirs = tmp_path / "home/.claude/projects/-other/5e55104d-0000-4000-8000-000000000009.jsonl"
    theirs.parent.mkdir(parents=True)
    lines = [
        json.loads(line) | {"version": "77.1.0"} for line in path.read_text(encoding="utf-8").splitlines()
    ]
    theirs.write_bytes(jsonl(*lines))
    await peer.call("session/import", path=str(theirs))
    found = await resumed(peer, session, tmp_path, agent="claude-code", leafId="a-1")
    assert '"version":"77.1.0"' in Path(found["path"]).read_text(encoding="utf-8")
