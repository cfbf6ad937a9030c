"""The command resume, with programs that stand for the agents."""

import json  # noqa: TID251 - what a program left behind
from pathlib import Path

from support.commands import Shell

PROGRAM = """#!/bin/sh
printf '%s\\n' "$0 $*" "$PWD" "$CODEX_HOME" >> "$RAN"
exit ${FAILS:-0}
"""


def agents(tmp_path: Path, *names: str) -> dict[str, str]:
    """The environment in which these agents are installed."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in names:
        (programs / name).write_text(PROGRAM, encoding="utf-8")
        (programs / name).chmod(0o700)
    return {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(tmp_path / "home"), "RAN": str(tmp_path / "ran")}


def told(shell: Shell) -> str:
    session = shell("new").lines[0]
    shell("append", session, "--user", "Why?")
    shell("append", session, "--assistant", "A race.")
    return session


def ran(tmp_path: Path) -> list[str]:
    path = tmp_path / "ran"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def test_a_session_goes_on_in_another_agent_in_its_folder(shell: Shell, tmp_path: Path) -> None:
    session, environ = told(shell), agents(tmp_path, "codex")
    moved = {**environ, "CODEX_HOME": str(tmp_path / "moved")}
    shell("resume", session, "--in", "codex", **moved)
    [command, folder, codex_home] = ran(tmp_path)
    [path] = (tmp_path / "moved/sessions").rglob("*.jsonl")
    assert command.split()[1] == "resume"
    assert path.stem.endswith(command.split()[2])
    assert (folder, codex_home) == (str(tmp_path), str(tmp_path / "moved"))


def test_print_writes_the_session_and_starts_nothing(shell: Shell, tmp_path: Path) -> None:
    session, environ = told(shell), agents(tmp_path, "claude")
    found = shell("resume", session, "--in", "claude", "--print", **environ)
    assert ran(tmp_path) == []
    [path] = (tmp_path / "home/.claude/projects").rglob("*.jsonl")
    assert found.lines == [f"cd {tmp_path} && claude --resume {path.stem}"]


def test_print_lists_what_the_format_cannot_hold(shell: Shell, tmp_path: Path) -> None:
    session, environ = told(shell), agents(tmp_path)
    shell("rename", session, "Flaky")
    found = shell("resume", session, "--in", "codex", "--print", **environ)
    assert "not representable in Codex: 1 title" in found.err


def test_json_has_the_command_its_folder_and_its_variables(shell: Shell, tmp_path: Path) -> None:
    session, environ = told(shell), agents(tmp_path, "gemini")
    found = shell("resume", session, "--in", "gemini", "--json", **environ).json
    assert found["argv"] == ["gemini", "--resume", found["nativeSessionId"]]
    assert found["env"] == {"PWD": str(tmp_path)}
    assert (
        json.loads(Path(found["path"]).read_text(encoding="utf-8").splitlines()[0])["sessionId"]
        == found["nativeSessionId"]
    )


def test_opencode_imports_the_session_before_the_command_is_printed(fresh: Shell, tmp_path: Path) -> None:
    session, environ = told(fresh), agents(tmp_path, "opencode")
    found = fresh("resume", session, "--in", "opencode", "--print", **environ)
    [command, folder, _] = ran(tmp_path)
    assert command.split()[1] == "import"
    assert "A race." in Path(command.split()[2]).read_text(encoding="utf-8")
    assert folder == str(tmp_path)
    assert found.lines[0].startswith(f"cd {tmp_path} && opencode --session ses_")
    assert "for-agents" not in fresh.run("doctor").out


def test_an_import_that_fails_is_an_error(shell: Shell, tmp_path: Path) -> None:
    session, environ = told(shell), agents(tmp_path, "opencode")
    found = shell.run("resume", session, "--in", "opencode", **environ, FAILS="3")
    assert found.code == 1
    assert "failed with exit code 3" in found.err


def test_without_opencode_both_commands_are_printed(shell: Shell, tmp_path: Path) -> None:
    session, environ = told(shell), agents(tmp_path)
    found = shell("resume", session, "--in", "opencode", "--print", **environ)
    assert " && opencode import " in found.out
    assert " && opencode --session " in found.out


def test_a_missing_program_is_named(shell: Shell, tmp_path: Path) -> None:
    session, environ = told(shell), agents(tmp_path)
    for agent, program in (("qwen", "qwen"), ("opencode", "opencode"), ("oh-my-pi", "omp")):
        found = shell.run("resume", session, "--in", agent, **environ)
        assert found.code == 1
        assert f"program {program} of" in found.err


def test_the_path_to_an_entry_is_resumed(shell: Shell, tmp_path: Path) -> None:
    session, environ = told(shell), agents(tmp_path)
    shell("append", session, "--user", "Sure?")
    [_, answer, *_] = shell("tree", session, "--json").json["nodes"]
    shell("resume", session, "--in", "pi", "--at", answer["id"][:6], "--print", **environ)
    [path] = (tmp_path / "home/.pi/agent/sessions").rglob("*.jsonl")
    assert "A race." in (text := path.read_text(encoding="utf-8"))
    assert "Sure?" not in text


def test_an_agent_that_is_not_known_is_refused(shell: Shell) -> None:
    found = shell.run("resume", told(shell), "--in", "nobody")
    assert found.code == 2
    assert "claude-code" in found.err
