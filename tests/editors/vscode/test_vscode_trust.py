"""A folder that nobody trusts runs nothing of its own; one that is trusted may say which `sessiond` is taken."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.browsers import expect
from support.commands import Shell
from support.homes import wait_until
from support.stories import Story
from support.workbench import Window, a_window
from support.workbench_server import Server, a_server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.editors, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]


def what_the_folder_brings(folder: Path) -> tuple[Path, Path]:
    """A program that a setting of the folder may name, which is also the one of its environment; and its trace."""
    trace = folder / "was-run"
    program = folder / ".venv/bin/sessiond"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ntouch '{trace}'\n", encoding="utf-8")
    program.chmod(0o755)
    return program, trace


def start_daemon_anew(window: Window, shell: Shell) -> None:
    shell("stop")
    window.daemon_is("offline")
    window.command("sessiond: Start Daemon")


def test_a_folder_without_trust_names_neither_the_command_nor_the_home(
    browser: "Browser", shell: Shell, story: Story
) -> None:
    program, trace = what_the_folder_brings(shell.folder)
    brought = {"sessiond.path": str(program), "sessiond.home": str(shell.folder / "home")}
    chosen = {
        "security.workspace.trust.startupPrompt": "never",
        "security.workspace.trust.emptyWindow": False,
        "sessiond.home": str(shell.where.home),
    }
    with (
        a_server(**chosen) as server,
        a_window(browser, server, shell.folder, shell.where, **brought) as window,
    ):
        expect(window.sessions.row("The last line")).to_be_visible()
        start_daemon_anew(window, shell)
        window.daemon_is("attached")
    assert not trace.exists()


def test_a_folder_with_trust_names_the_command(
    browser: "Browser", server: Server, shell: Shell, story: Story
) -> None:
    program, trace = what_the_folder_brings(shell.folder)
    with a_window(browser, server, shell.folder, shell.where, **{"sessiond.path": str(program)}) as window:
        start_daemon_anew(window, shell)
        window.daemon_is("not installed")
        wait_until(trace.exists)
