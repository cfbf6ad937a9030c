"""A line of any size of an agent is kept whole: in its session, and in exports. Reading it takes little memory."""

import hashlib
import json  # noqa: TID251 - exports are read as other programs read them
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sessiond.session.content.blobs import FIELD, NOTICE
from support.columns import entries_of
from support.daemons import running
from support.following import info, until
from support.sized_sessions import WRITERS, claude_code, codex, copilot, gemini_document

YEAR_2001 = 1_000_000_000
ABOVE_AN_ENTRY = 60_000_000
"""More than an entry may have that a client sends."""
IN_LITTLE_MEMORY = """
import resource, sys
from sessiond.agents.companions import Companions
from sessiond.hub.transfer import foreign_files
from sessiond.hub.transfer.spool import Spool
resource.setrlimit(resource.RLIMIT_DATA, (100_000_000, 100_000_000))
found = foreign_files.read(sys.argv[1], None, Companions(), Spool(sys.argv[2]))
assert found.imported.report.problems == []
"""
LARGE = pytest.param(200_000_000, marks=pytest.mark.slow)


def long_text(size: int) -> str:
    return 'heron "é"\n' * (size // 10)


def write(home: Path, kind: str, texts: list[str]) -> Path:
    """Write a session, and return its file."""
    WRITERS[kind][1](home, texts)
    [path] = [path for path in home.rglob("*.json*") if path.is_file()]
    os.utime(path, (YEAR_2001, YEAR_2001 + len(texts)))
    return path


@pytest.mark.parametrize("size", [20_000_000, pytest.param(ABOVE_AN_ENTRY, marks=pytest.mark.slow), LARGE])
@pytest.mark.parametrize("kind", ["claude-code", "codex", "pi"])
async def test_a_long_line_that_an_agent_adds_is_kept_whole(
    kind: str, size: int, agents_home: Path, tmp_path: Path
) -> None:
    text = long_text(size)
    write(agents_home, kind, ["hello", "hi"])
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=[WRITERS[kind][0]], workDoneToken="first")
        [session_id] = [session["sessionId"] for session in (await peer.call("session/list"))["sessions"]]
        write(agents_home, kind, ["hello", "hi", text])
        await peer.call("agent/wake", agent=WRITERS[kind][0])

        async def is_there() -> bool:
            return bool((await info(peer, session_id))["messageCount"] == 3)

        await until(is_there)
        last = entries_of(await peer.call("session/entries", sessionId=session_id, limit=1_000))
        [entry] = [item for item in last if FIELD in item]
        [shown] = [block["text"] for block in entry["message"]["content"]]
        assert shown == text[: len(shown) - len(NOTICE)] + NOTICE
        digest = hashlib.sha256(text.encode()).hexdigest()
        assert entry[FIELD] == {"/message/content/0/text": f"blob:sha256:{digest}"}
        target = tmp_path / "export.jsonl"
        await peer.call("session/export", sessionId=session_id, format="jsonl", path=str(target))
        assert text in texts_in(target)
    assert [path.name for path in (tmp_path / "home/data/blobs").iterdir()] == [digest]


def texts_in(export: Path) -> list[str]:
    """Return the texts of the messages of an exported session."""
    with export.open(encoding="utf-8") as file:
        messages = [entry["message"] for entry in map(json.loads, file) if entry["type"] == "message"]
    return [part["text"] for message in messages for part in message["content"]]


@pytest.mark.parametrize("write_session", [claude_code, codex, copilot, gemini_document])
@pytest.mark.parametrize("size", [ABOVE_AN_ENTRY, LARGE])
def test_reading_a_long_text_takes_little_memory(
    size: int, write_session: Callable[[Path, list[str]], None], tmp_path: Path
) -> None:
    write_session(tmp_path, ["hello", long_text(size), "bye"])
    [path] = [path for path in tmp_path.rglob("*.json*") if path.is_file()]
    command = [sys.executable, "-c", IN_LITTLE_MEMORY, str(path), str(tmp_path / "blobs")]
    assert subprocess.run(command, check=False).returncode == 0
    [blob] = (tmp_path / "blobs").iterdir()
    assert blob.stat().st_size == len(long_text(size).encode())
