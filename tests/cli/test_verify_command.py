"""`verify` as a person meets it: a line for each agent, each gap with what to do, and the exit status."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessiond.agents.table import AGENTS
from support.commands import Shell, a_shell
from support.writing_agents import WritingClaude


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for agent in AGENTS.values():
        for name in agent.variables:
            monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def shell(home: Path) -> Iterator[Shell]:
    with a_shell(home) as made:
        yield made


def conversation(home: Path) -> Path:
    claude = WritingClaude(home)
    claude.asks("hello")
    claude.says("good day")
    os.utime(claude.path, (1_000_000_000, 1_000_000_000))
    return claude.path


def test_without_followed_agents_the_command_says_how_to_follow(shell: Shell) -> None:
    ran = shell("verify")
    assert "sessiond agents follow --all" in ran.err


def test_a_gap_has_its_file_and_what_to_do_and_the_status_is_1(home: Path, shell: Shell) -> None:
    path = conversation(home)
    ran = shell.run("verify", "claude")
    assert ran.code == 1
    assert ran.lines[:3] == [
        f"unread  {path}",
        "  it was not read yet",
        f"  A followed agent is read within a minute. To read it now: sessiond import {path}",
    ]
    assert ran.lines[-1] == "1 gap: 1 source checked."


def test_everything_is_here_after_an_import(home: Path, shell: Shell) -> None:
    shell("import", str(conversation(home)))
    ran = shell("verify", "claude-code", "--deep")
    [row, verdict] = ran.lines
    assert row.split()[:6] == ["Claude", "Code", "1", "of", "1", "whole"]
    assert verdict == "No gaps: 1 source read again and compared."


def test_json_is_the_result_and_has_the_same_status(home: Path, shell: Shell) -> None:
    conversation(home)
    ran = shell.run("verify", "claude-code", "--json")
    assert (ran.code, ran.json["gapCount"]) == (1, 1)


def test_an_unknown_agent_is_refused(shell: Shell) -> None:
    assert "there is no agent 'nobody'" in shell.run("verify", "nobody").err
