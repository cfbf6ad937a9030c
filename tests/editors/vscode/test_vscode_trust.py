"""Only a trusted folder may set the `sessiond` command, and no program of an untrusted one is run."""

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


def programs_of_the_folder(folder: Path) -> tuple[Path, Path]:
    """A program in the folder's environment, for its settings, and the file that the program creates."""
    trace = folder / "was-run"
    program = folder / ".venv/bin/sessiond"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ntouch '{trace}'\n", encoding="utf-8")
    program.chmod(0o755)
    return program, trace


def restart_daemon(window: Window, shell: Shell) -> None:
    shell("stop")
    window.daemon_is("offline")
    window.command("sessiond: Start Daemon")


def test_an_untrusted_folder_sets_neither_the_command_nor_the_home(
    browser: "Browser", shell: Shell, story: Story
) -> None:
    program, trace = programs_of_the_folder(shell.folder)
    folder_settings = {"sessiond.path": str(program), "sessiond.home": str(shell.folder / "home")}
    chosen = {
        "security.workspace.trust.startupPrompt": "never",
        "security.workspace.trust.emptyWindow": False,
        "sessiond.home": str(shell.locations.home),
    }
    with (
        a_server(**chosen) as server,
        a_window(browser, server, shell.folder, shell.locations, **folder_settings) as window,
    ):
        expect(window.sessions.row("The last line")).to_be_visible()
        restart_daemon(window, shell)
        window.daemon_is("attached")
    assert not trace.exists()


def test_a_trusted_folder_sets_the_command(
    browser: "Browser", server: Server, shell: Shell, story: Story
) -> None:
    program, trace = programs_of_the_folder(shell.folder)
    with a_window(
        browser, server, shell.folder, shell.locations, **{"sessiond.path": str(program)}
    ) as window:
        restart_daemon(window, shell)
        window.daemon_is("not installed")
        wait_until(trace.exists)
