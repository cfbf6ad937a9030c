"""Folders that environment variables of a client move: the daemon follows them, whatever its own variables are."""

import os
import pwd
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sessiond import config
from sessiond.agents.places import moved_folders, variables_of
from sessiond.agents.table import AGENTS
from support.daemons import Peer, running
from support.dialect_files import meta, said
from support.following import has, texts
from support.writing_agents import WritingClaude, write_codex

OTHER = "99999999-2222-4333-8444-555555555555"


async def folders(peer: Peer, name: str) -> list[str]:
    [found] = [agent for agent in (await peer.call("agent/list"))["agents"] if agent["name"] == name]
    return list(found["folders"])


async def follow(peer: Peer, environment: dict[str, str], **which: Any) -> None:
    await peer.call("agent/follow", environment=environment, workDoneToken="first", **which)


async def test_a_folder_that_a_variable_of_the_client_names_is_followed_beside_the_usual_one(
    agents_home: Path, tmp_path: Path
) -> None:
    WritingClaude(agents_home).asks("usual")
    moved = tmp_path / 'it is "moved" \\ ü'
    claude = WritingClaude(agents_home, OTHER)
    claude.path = moved / "projects/-work" / claude.path.name
    claude.asks("moved")
    home = tmp_path / "home"
    async with running(home) as daemon:
        peer = await daemon.attach()
        await follow(peer, {"CLAUDE_CONFIG_DIR": str(moved)}, agents=["claude-code"])
        assert await texts(peer) == ["usual"]
        assert await texts(peer, OTHER) == ["moved"]
        assert await folders(peer, "claude-code") == [
            str(agents_home / ".claude/projects"),
            str(moved / "projects"),
        ]
        claude.says("good day")
        await has(peer, "good day", OTHER)
    read = config.read(str(home / "config/config.toml")).agents
    assert read.folders == {"claude-code": (str(moved / "projects"),)}
    async with running(home, config=config.read(str(home / "config/config.toml"))) as daemon:
        peer = await daemon.attach()
        claude.says("after a restart")
        await has(peer, "after a restart", OTHER)
        # A second client with the same variables changes nothing, one with others adds its own.
        before = (home / "config/config.toml").read_bytes()
        await follow(peer, {"CLAUDE_CONFIG_DIR": str(moved)}, agents=["claude-code"])
        assert (home / "config/config.toml").read_bytes() == before
        await follow(peer, {"CLAUDE_CONFIG_DIR": str(tmp_path / "third")}, agents=["claude-code"])
        assert len(await folders(peer, "claude-code")) == 3


async def test_another_home_is_followed_too_and_all_finds_what_is_in_it(
    agents_home: Path, tmp_path: Path
) -> None:
    other_home = tmp_path / "bob"
    write_codex(other_home, meta(), said("user", "of the other home"))
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        assert (await peer.call("server/status"))["userHome"] == str(agents_home)
        await follow(peer, {"HOME": str(other_home)}, all=True)
        assert await texts(peer) == ["of the other home"]
        found = await folders(peer, "codex")
        assert found[:2] == [
            str(agents_home / ".codex/sessions"),
            str(agents_home / ".codex/archived_sessions"),
        ]
        assert str(other_home / ".codex/sessions") in found


async def test_an_agent_that_is_followed_already_gets_a_further_folder(
    agents_home: Path, tmp_path: Path
) -> None:
    WritingClaude(agents_home).asks("usual")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["claude-code"], workDoneToken="first")
        claude = WritingClaude(tmp_path / "bob", OTHER)
        claude.asks("of the other home")
        await follow(peer, {"HOME": str(tmp_path / "bob")}, agents=["claude-code"])
        assert await texts(peer, OTHER) == ["of the other home"]
        assert await texts(peer) == ["usual"]


@pytest.mark.parametrize(
    "agent", [agent for agent in AGENTS.values() if agent.variables], ids=lambda agent: agent.name
)
def test_each_variable_of_an_agent_moves_its_folders_and_only_moved_ones_are_named(agent: Any) -> None:
    home = pwd.getpwuid(os.getuid()).pw_dir
    assert moved_folders(agent, {"HOME": home}) == []
    for variable in agent.variables:
        moved = moved_folders(agent, variables_of([agent], {"HOME": home, variable: "~/elsewhere"}))
        assert moved
        assert all(text.startswith(f"{home}/") for text in moved)


def test_variables_are_made_absolute_and_those_that_are_not_text_are_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    environ = {
        "HOME": "/h",
        "CODEX_HOME": "here",
        "PI_CONFIG_DIR": ".omp",
        "QWEN_HOME": "\udcff",
        "PATH": "/bin",
    }
    assert variables_of(AGENTS.values(), environ) == {
        "HOME": "/h",
        "CODEX_HOME": str(tmp_path / "here"),
        "PI_CONFIG_DIR": ".omp",
    }


@pytest.mark.slow
def test_a_person_whose_variable_is_set_in_one_shell_only_follows_what_it_names(
    agents_home: Path, tmp_path: Path
) -> None:
    claude = WritingClaude(agents_home)
    claude.path = tmp_path / "moved/projects/-work" / claude.path.name
    claude.asks("hello")
    claude.says("good day")
    own = {name: value for name, value in os.environ.items() if not name.startswith("SESSIOND_")}
    environ = {**own, "SESSIOND_HOME": str(tmp_path / "s"), "HOME": str(agents_home)}

    def sessiond(*words: str, **more: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "sessiond", *words], env={**environ, **more}, capture_output=True, text=True,
            check=True, encoding="utf-8",
        )  # fmt: skip
        return done.stdout + done.stderr

    try:
        sessiond("list")  # starts the daemon without the variable
        sessiond("agents", "follow", "claude-code", CLAUDE_CONFIG_DIR=str(tmp_path / "moved"))
        assert "hello" in sessiond("list", "--all")
        assert f"Claude Code: {tmp_path}/moved/projects" in sessiond("agents")
        assert "1 file" in sessiond("agents")
        other = tmp_path / "bob"
        other.mkdir()
        for words in (["agents"], ["status"]):
            assert f"The daemon has the home folder {agents_home}" in sessiond(*words, HOME=str(other))
    finally:
        subprocess.run(
            [sys.executable, "-m", "sessiond", "stop"], env=environ, check=False, capture_output=True
        )
