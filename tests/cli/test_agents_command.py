"""The command agents."""

from functools import partial
from pathlib import Path

import pytest

from support.commands import a_shell
from support.dialect_files import CURSOR
from support.dialects import jsonl
from support.writing_agents import WritingClaude


def test_agents_are_listed_followed_and_forgotten(tmp_path: Path) -> None:
    home = tmp_path / "ada"
    claude = WritingClaude(home)
    claude.asks("hello")
    claude.says("good day")
    with claude.path.open("a", encoding="utf-8") as file:
        file.write("torn{\n")
    with a_shell(tmp_path) as shell:
        agents = partial(shell, "agents", HOME=str(home), CLAUDE_CONFIG_DIR="")
        before = agents()
        assert before.lines[0].split()[:4] == ["claude-code", "not", "followed", "1"]
        assert "sessiond agents follow claude-code" in before.err
        assert agents("follow", "--all").lines == ["Followed: claude-code"]
        assert "good day" in shell("search", "good day", "--all", "--wait").out  # all files have been read
        listed = agents()
        assert listed.lines[0].split()[:2] == ["claude-code", "followed"]
        assert f"{claude.path}:3: the line is not JSON" in listed.err
        assert f"sed -n 3p {claude.path}" in listed.err
        assert "repeat it with --yes" in agents("forget", "claude-code").err
        assert agents("forget", "claude-code", "--yes").lines == ["1 session moved to the trash."]
        assert agents("unfollow", "--all").lines == ["Followed: no agent"]


def test_a_list_has_what_an_agent_wrote_just_now_or_says_that_it_is_not_read(tmp_path: Path) -> None:
    claude = WritingClaude(tmp_path / "ada")
    with a_shell(tmp_path) as shell:
        command = partial(shell, HOME=str(tmp_path / "ada"), CLAUDE_CONFIG_DIR="")
        assert command("agents", "follow", "claude-code").code == 0
        claude.asks("hello")
        claude.says("good day")
        listed = command("list", "--all")
        assert "hello" in listed.out or "of followed agents could not be read yet" in listed.err


def test_an_agent_that_was_not_run_is_said_to_be_known_from_documents(tmp_path: Path) -> None:
    transcript = tmp_path / "ada/.cursor/projects/work/agent-transcripts/0199.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_bytes(jsonl(*CURSOR))
    with a_shell(tmp_path) as shell:
        listed = shell("agents", HOME=str(tmp_path / "ada"), CURSOR_CONFIG_DIR="")
        assert "Cursor: it is read as public documents describe its format; it was not run" in listed.err


def test_the_name_of_a_file_of_an_agent_cannot_control_the_terminal(tmp_path: Path) -> None:
    claude = WritingClaude(tmp_path / "ada")
    claude.asks("hello")
    claude.path.with_name("evil\x1b[2J\n.jsonl").symlink_to("/etc/passwd")
    with a_shell(tmp_path) as shell:
        listed = shell("agents", HOME=str(tmp_path / "ada"), CLAUDE_CONFIG_DIR="")
        assert "it is a symbolic link, which is not followed" in listed.err
        assert "\x1b" not in listed.out + listed.err


@pytest.mark.parametrize(
    "words",
    [
        ("folow",), ("--all",), ("--yes",), ("follow",), ("follow", "codex", "--all"), ("forget",),
        ("forget", "a", "b"),
    ],
)  # fmt: skip
def test_arguments_that_make_no_sense_are_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    with a_shell(tmp_path) as shell:
        assert shell.run("agents", *words).code == 2
