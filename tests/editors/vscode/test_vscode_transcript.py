"""The transcript of a session in a tab of the real VS Code."""

import re
from typing import TYPE_CHECKING

import pytest

from support.browsers import expect
from support.commands import Shell
from support.daemons import assistant, user
from support.dialect_files import meta, said
from support.stories import Story, Teller
from support.workbench import Window
from support.workbench_server import Server
from support.writing_agents import write_codex

if TYPE_CHECKING:
    from playwright.sync_api import FrameLocator

pytestmark = [pytest.mark.editors, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]

TITLE = "The last line"
OWN = "0199a213-81c0-7800-8aa1-bbab2a035a54"


def the_page(window: Window) -> "FrameLocator":
    """The document of the transcript, when it follows the session."""
    expect(window.tab(re.compile(TITLE))).to_be_visible()
    expect(window.webview().locator("#live")).to_have_text("live")
    return window.webview()


def shown(window: Window) -> "FrameLocator":
    """The transcript of the story, opened with a click and a command."""
    window.sessions.row(TITLE).click()
    expect(window.tree.row("It fails, as it should.")).to_be_visible()
    window.command("sessiond: Show Transcript")
    return the_page(window)


def test_a_transcript_shows_a_session_and_its_new_entries(
    window: Window, story: Story, teller: Teller
) -> None:
    page = shown(window)
    expect(page.locator("#path")).to_contain_text("It fails, as it should.")
    expect(page.locator("#path")).not_to_contain_text("Done: it counts.")
    teller.append(story.id, user("And now **fix** it."))
    expect(page.locator("#path article").last).to_contain_text("And now fix it.")
    teller.label(story.id, story.tested, "the test")
    expect(page.locator("#path .label").filter(has_text="the test")).to_have_count(1)
    window.was_told_nothing()


def test_the_leaf_of_a_long_session_is_seen_before_its_beginning_is_read(
    window: Window, teller: Teller
) -> None:
    first = [user("The very first question"), assistant("Its answer")]
    words = "\n\n".join(["Some **words** of a long answer."] * 20)
    more = [entry for number in range(2500) for entry in (user(f"Question {number}"), assistant(words))]
    teller.create("long-talk", *first, *more, user("The last question"), title="Long talk")
    window.open_session("Long talk", "The last question")
    window.command("sessiond: Show Transcript")
    page = window.webview()
    expect(page.locator("#path article").last).to_contain_text("The last question")
    expect(page.locator("#path article").last).to_be_in_viewport()
    expect(page.locator("#live")).to_contain_text("entries read")
    expect(page.locator("#live")).to_have_text("live")
    expect(page.locator("#path article").last).to_be_in_viewport()
    page.locator("#transcript").press("Home")
    expect(page.locator("#path article").first).to_contain_text("The very first question")


def test_the_buttons_of_an_entry_label_and_fork_it(window: Window, story: Story, teller: Teller) -> None:
    page = shown(window)
    article = page.locator("article").filter(has_text="Write a failing test first.")
    article.hover()
    article.get_by_role("button", name="Label").click()
    window.answer("begin here")
    expect(article.locator(".label")).to_have_text("begin here")
    article.hover()
    article.get_by_role("button", name="Fork").click()
    expect(window.tree.row("Write a failing test first.")).to_be_visible()
    # The views show the fork now; the transcript stays with its session.
    teller.append(story.id, user("Still here?"))
    expect(page.locator("#path article").last).to_contain_text("Still here?")


def test_a_transcript_continues_after_the_daemon_was_restarted(
    window: Window, shell: Shell, story: Story, teller: Teller
) -> None:
    page = shown(window)
    shell("stop")
    expect(page.locator("#live")).to_have_text("not attached")
    expect(page.locator("#path")).to_contain_text("It fails, as it should.")
    teller.append(story.id, user("Are you back?"))
    expect(page.locator("#path article").last).to_contain_text("Are you back?")
    expect(page.locator("#live")).to_have_text("live")


def test_a_transcript_continues_after_its_session_was_restored(
    window: Window, story: Story, teller: Teller
) -> None:
    page = shown(window)
    teller.create("other-talk", user("Something else"), assistant("Yes?"), title="Another talk")
    window.open_session("Another talk", "Something else")
    gone = teller.call("session/delete", sessionId=story.id)["trashId"]
    expect(page.locator("#live")).to_have_text("in the trash")
    teller.call("trash/restore", trashId=gone)
    expect(page.locator("#live")).to_have_text("live")
    teller.append(story.id, user("Still here?"))
    expect(page.locator("#path article").last).to_contain_text("Still here?")


def test_the_views_show_the_session_of_the_active_transcript(
    window: Window, story: Story, teller: Teller
) -> None:
    shown(window)
    teller.create("other-talk", user("Something else"), assistant("Yes?"), title="Another talk")
    window.open_session("Another talk", "Something else")
    window.command("sessiond: Show Transcript")
    expect(window.tab(re.compile("Another talk"))).to_be_visible()
    window.tab(re.compile(TITLE)).click()
    expect(window.tree.row("It fails, as it should.")).to_be_visible()
    expect(window.sessions.row(TITLE)).to_have_attribute("aria-selected", "true")


def test_a_click_on_a_session_shows_its_open_transcript(window: Window, teller: Teller) -> None:
    shown(window)
    teller.create("other-talk", user("Something else"), assistant("Yes?"), title="Another talk")
    window.open_session("Another talk", "Something else")
    window.command("sessiond: Show Transcript")
    expect(window.tab(re.compile("Another talk"))).to_have_attribute("aria-selected", "true")
    window.sessions.row(TITLE).click()
    expect(window.tab(re.compile(TITLE))).to_have_attribute("aria-selected", "true")
    expect(window.tree.row("It fails, as it should.")).to_be_visible()


def test_a_transcript_is_restored_after_the_window_is_reloaded(window: Window) -> None:
    expect(shown(window).locator("#path")).to_contain_text("It fails, as it should.")
    with window.page.expect_navigation():
        window.command("Developer: Reload Window")
    expect(the_page(window).locator("#path")).to_contain_text("It fails, as it should.")


def test_the_tree_selects_the_entry_that_is_clicked_in_the_transcript(window: Window) -> None:
    page = shown(window)
    expect(page.locator("#tree")).not_to_be_visible()  # the side bar has one
    page.locator("article").filter(has_text="Write a failing test first.").click()
    expect(window.tree.row("Write a failing test first.")).to_have_attribute("aria-selected", "true")
    # The keys still scroll the transcript: the focus did not move.
    page.locator("#transcript").press("End")
    expect(window.tree.row("It fails, as it should.")).to_have_attribute("aria-selected", "true")


def test_a_click_in_the_tree_scrolls_the_transcript_and_stays_selected(window: Window) -> None:
    page = shown(window)
    window.tree.row("Write a failing test first.").click()
    expect(page.locator("article.target")).to_contain_text("Write a failing test first.")
    expect(window.tree.row("Write a failing test first.")).to_have_attribute("aria-selected", "true")
    expect(window.tree.focused).to_contain_text("Write a failing test first.")


def test_the_transcript_has_a_tree_of_its_own_while_the_side_bar_shows_none(window: Window) -> None:
    window.page.set_viewport_size({"width": 1700, "height": 1000})
    page = shown(window)
    window.command("View: Toggle Primary Side Bar Visibility")
    expect(page.locator("#tree")).to_be_visible()
    window.command("View: Toggle Primary Side Bar Visibility")
    expect(page.locator("#tree")).not_to_be_visible()


def test_the_title_of_a_transcript_resumes_its_session(
    window: Window, server: Server, teller: Teller
) -> None:
    lines = meta(id=OWN, cwd=str(teller.folder)), said("user", "Is it fast?"), said("assistant", "Yes.")
    teller.call("session/import", path=str(write_codex(server.folder / "home", *lines, name=OWN)))
    window.open_session("Is it fast?", "Yes.")
    window.command("sessiond: Show Transcript")
    expect(window.tab("Is it fast?")).to_be_visible()  # a session without a title has its first prompt
    expect(window.webview().locator("#title")).to_have_text("Is it fast?")
    expect(window.webview().locator("#agent")).to_contain_text("codex")
    # Another session is selected, and the title is still about the one that its tab shows.
    window.sessions.row(TITLE).click()
    expect(window.tree.row("It fails, as it should.")).to_be_visible()
    window.page.get_by_role("button", name="Resume in Another Agent…").click()
    field = window.page.locator(".quick-input-widget input").first
    expect(field).to_have_attribute("placeholder", "Is it fast?")
    expect(window.options.filter(has_text="Claude Code")).not_to_have_count(0)
    expect(window.page.get_by_role("button", name="Resume in Its Agent")).to_be_visible()
