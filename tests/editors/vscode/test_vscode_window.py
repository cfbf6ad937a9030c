"""What a person meets first: the extension is there, quiet, and stays on this machine."""

import pytest

from support.browsers import expect
from support.workbench import Window

pytestmark = [pytest.mark.editors, pytest.mark.browser, pytest.mark.slow]


def test_the_views_are_there_and_nothing_pops_up(window: Window) -> None:
    for view in (window.sessions, window.tree, window.labels):
        expect(view.pane).to_be_visible()
    window.was_told_nothing()


def test_the_log_of_the_client_can_be_shown(window: Window) -> None:
    window.command("sessiond: Show Client Log")
    expect(window.page.get_by_role("document", name="sessiond - Output")).to_contain_text("info")
