"""The palette of the real VS Code lists only commands that make sense now, and none that needs an entry."""

import pytest

from support.browsers import expect
from support.daemons import assistant, user
from support.dialect_files import meta, said
from support.stories import Story, Teller
from support.workbench import Window
from support.workbench_server import Server
from support.writing_agents import write_codex

pytestmark = [pytest.mark.editors, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]

OWN = "0199a213-81c0-7800-8aa1-bbab2a035a55"
ALWAYS = {
    "Choose the sessiond Command…", "Copy Debug Information", "Focus on Board View", "Focus on Sessions View",
    "Focus on Tree View", "Install sessiond…", "Open Walkthrough", "Report Issue…", "Restart Client", "Show Actions",
    "Show Client Log", "Show Daemon Log",
}  # fmt: skip
ATTACHED = ALWAYS | {
    "Continue Session", "Filter Sessions…", "Follow Agents…", "New Session…", "Open Session…", "Refresh Sessions",
    "Search Sessions…", "Show Automated Sessions", "Show Storage", "Show Trash…", "Stop Daemon",
}  # fmt: skip
ON_A_SESSION = ATTACHED | {
    "Copy Session Id", "Copy Session Path", "Delete Session", "Do Not Follow the Leaf", "Export Session…",
    "Filter Entries…", "Focus on Labels View", "Fork Session", "Go to Leaf", "Move Session to Folder…", "Refresh Tree",
    "Rename Session…", "Resume in Another Agent…", "Reveal in Explorer", "Search in Tree…", "Show Session File",
    "Show Transcript", "Tag Session…",
}  # fmt: skip


def test_commands_for_a_session_are_listed_while_one_is_shown(
    window: Window, story: Story, teller: Teller
) -> None:
    window.has_commands(ATTACHED)
    window.open_session("The last line", "It fails, as it should.")
    window.has_commands(ON_A_SESSION)
    teller.call("session/delete", sessionId=story.id)
    expect(window.tree.pane.get_by_text("This session was moved to the trash.")).to_be_visible()
    window.has_commands(ATTACHED | {"Restore Session"})


def test_a_session_of_an_agent_can_be_resumed_in_its_agent(
    window: Window, server: Server, teller: Teller
) -> None:
    lines = meta(id=OWN, cwd=str(teller.folder)), said("user", "Is it fast?"), said("assistant", "Yes.")
    teller.call("session/import", path=str(write_codex(server.folder / "home", *lines, name=OWN)))
    window.open_session("Is it fast?", "Yes.")
    window.has_commands(ON_A_SESSION | {"Resume in Its Agent"})


def test_a_session_without_a_file_has_no_commands_for_its_file(window: Window, teller: Teller) -> None:
    teller.create(
        "in-memory", user("Where is it?"), assistant("Keep nothing."), title="Only in memory", ephemeral=True
    )
    window.open_session("Only in memory", "Keep nothing.")
    for_files = {"Copy Session Path", "Reveal in Explorer", "Show Session File"}
    window.has_commands(ON_A_SESSION - for_files)


def test_filters_can_be_cleared_while_there_are_some(window: Window) -> None:
    window.open_session("The last line", "It fails, as it should.")
    window.command("sessiond: Filter Entries…")
    window.pick("userOnly")
    expect(window.tree.row("It fails, as it should.")).to_have_count(0)
    window.command("sessiond: Search in Tree…")
    window.answer("failing")
    expect(window.tree.row("Write a failing test first.")).to_be_visible()
    window.command("sessiond: Filter Sessions…")
    window.answer("last")
    expect(window.sessions.row("The last line")).to_be_visible()
    cleared = {"Clear Filter of Tree", "Clear Search in Tree", "Clear Filter of Sessions"}
    window.has_commands(ON_A_SESSION | cleared)


def test_without_a_daemon_there_is_only_what_brings_it_back(window: Window) -> None:
    window.open_session("The last line", "It fails, as it should.")
    window.command("sessiond: Stop Daemon")
    window.daemon_is("stopped")
    window.has_commands(ALWAYS | {"Start Daemon", "Focus on Labels View"})
