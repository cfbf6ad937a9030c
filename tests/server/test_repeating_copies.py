"""The command that wrote a line belongs to the session where it was carried out: no copy of the line names it."""

import asyncio
import json  # noqa: TID251 - files are changed as other programs change them
from pathlib import Path
from typing import Any, get_args

import pytest

from sessiond.protocol import enums
from support.daemons import Peer, Running, assistant, user
from support.shared import lines_of
from support.summarizers import SMALL, summarizing

FIELD = "sessiondCommand"
COMMANDS: list[tuple[str, dict[str, Any]]] = [
    ("session/rename", {"title": "Plans"}),
    ("session/tag", {"add": ["bug"]}),
    ("session/label", {"entryId": "u1", "label": "start"}),
    ("state/update", {"plan": "Go on.", "turns": 1}),
    ("session/branch", {"entryId": "a1", "summary": "Left."}),
    ("session/compact", {"summary": "So far.", "settings": SMALL}),
]


async def a_session(daemon: Running, cwd: str) -> tuple[Peer, str, Path]:
    """A session with a line, or more, of each command and a header that names one; and its file."""
    peer = await daemon.attach()
    made = await peer.call("session/create", cwd=cwd, commandId=f"made in {cwd}")
    session_id = made["session"]["sessionId"]
    await peer.append(session_id, user("?" * 400, id="u1"), assistant("!" * 400, id="a1"))
    for number in range(2):
        await peer.append(session_id, user(f"{number}" * 400), assistant("!" * 400))
    for method, params in COMMANDS:
        await peer.call(method, sessionId=session_id, **params, commandId=f"{method} of-mine")
        if method == "session/branch":
            await peer.append(
                session_id, *(item for _ in range(2) for item in (user("?" * 400), assistant("!" * 400)))
            )
    path = Path((await peer.call("session/info", sessionId=session_id))["session"]["path"])
    assert {line[FIELD]["method"] for line in lines_of(path) if FIELD in line} == {
        "session/create", *(method for method, _ in COMMANDS)
    }  # fmt: skip
    return peer, session_id, path


def without_field(line: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name != FIELD}


@pytest.mark.parametrize("params", [{}, {"whole": True}], ids=["path", "whole"])
async def test_the_lines_of_a_fork_are_those_of_its_source_but_for_the_command(
    daemon: Running, cwd: str, params: dict[str, Any]
) -> None:
    peer, session_id, path = await a_session(daemon, cwd)
    fork = (await peer.call("session/fork", sessionId=session_id, **params))["session"]
    known = {line["id"]: without_field(line) for line in lines_of(path)}
    copied = [line for line in lines_of(fork["path"])[1:] if line["id"] in known]
    assert FIELD.encode() not in Path(fork["path"]).read_bytes()
    assert len(copied) > len(COMMANDS)
    assert [entry for entry in copied if entry["type"] != "leaf"] == [
        known[entry["id"]] | {"parentId": entry["parentId"]} for entry in copied if entry["type"] != "leaf"
    ]


async def test_a_fork_that_is_a_command_itself_names_only_that_in_its_header(
    memory: Running, cwd: str
) -> None:
    peer, session_id, _ = await a_session(memory, cwd)
    fork = (await peer.call("session/fork", sessionId=session_id, whole=True, commandId="forked"))["session"]
    named = [line[FIELD]["id"] for line in lines_of(fork["path"]) if FIELD in line]
    assert named == ["forked"]


async def test_a_message_with_the_name_of_the_field_is_kept_in_a_fork(memory: Running, cwd: str) -> None:
    peer, session_id, _ = await a_session(memory, cwd)
    said = f'{{"{FIELD}": "is a field"}}'
    await peer.append(session_id, user(said, id="said"))
    fork = (await peer.call("session/fork", sessionId=session_id))["session"]
    [line] = [line for line in lines_of(fork["path"]) if line.get("id") == "said"]
    assert line["message"]["content"] == user(said)["message"]["content"]


@pytest.mark.parametrize("format", get_args(enums.ExportFormat))
@pytest.mark.parametrize("is_path", [False, True], ids=["whole", "path"])
async def test_no_export_names_the_commands_of_a_session(
    memory: Running, cwd: str, format: str, is_path: bool
) -> None:
    peer, session_id, path = await a_session(memory, cwd)
    at = {"leafId": lines_of(path)[-1]["id"]} if is_path else {}
    told = await peer.call("session/export", sessionId=session_id, format=format, **at, redact=False)
    assert FIELD not in told["text"]
    assert "of-mine" not in told["text"]


async def test_an_import_of_a_file_of_ours_has_its_lines_without_the_commands(
    memory: Running, cwd: str, tmp_path: Path
) -> None:
    peer, _, path = await a_session(memory, cwd)
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(path.read_bytes())
    [told] = (await peer.call("session/import", path=str(copy)))["sessions"]
    imported = Path((await peer.call("session/info", sessionId=told["sessionId"]))["session"]["path"])
    assert (told["status"], told["problems"], told["preservedLines"]) == ("created", [], {})
    assert FIELD.encode() not in imported.read_bytes()
    known = {line["id"]: without_field(line) for line in lines_of(path)[1:]}
    there = [line for line in lines_of(imported)[1:] if line["id"] in known]
    assert there == list(known.values())
    [again] = (await peer.call("session/import", path=str(copy)))["sessions"]
    assert (again["status"], again["sessionId"]) == ("unchanged", told["sessionId"])


@pytest.mark.parametrize("method", ["fork", "whole fork", "copy by another program"])
async def test_a_copy_does_not_answer_for_the_commands_of_its_source(
    memory: Running, cwd: str, tmp_path: Path, method: str
) -> None:
    peer, session_id, path = await a_session(memory, cwd)
    copy = await copy_of(peer, session_id, path, tmp_path, method)
    for verb, params in COMMANDS[:4]:
        made = await peer.call(verb, sessionId=copy, **params, commandId=f"{verb} of-mine")
        assert not made["duplicate"]
        again = await peer.call(verb, sessionId=copy, **params, commandId=f"{verb} of-mine")
        assert again["duplicate"] is True


@pytest.mark.parametrize("method", ["fork", "whole fork", "copy by another program"])
async def test_a_copy_does_not_answer_for_a_command_that_joined_a_compaction_of_its_source(
    memory: Running, cwd: str, tmp_path: Path, method: str
) -> None:
    peer = await memory.attach()
    session_id = (await peer.call("session/create", cwd=cwd))["session"]["sessionId"]
    for _ in range(3):
        await peer.append(session_id, user("?" * 400), assistant("!" * 400))
    path = Path((await peer.call("session/info", sessionId=session_id))["session"]["path"])
    writer = await summarizing(memory)
    await writer.peer.call("session/open", sessionId=session_id)
    params = {"settings": SMALL}
    calls = [
        asyncio.create_task(peer.call("session/compact", sessionId=session_id, **params, commandId=name))
        for name in ("first", "joined")
    ]
    await writer.asked()
    writer.answer("So far.")
    await asyncio.gather(*calls)
    copy = await copy_of(peer, session_id, path, tmp_path, method)
    # The summary covers what there is, so a request that is carried out has new entries to compact.
    for _ in range(3):
        await peer.append(copy, user("?" * 400), assistant("!" * 400))
    made = await peer.call(
        "session/compact", sessionId=copy, summary="More.", settings=SMALL, commandId="joined"
    )
    assert not made["duplicate"]


async def copy_of(peer: Peer, session_id: str, path: Path, folder: Path, method: str) -> str:
    """The id of a copy of a session."""
    if method != "copy by another program":
        whole = method == "whole fork"
        made = await peer.call("session/fork", sessionId=session_id, whole=whole)
        return str(made["session"]["sessionId"])
    header, rest = path.read_bytes().split(b"\n", 1)
    other = json.dumps({**json.loads(header), "id": "copied-by-another"}).encode()
    (folder / "copied.jsonl").write_bytes(other + b"\n" + rest)
    await peer.call("session/open", path=str(folder / "copied.jsonl"))
    return "copied-by-another"
