"""The agents that the real VS Code offers to follow."""

from typing import TYPE_CHECKING

import pytest

from support.browsers import expect
from support.commands import Shell
from support.dialect_files import meta, said
from support.homes import wait_until
from support.stories import Teller
from support.workbench import a_window
from support.workbench_server import Server
from support.writing_agents import write_codex

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.editors, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]


OWN = "0199a213-81c0-7800-8aa1-bbab2a035a99"


def test_an_empty_side_bar_offers_to_follow_the_agents_of_this_machine(
    browser: "Browser", server: Server, shell: Shell, teller: Teller
) -> None:
    def followed() -> list[str]:
        return [agent["name"] for agent in teller.call("agent/list")["agents"] if agent["isFollowed"]]

    lines = (
        meta(id=OWN, cwd=str(shell.folder)),
        said("user", "Where is it?"),
        said("assistant", "On an island."),
    )
    write_codex(server.folder / "home", *lines, name=OWN)
    with a_window(browser, server, shell.folder, shell.locations) as window:
        picker = window.page.locator(".quick-input-widget")
        expect(window.tree.pane).to_contain_text("The entries of a session appear here.")
        window.sessions.pane.get_by_role("button", name="Follow Agents…").click()
        picker.get_by_role("button", name="OK").click()  # as long as none is followed, all are chosen
        window.open_session("Where is it?", "On an island.")
        wait_until(lambda: followed() == ["codex"])
        window.command("sessiond: Follow Agents…")
        picker.locator(".monaco-list-row").filter(has_text="Codex").click()
        picker.get_by_role("button", name="OK").click()
        wait_until(lambda: followed() == [])
        expect(window.sessions.row("Where is it?")).to_be_visible()
