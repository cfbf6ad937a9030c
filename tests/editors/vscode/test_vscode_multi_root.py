"""A multi-root workspace in the real VS Code: one connection, and the sessions of every folder."""

import json  # noqa: TID251 - as an editor of the workspace file writes it
from typing import TYPE_CHECKING

import pytest

from support.browsers import expect
from support.commands import Shell
from support.daemons import assistant, user
from support.stories import Story, Teller
from support.workbench import a_window
from support.workbench_server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.editors, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]


def test_the_sessions_of_every_folder_are_listed_and_read_over_one_connection(
    browser: "Browser", server: Server, shell: Shell, story: Story, teller: Teller
) -> None:
    other = shell.folder.parent / "borealis"
    other.mkdir()
    elsewhere = Teller(shell.locations, other)
    elsewhere.create("other-talk", user("Where is north?"), assistant("Up."), title="The other folder")
    with a_window(browser, server, [shell.folder, other], shell.locations) as window:
        # The folders of the window are open; the others would be closed.
        for name in ("atlas", "borealis"):
            expect(window.sessions.row(name).first).to_have_attribute("aria-expanded", "true")
        window.open_session("The last line", "It fails, as it should.")
        window.open_session("The other folder", "Up.")
        window.tree.row("Up.").click()
        expect(window.webview().locator("article.target")).to_contain_text("Up.")
        clients = teller.call("server/clients")["clients"]
        assert len(clients) == 2, clients  # the window, and the one that asks
        window.was_told_nothing()


def test_the_sessions_of_a_folder_that_joins_the_window_are_shown(
    browser: "Browser", server: Server, shell: Shell, story: Story, teller: Teller
) -> None:
    """Its row was there before, closed, as that of a folder elsewhere."""
    folders = [shell.folder, *(shell.folder.parent / name for name in ("borealis", "cygnus"))]
    for folder in folders[1:]:
        folder.mkdir()
    Teller(shell.locations, folders[2]).create("third-talk", user("Where?"), title="The third folder")
    with a_window(browser, server, folders[:2], shell.locations) as window:
        row = window.sessions.row("cygnus").first
        expect(row).to_have_attribute("aria-expanded", "false")
        workspace = shell.folder.with_suffix(".code-workspace")
        content = json.loads(workspace.read_text(encoding="utf-8"))
        content["folders"].append({"path": str(folders[2])})
        workspace.write_text(json.dumps(content), encoding="utf-8")
        expect(row).to_have_attribute("aria-expanded", "true")
        expect(window.sessions.row("The third folder")).to_be_visible()
