"""The extension after its installation: its views are shown, without messages and without network access."""

import contextlib
import time

import pytest

from support.browsers import expect
from support.patience import BOUND
from support.stories import Teller
from support.workbench import Window

pytestmark = [pytest.mark.editors, pytest.mark.browser, pytest.mark.slow]


def test_the_labels_appear_when_a_session_is_shown(window: Window) -> None:
    expect(window.sessions.row("The last line")).to_be_visible()
    expect(window.tree.pane).to_contain_text("Select a session")
    expect(window.labels.pane).to_have_count(0)
    window.open_session("The last line", "Why does it drop the last line?")
    expect(window.labels.row("the cause")).to_be_visible()
    window.was_told_nothing()


def test_a_side_bar_without_sessions_offers_a_new_one(window: Window, teller: Teller) -> None:
    for session in teller.call("session/list")["sessions"]:
        teller.call("session/delete", sessionId=session["sessionId"])
    expect(window.sessions.pane).to_contain_text("There are no sessions yet.")
    expect(window.tree.pane).to_contain_text("The entries of a session appear here.")
    window.sessions.pane.get_by_role("button", name="New Session…").click()
    window.answer("The first one")
    expect(window.sessions.row("The first one")).to_be_visible()
    expect(window.tree.pane).to_contain_text("There are no messages yet.")


def test_the_log_of_the_client_can_be_shown(window: Window) -> None:
    shown = window.page.get_by_role("document", name="sessiond - Output")
    # A window that has just opened may not know the log yet; a person asks again.
    until = time.monotonic() + BOUND
    while not shown.count() and time.monotonic() < until:
        window.command("sessiond: Show Client Log")
        with contextlib.suppress(AssertionError):
            expect(shown).to_be_visible(timeout=10_000)
    expect(shown).to_contain_text("info")
