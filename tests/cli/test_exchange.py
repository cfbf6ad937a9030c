"""The commands about sessions of other programs, as a user types them."""

import os
from pathlib import Path

from support.commands import Shell
from support.dialects import jsonl

CLAUDE = jsonl(
    {
        "type": "user", "uuid": "u-1", "parentUuid": None, "sessionId": "11111111-2222-4333-8444-555555555555",
        "cwd": "/work", "timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": "user", "content": "Hello"},
    },
    {
        "type": "assistant", "uuid": "a-1", "parentUuid": "u-1", "sessionId": "11111111-2222-4333-8444-555555555555",
        "cwd": "/work", "timestamp": "2026-01-01T00:00:01.000Z",
        "message": {"role": "assistant", "model": "m", "content": [{"type": "text", "text": "There"}]},
    },
    {"type": "mystery", "sessionId": "11111111-2222-4333-8444-555555555555"},
)  # fmt: skip


def source(tmp_path: Path, data: bytes = CLAUDE) -> str:
    path = tmp_path / "claude.jsonl"
    path.write_bytes(data)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return str(path)


def test_a_file_is_imported_once_and_its_session_can_be_read(fresh: Shell, tmp_path: Path) -> None:
    ran = fresh("import", source(tmp_path))
    [session] = ran.lines
    assert session == "11111111-2222-4333-8444-555555555555"
    assert "1 created" in ran.err
    assert "preserved lines: 1 mystery" in ran.err
    assert "Hello" in fresh("context", session).out
    again = fresh("import", source(tmp_path))
    assert again.lines == []
    assert "1 unchanged" in again.err


def test_a_file_that_cannot_be_imported_is_named_and_fails(shell: Shell, tmp_path: Path) -> None:
    ran = shell.run("import", source(tmp_path, b"no session\n"))
    assert (ran.code, ran.lines) == (1, [])
    assert "skipped" in ran.err
    missing = shell.run("import", str(tmp_path / "none.jsonl"))
    assert missing.code == 1
    assert "there is no such file or folder" in missing.err
    assert "Errno" not in missing.err


def test_an_import_of_a_folder_names_the_sessions_that_are_drafts(fresh: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    unanswered = CLAUDE.replace(b"11111111", b"22222222").split(b"\n")[0] + b"\n"
    for name, data in (("answered.jsonl", CLAUDE), ("unanswered.jsonl", unanswered)):
        source(folder, data)
        (folder / "claude.jsonl").rename(folder / name)
    ran = fresh("import", str(folder))
    assert len(ran.lines) == 2
    [draft] = [line for line in ran.err.splitlines() if line.startswith("draft ")]
    assert "22222222-2222-4333-8444-555555555555" in draft
    assert str(folder / "unanswered.jsonl") in draft
    assert "draft" not in fresh("import", str(folder)).err  # nothing has changed since


def test_an_import_of_more_files_than_one_request_reads_imports_all(fresh: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(1_000):
        (folder / f"a-{number}.jsonl").write_bytes(b"no session")
    Path(source(folder)).rename(folder / "b.jsonl")
    ran = fresh("import", str(folder))
    assert ran.lines == ["11111111-2222-4333-8444-555555555555"]
    assert "1 created, 1000 skipped" in ran.err
    result = fresh("import", str(folder), "--json").json
    assert (len(result["sessions"]), len(result["skipped"]), result["nextCursor"]) == (1, 1_000, None)


def test_json_is_the_report_as_the_daemon_sent_it(fresh: Shell, tmp_path: Path) -> None:
    result = fresh("import", source(tmp_path), "--json").json
    assert result["sessions"][0]["status"] == "created"


def told(shell: Shell) -> str:
    session = shell("new", "--title", "Flaky").lines[0]
    shell("append", session, "--user", "Why?", "--assistant", "A race", "--model", "acme/one")
    return session


def test_a_session_is_exported_as_a_transcript(shell: Shell) -> None:
    assert shell("export", told(shell)).out.startswith("# Flaky\n")


def test_an_exported_session_can_be_imported_again(shell: Shell, tmp_path: Path) -> None:
    session, target = told(shell), str(tmp_path / "out.jsonl")
    shell("export", session, "--format", "go", "-o", target)
    assert shell.run("export", session, "--format", "go", "-o", target).code == 1
    assert (
        "not representable in this format"
        in shell("export", session, "--format", "go", "-o", target, "--force").err
    )
    [back] = shell("import", target).lines
    assert back != session
    assert "A race" in shell("context", back).out


def test_json_of_an_export_is_the_result(shell: Shell) -> None:
    assert shell("export", told(shell), "--format", "nova", "--json").json["format"] == "nova"


def test_a_key_stays_in_only_when_that_is_asked_for(shell: Shell) -> None:
    session, key = told(shell), "sk-ant-api03-" + "a1B2" * 10
    shell("append", session, "--user", f"Use {key}")
    ran = shell("export", session)
    assert key not in ran.out
    assert "redacted: 1 Anthropic API Key" in ran.err
    assert key in shell("export", session, "--no-redact").out


def test_an_imported_session_shows_the_agent_that_it_comes_from(fresh: Shell, tmp_path: Path) -> None:
    path = source(tmp_path)
    [session] = fresh("import", path).lines
    [line] = fresh("list", "--all").lines
    assert "  claude  " in line
    shown = fresh("show", session).out
    assert "Claude Code" in shown
    assert path in shown
    assert fresh("list", "--all", "--agent", "claude").lines == [line]
    assert fresh("list", "--all", "--agent", "Claude Code").lines == [line]
    assert fresh("list", "--all", "--agent", "codex").lines == []
    assert "claude" in fresh("search", "Hello", "--all", "--agent", "claude-code", "--wait").out
    assert fresh("search", "Hello", "--all", "--agent", "codex", "--wait").lines == []
