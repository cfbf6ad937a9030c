"""Cline and Cursor are followed, with what they write about a session in other files."""

import hashlib
import json  # noqa: TID251 - files of other programs are written as they write them
import os
from pathlib import Path
from typing import Any

from support.daemons import Peer, refusal, running
from support.dialect_files import CLINE, CLINE_TASK, CURSOR
from support.dialects import jsonl
from support.following import has, info, texts, until

SESSION: str = CLINE["sessionId"]
TASK = "1772352000000"
CHAT = "6b1f0c1e-0000-4000-8000-000000000001"


def written(path: Path, value: Any) -> Path:
    """Write a file as Cline does: as a whole, beside the old one, which it then replaces."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.tmp")
    new.write_text(json.dumps(value, indent=2), encoding="utf-8")
    return new.rename(path)


async def following(peer: Peer, agent: str) -> None:
    await peer.call("agent/follow", agents=[agent], workDoneToken="first")


async def test_a_session_of_cline_is_followed_although_its_file_is_written_anew(
    agents_home: Path, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    folder = agents_home / ".cline/data/sessions" / SESSION
    manifest = {
        "version": 1,
        "session_id": SESSION,
        "cwd": str(tmp_path / "work"),
        "metadata": {"title": "Birds"},
    }
    written(folder / f"{SESSION}.json", manifest)
    path = written(folder / f"{SESSION}.messages.json", {**CLINE, "messages": CLINE["messages"][:2]})
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await following(peer, "cline")
        assert (await texts(peer, SESSION))[-1] == "I look into the file."
        written(path, CLINE)
        await has(peer, "None.", SESSION)
        assert (await texts(peer, SESSION)).count("Which birds are in notes.txt?") == 1
        found = await info(peer, SESSION)
        assert (found["cwd"], found["title"]) == (str(tmp_path / "work"), "Birds")
        assert (found["origin"]["agent"], found["origin"]["path"]) == ("cline", str(path))
        command = await peer.call("session/resume", sessionId=SESSION, env={"HOME": str(agents_home)})
        assert command["argv"] == ["cline", "--id", SESSION]


async def test_a_file_of_cline_that_is_cut_is_named_and_takes_nothing_back(
    agents_home: Path, tmp_path: Path
) -> None:
    path = written(agents_home / f".cline/data/sessions/{SESSION}/{SESSION}.messages.json", CLINE)
    whole = path.read_bytes()
    os.utime(path, (1_000_000_000, 1_000_000_000))
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await following(peer, "cline")
        said, leaf = await texts(peer, SESSION), (await info(peer, SESSION))["leafId"]
        path.write_bytes(whole[: whole.index(b"Three herons.")])
        os.utime(path, (1_000_000_001, 1_000_000_001))

        async def problems() -> list[dict[str, Any]]:
            [found] = [
                agent for agent in (await peer.call("agent/list"))["agents"] if agent["name"] == "cline"
            ]
            return list(found["problems"])

        [problem] = await until(problems)
        assert (problem["path"], "of a damaged document" in problem["message"]) == (str(path), True)
        assert (await texts(peer, SESSION), (await info(peer, SESSION))["leafId"]) == (said, leaf)
        whole_again = json.loads(whole)
        whole_again["messages"].append({"id": "msg_7", "role": "assistant", "content": "Now there is one."})
        written(path, whole_again)
        await has(peer, "Now there is one.", SESSION)
        assert await texts(peer, SESSION) == [*said, "Now there is one."]


async def test_a_task_of_the_extension_of_cline_has_the_folder_that_its_list_of_tasks_names(
    agents_home: Path, tmp_path: Path
) -> None:
    storage = agents_home / ".config/Code/User/globalStorage/saoudrizwan.claude-dev"
    written(
        storage / "state/taskHistory.json",
        [{"id": TASK, "task": "x", "cwdOnTaskInitialization": "/srv/birds"}],
    )
    written(storage / "tasks" / TASK / "api_conversation_history.json", CLINE_TASK)
    written(storage / "tasks" / TASK / "ui_messages.json", [{"ts": 1, "type": "say", "text": "x"}])
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await following(peer, "cline")
        [found] = (await peer.call("session/list"))["sessions"]
        assert (found["cwd"], found["origin"]["sessionId"]) == ("/srv/birds", TASK)
        assert (await texts(peer, found["sessionId"]))[-1] == "None."


async def test_a_transcript_of_cursor_is_followed_and_its_folder_is_found(
    agents_home: Path, tmp_path: Path
) -> None:
    cursor, work = agents_home / ".cursor", tmp_path / "work"
    work.mkdir()
    transcript = cursor / "projects/work/agent-transcripts" / CHAT / f"{CHAT}.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_bytes(jsonl(*CURSOR[:2]))
    trusted = {"trustedAt": "2026-03-01T08:00:00.000Z", "workspacePath": str(work)}
    written(cursor / "projects/work/.workspace-trusted", trusted)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await following(peer, "cursor")
        with transcript.open("ab") as file:
            file.write(jsonl(*CURSOR[2:]))
        await has(peer, "None.", CHAT)
        found = await info(peer, CHAT)
        assert (found["cwd"], found["origin"]["agent"]) == (str(work), "cursor")
        resume = {"sessionId": CHAT, "env": {"HOME": str(agents_home)}}
        assert (
            "no session can be written for Cursor"
            in (await refusal(peer.call("session/resume", **resume))).message
        )
        workspace = hashlib.md5(str(work.resolve()).encode(), usedforsecurity=False).hexdigest()
        written(cursor / "chats" / workspace / CHAT / "meta.json", {"cwd": str(work), "title": "Birds"})
        assert (await peer.call("session/resume", **resume))["argv"] == ["cursor-agent", f"--resume={CHAT}"]
        with transcript.open("ab") as file:  # its title comes with what is written next
            file.write(jsonl({"role": "user", "message": {"content": "And the owls?"}}))
        await has(peer, "And the owls?", CHAT)
        assert (await info(peer, CHAT))["title"] == "Birds"
