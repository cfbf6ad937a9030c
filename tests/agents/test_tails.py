"""Lines added to a large file give the entries that the whole file gives."""

from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.following import tails
from sessiond.hub.following.tails import STATES, Tail
from sessiond.session.dialects import known
from sessiond.session.dialects.import_builder import Imported
from sessiond.session.dialects.source import Source
from support import dialect_files
from support.dialect_files import FILES, answer, call, codex, item, meta, said
from support.dialects import WRITTEN_AT, jsonl

Places = dict[str, str | None]


def claude_session(turns: int) -> list[Any]:
    """A conversation of Claude Code with a tool call and a title in each turn."""
    lines: list[Any] = []
    last: str | None = None
    for turn in range(turns):
        for number, (type, content) in enumerate((
            ("user", f"question {turn}"),
            ("assistant", [{"type": "text", "text": "I look"}, call(turn)]),
            ("user", [answer(turn)]),
            ("assistant", f"answer {turn}"),
        )):  # fmt: skip
            uuid = f"line-of-{turn}-{number}"
            lines.append(dialect_files.claude(type, uuid, last, content))
            last = uuid
        lines.append({"type": "last-prompt", "lastPrompt": str(turn), "sessionId": dialect_files.SESSION})
        title = {"type": "ai-title", "aiTitle": f"title {turn}"}
        if turn == 1:
            title = {"type": "custom-title", "customTitle": "chosen by a person"}
        lines.append({**title, "sessionId": dialect_files.SESSION})
    return lines


def codex_session(turns: int) -> list[Any]:
    """A conversation of Codex with a tool call in each turn, and another model at the end."""
    lines: list[Any] = [
        meta(),
        codex("turn_context", {"model": "gpt-test", "effort": "high", "cwd": "/work"}),
    ]
    for turn in range(turns):
        lines += [
            said("user", f"question {turn}"),
            item("function_call", name="shell", call_id=f"c{turn}", arguments="{}"),
            item("function_call_output", call_id=f"c{turn}", output="done"),
            said("assistant", f"answer {turn}"),
        ]
    lines.append(codex("turn_context", {"model": "gpt-other", "effort": "high", "cwd": "/work"}))
    return [*lines, said("user", "one more"), said("assistant", "the last answer")]


SESSIONS = {
    "claude-code": claude_session(30),
    "codex": codex_session(30),
    "small claude-code": FILES["claude-code"],
    "small codex": FILES["codex"],
    "small pi": FILES["pi"],
}


def dialect_of(name: str) -> str:
    return name.rpartition(" ")[2]


def whole(path: Path, dialect: str) -> Imported:
    source = Source(path.name, path.read_bytes(), WRITTEN_AT, True, {"sourcePath": str(path)})
    return known.DIALECTS[dialect].read(source)


def places(imported: Imported) -> Places:
    return {it.id: it.parent_id for it in imported.entries}


@pytest.mark.parametrize("window", [1_500, 4_000, 10_000])
@pytest.mark.parametrize("name", SESSIONS)
def test_a_file_that_grows_line_by_line_gives_what_the_whole_file_gives(
    name: str, window: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tails, "WINDOW_BYTES", window)
    dialect, lines, path = dialect_of(name), SESSIONS[name], tmp_path / "session.jsonl"
    path.write_bytes(jsonl(*lines[:2]))
    stored = {it.id: it for it in whole(path, dialect).entries}
    tail: Tail | None = None
    read_whole = 0
    for line in lines[2:]:
        if tail is None:
            tail = Tail(str(path), dialect, {"sourcePath": str(path)})
            tail.read_to(path.stat().st_size)
        with path.open("ab") as file:
            file.write(jsonl(line))
        added = tail.read_added()
        new = [] if added is None else [it for it in added.entries if it.id not in stored]
        if added is None or not tails.fits(new, added.imported.leaf, stored.__contains__):
            new = [it for it in whole(path, dialect).entries if it.id not in stored]
            tail, read_whole = None, read_whole + 1
        stored |= {it.id: it for it in new}
    expected = whole(path, dialect)
    beside = {it.id for it in expected.entries[expected.conversation_count + 1 :]}
    conversation = {it.id: it.line for it in expected.entries if it.id not in beside}
    assert {name: it.line for name, it in stored.items() if name in conversation} == conversation
    assert set(stored) - beside == set(conversation)
    assert beside <= set(stored)
    if window == 10_000 and not name.startswith("small"):
        assert read_whole == 0


def test_a_file_that_is_not_only_longer_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    lines = claude_session(3)

    def tail() -> Tail:
        path.write_bytes(jsonl(*lines))
        made = Tail(str(path), "claude-code", {})
        made.read_to(path.stat().st_size)
        return made

    truncated = tail()
    path.write_bytes(jsonl(*lines[:-1]))
    assert truncated.read_added() is None
    changed = tail()
    path.write_bytes(jsonl(*lines).replace(b"answer 2", b"ANSWER 2") + jsonl(lines[0]))
    assert changed.read_added() is None
    replaced = tail()
    other = tmp_path / "other"
    other.write_bytes(jsonl(*lines, lines[0]))
    other.replace(path)
    assert replaced.read_added() is None


def test_half_a_line_is_left_for_later(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    lines = claude_session(2)
    path.write_bytes(jsonl(*lines[:-3]))
    tail = Tail(str(path), "claude-code", {})
    tail.read_to(path.stat().st_size)
    data = jsonl(lines[-3])
    with path.open("ab") as file:
        file.write(data[:20])
        file.flush()
        nothing = tail.read_added()
        assert nothing is not None
        assert nothing.entries == []
        file.write(data[20:])
        file.flush()
        something = tail.read_added()
        assert something is not None
        assert [it.id for it in something.entries] == ["line-of-1-3"]


def test_every_dialect_with_tails_has_a_reader() -> None:
    assert set(STATES) <= set(known.DIALECTS)
