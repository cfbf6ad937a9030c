"""A session of OpenCode's database that is read message by message becomes the log that reading it whole gives."""

import json  # noqa: TID251 - rows are written as OpenCode writes them
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sessiond.agents.companions import Companions
from sessiond.hub.transfer import (
    file_parts,
    foreign_files,
    import_reading,
    json_texts,
    streaming,
    taken_texts,
)
from sessiond.hub.transfer.entry_files import EntryFiles
from sessiond.hub.transfer.foreign_files import NotImported
from sessiond.hub.transfer.import_reading import Target
from sessiond.hub.transfer.spool import Spool
from sessiond.session.dialects import imported_log
from support.daemons import running
from support.killed_readings import killed_after
from support.shared import lines_of
from support.writing_opencode import SESSION, TABLES

AT = 1_767_225_600_000

many = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)


def message(role: str, *parts: dict[str, Any] | str, **info: Any) -> dict[str, Any]:
    return {"info": {"role": role, "modelID": "m", "providerID": "mock", **info}, "parts": list(parts)}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def tool(number: int, output: str) -> dict[str, Any]:
    state = {"status": "completed", "input": {"command": "ls"}, "output": output, "time": {"start": AT}}
    return {"type": "tool", "callID": f"call_{number}", "tool": "bash", "state": state}


def rows(path: Path, messages: list[dict[str, Any]], *, at: int = AT, revert: int | None = None) -> str:
    """Write a session with these messages into a new database. Returns its source."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as db:
        db.executescript(TABLES)
        mark = None if revert is None else json.dumps({"messageID": f"msg_{revert:04}"})
        db.execute(
            "INSERT INTO session VALUES(?, NULL, 'x', '/work', 'Herons', '1.18.33', ?, ?, ?)",
            [SESSION, mark, at, at],
        )
        asked = None
        for number, each in enumerate(messages):
            name, now = f"msg_{number:04}", at + number * 1_000
            ended = {} if each["info"].get("isOpen") else {"completed": now + 1}
            info = {"time": {"created": now, **ended}, **each["info"]}
            if info["role"] == "user":
                asked = name
            else:
                info["parentID"] = asked
            db.execute(
                "INSERT INTO message VALUES(?, ?, ?, ?, ?)", [name, SESSION, now, now, json.dumps(info)]
            )
            for place, part in enumerate(each["parts"]):
                data = part if isinstance(part, str) else json.dumps(part)
                row = [f"prt_{number:04}{place:02}", name, SESSION, now, now, data]
                db.execute("INSERT INTO part VALUES(?, ?, ?, ?, ?, ?)", row)
        db.commit()
    return f"{path}#{SESSION}"


def conversation(turns: int, *, long: int = 20) -> list[dict[str, Any]]:
    found = []
    for number in range(turns):
        found.append(message("user", text(f"prompt {number}"), text("a file", synthetic=True)))
        found.append(
            message(
                "assistant",
                text(f"answer {number} " * long),
                tool(number, f"output {number} " * long),
                {"type": "snapshot", "snapshot": "s"},
                tokens={"input": number, "output": 2},
                cost=0.5,
            )
        )
    return found


def whole(source: str) -> Any:
    """The session of an import that reads it whole."""
    read = foreign_files.read(source, None, Companions(), Spool(str(Path(source).parent / "whole")))
    session_id = imported_log.candidates(read.imported, source)[0]
    new = import_reading.new_session(read, session_id, Target(None), lambda _digest: None)
    blobs = {digest: Path(name).read_bytes() for digest, name in read.files.items()} | new.blobs
    return new.lines, new.state, {name: blobs[name] for name in new.named}, msgspec.structs.asdict(new.info), [
        new.imported.leaf, new.imported.untouched_copy_of, new.imported.report, new.imported.conversation_count
    ]  # fmt: skip


def in_parts(source: str, spool: Spool | None = None) -> Any:
    """The same of an import that reads it message by message; None if it must be read whole."""
    spool = spool or Spool(str(Path(source).parent / "parts"))
    log = streaming.read(source, None, Companions(), spool, cwd=None, title_space=True)
    if log is None:
        return None
    lines, blobs = (
        Path(log.path).read_bytes(),
        {name: Path(log.files[name]).read_bytes() for name in log.named},
    )
    info, _ = import_reading.described(log.path)
    spool.clear()
    return lines, log.state, blobs, msgspec.structs.asdict(info), [
        log.imported.leaf, log.imported.untouched_copy_of, log.imported.report, log.imported.conversation_count
    ]  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".local/share/opencode/opencode.db"


@many
@given(
    turns=st.integers(1, 8),
    size=st.integers(1, 3_000),
    revert=st.none() | st.integers(0, 9),
    tail=st.sampled_from(["", "prompt", "answer", "summary", "torn", "other"]),
    is_now=st.booleans(),
)
def test_any_session(
    turns: int,
    size: int,
    revert: int | None,
    tail: str,
    is_now: bool,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(file_parts, "PART_BYTES", size)
    monkeypatch.setattr(foreign_files, "is_growing", lambda _status: is_now)
    messages = (
        conversation(turns)
        + {
            "": [],
            "prompt": [message("user", text("waits"))],
            "answer": [
                message("user", text("waits")),
                message("assistant", text("half"), isOpen=True),
            ],
            "summary": [
                message("user", {"type": "compaction", "tail_start_id": "msg_0000"}),
                message("assistant", text("what was said"), summary=True, tokens={"input": 9}),
            ],
            "torn": [message("user", "torn{")],  # a row that is no JSON
            "other": [message("narrator", text("once"))],
        }[tail]
    )
    source = rows(path, messages, revert=revert)
    assert in_parts(source) == whole(source)


def test_a_long_text_becomes_the_same_blob(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in (
        (json_texts, "STEP", 1_000), (json_texts, "CHUNK", 97), (taken_texts, "CHUNK", 97),
        (taken_texts, "LONG_TEXT", 4_000), (taken_texts, "LONG_HEAD", 200), (taken_texts, "SHORT_HEAD", 100),
        (taken_texts, "TAIL", 60),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)
    source = rows(path, [*conversation(2), message("user", text("heron " * 2_000)), *conversation(1)])
    found = in_parts(source)
    assert len(found[2]) == 1
    assert found == whole(source)


def test_messages_that_are_in_another_order_than_their_rows_have_the_session_read_whole(path: Path) -> None:
    messages = conversation(2)
    messages[0]["info"]["time"] = {"created": AT + 60_000}
    messages[1]["info"]["time"] = {"created": AT + 60_000, "completed": AT + 60_001}
    source = rows(path, messages)
    assert in_parts(source) is None
    assert whole(source)


def test_a_session_without_messages_is_refused_for_the_same_reason(path: Path) -> None:
    source = rows(path, [])
    reasons = []
    for read in (in_parts, whole):
        with pytest.raises(NotImported) as refusal:
            read(source)
        reasons.append((refusal.value.reason, refusal.value.state))
    assert reasons[0] == reasons[1]


def test_a_reading_that_was_killed_goes_on_where_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, spool = rows(path, conversation(12)), Spool(str(path.parent / "parts"))
    assert killed_after(source, spool, part_bytes=500, parts=4) == 9
    begun, begin = list[EntryFiles](), EntryFiles.begin

    def noted(entries: EntryFiles) -> None:
        begun.append(entries)
        begin(entries)

    monkeypatch.setattr(EntryFiles, "begin", noted)
    assert in_parts(source, spool) == whole(source)
    assert begun == []


@pytest.fixture
def every_source_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_reading, "LARGE_FILE", 0)


async def test_a_session_grows_with_its_database(
    path: Path, tmp_path: Path, every_source_is_large: None
) -> None:
    async with running(tmp_path / "home") as daemon:
        peer, outcomes = await daemon.attach(), []
        for turns in (3, 5, 5):
            source = rows(path, conversation(turns))
            [session] = (await peer.call("session/import", path=source))["sessions"]
            outcomes.append((session["status"], session["addedCount"]))
        info = (await peer.call("session/info", sessionId=session["sessionId"]))["session"]
        prompts = [
            line["message"]["content"][0]["text"]
            for line in lines_of(Path(info["path"]))
            if line["type"] == "message" and line["message"]["role"] == "user"
        ]
    assert [status for status, _ in outcomes] == ["created", "grown", "unchanged"]
    assert outcomes[1][1] == 8  # a prompt, the file in it, an answer and a result in each of two turns
    assert prompts == [f"prompt {number}" for number in range(5)]
    assert not list((tmp_path / "home").rglob(".text-*"))
