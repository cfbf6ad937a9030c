"""Commands that show a session tell which messages they leave out: those on other branches, and those not found."""

import json  # noqa: TID251 - an entry as a program sends it
from pathlib import Path

import pytest

from support.columns import entries_of
from support.commands import Shell
from support.dialect_files import SESSION, meta, said
from support.dialects import jsonl


@pytest.fixture
def branched(shell: Shell) -> str:
    """A session of six messages, of which two are on a branch that was left."""
    session = shell("new").lines[0]
    for text in ("one", "two"):
        shell("append", session, "--user", text, "--assistant", f"answer {text}")
    entries = entries_of(shell("rpc", "session/path", f'{{"sessionId": "{session}"}}').json)
    shell("branch", session, entries[1]["id"])
    shell("append", session, "--user", "three", "--assistant", "answer three")
    return session


LINE = "2 of 6 messages are on other branches"


def test_a_context_tells_of_messages_on_other_branches(shell: Shell, branched: str) -> None:
    assert LINE in shell("context", branched).err.splitlines()
    found = shell("context", branched, "--json").json
    assert (found["messageCount"], found["offPathCount"], len(found["messages"])) == (6, 2, 4)


def test_a_resume_tells_of_messages_on_other_branches(shell: Shell, branched: str, tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    assert LINE in shell("resume", branched, "--in", "codex", "--print", **environ).err.splitlines()
    found = shell("resume", branched, "--in", "codex", "--json", **environ).json
    assert (found["messageCount"], found["offPathCount"]) == (6, 2)


@pytest.mark.parametrize("format", ["markdown", "claude-code", "pi"])
def test_an_export_of_a_path_tells_of_messages_on_other_branches(
    shell: Shell, branched: str, format: str
) -> None:
    assert LINE in shell("export", branched, "--format", format).err.splitlines()


@pytest.mark.parametrize("format", ["html", "jsonl", "operator", "go"])
def test_an_export_of_all_branches_leaves_none_out(shell: Shell, branched: str, format: str) -> None:
    assert "branch" not in shell("export", branched, "--format", format).err
    path = entries_of(shell("rpc", "session/path", f'{{"sessionId": "{branched}"}}').json)
    found = shell("export", branched, "--format", format, "--leaf", path[-3]["id"]).err.splitlines()
    assert "4 of 6 messages are on other branches" in found


def test_a_session_without_branches_is_quiet_and_a_compaction_leaves_nothing_out(shell: Shell) -> None:
    session = shell("new").lines[0]
    for number in range(3):
        shell("append", session, "--user", f"question {number}", "--assistant", f"answer {number}")
    compaction = {"type": "compaction", "summary": "Numbers.", "firstKeptEntryId": None, "tokensBefore": 9}
    shell("append", session, "--json-entry", json.dumps(compaction), "--user", "And now?")
    assert "branch" not in shell("context", session).err
    found = shell("context", session, "--json").json
    assert (found["messageCount"], found["offPathCount"], len(found["messages"])) == (7, 0, 2)


@pytest.mark.parametrize("command", ["context", "tree", "show"])
def test_a_fork_whose_source_was_not_found_is_told_to_lack_its_history(
    fresh: Shell, command: str, tmp_path: Path
) -> None:
    fork = "22222222-3333-4444-8555-666666666666"
    base = {"thread_id": SESSION, "end_ordinal_exclusive": 1_200, "end_byte_offset": 0}
    file = tmp_path / f"rollout-2026-01-01T00-00-00-{fork}.jsonl"
    file.write_bytes(jsonl(meta(id=fork, forked_from_id=SESSION, history_base=base), said("user", "two")))
    fresh("import", str(file))
    line = f"the history before the fork is missing: the first 1,200 lines of {SESSION}, whose file was not found"
    assert line in fresh(command, fork).err.splitlines()
