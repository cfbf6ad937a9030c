"""A window and a daemon that is stopped, killed and started again, without messages."""

import os
import signal
from typing import TYPE_CHECKING

import pytest

from sessiond.client.daemon_socket import read_endpoint
from support.browsers import expect
from support.commands import Shell
from support.homes import wait_until
from support.logs import assistant, header, log, user
from support.stories import Story
from support.workbench import Window, a_window
from support.workbench_server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.editors, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_window_reconnects_to_a_daemon_that_a_terminal_stopped_and_started(
    window: Window, shell: Shell
) -> None:
    shell("stop")
    window.daemon_is("offline")
    shell("list")
    window.daemon_is("attached")
    window.was_told_nothing()


def test_a_daemon_that_was_killed_is_started_again_without_a_message(window: Window, shell: Shell) -> None:
    killed = read_endpoint(shell.locations)["pid"]
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: read_endpoint(shell.locations).get("pid") != killed)
    window.daemon_is("attached")
    window.was_told_nothing()


def test_a_daemon_that_the_window_stopped_is_started_by_its_command(window: Window) -> None:
    window.command("sessiond: Stop Daemon")
    window.daemon_is("stopped")
    window.command("sessiond: Start Daemon")
    window.daemon_is("attached")
    window.was_told_nothing()


def test_the_problems_panel_lists_a_line_that_is_not_an_entry(
    browser: "Browser", server: Server, shell: Shell, story: Story
) -> None:
    damaged = shell.folder / "damaged.jsonl"
    damaged.write_bytes(log(header(), user("hi"), b"this is no entry\n", assistant("hello")))
    with a_window(browser, server, shell.folder, shell.locations, damaged) as window:
        problems = window.show_problems(1)
        expect(problems.filter(has_text="not JSON")).to_contain_text("Ln 3")
