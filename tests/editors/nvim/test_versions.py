"""The plugin in every supported version of Neovim, and in one that is too old."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import Shell
from support.homes import environment
from support.installed_editors import installed
from support.neovim import PLUGIN
from support.stories import Story

pytestmark = [pytest.mark.editors, pytest.mark.timeout(300)]

EVERYWHERE = Path(__file__).parent / "everywhere.lua"


def run(shell: Shell, program: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = f"lua vim.g.sessiond = {{ command = {{ '{sys.executable}', '-m', 'sessiond' }} }}"
    return subprocess.run(
        [
            installed(program),
            "--clean",
            "-n",
            "-i",
            "NONE",
            "--cmd",
            f"set rtp^={PLUGIN}",
            "--cmd",
            command,
            *words,
        ],
        cwd=shell.folder,
        env={
            **environment(shell.locations),
            **{
                f"XDG_{kind}_HOME": f"{shell.locations.home}/nvim"
                for kind in ("STATE", "CONFIG", "DATA", "CACHE")
            },
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=280,
        check=False,
    )


@pytest.mark.parametrize("program", ["nvim-0.10", "nvim-0.11", "nvim-newest"])
def test_the_plugin_works_in_each_supported_version(shell: Shell, story: Story, program: str) -> None:
    ran = run(shell, program, "-l", os.fspath(EVERYWHERE), story.id)
    assert ran.returncode == 0, ran
    assert "not ok" not in ran.stdout
    assert ran.stdout.count("ok ") >= 14, ran


def test_in_a_neovim_that_is_too_old_the_plugin_shows_a_message_and_is_not_loaded(shell: Shell) -> None:
    ran = run(shell, "nvim-0.7", "--headless", "-c", "echo exists(':Sessiond')", "-c", "qall!")
    said = ran.stdout + ran.stderr
    assert ran.returncode == 0, ran
    assert "the plugin needs Neovim 0.10 or newer" in said
    assert said.strip().endswith("0")
