"""The extension after its installation: its views are shown, without messages and without network access."""

import pytest

from support.browsers import expect
from support.workbench import Window

pytestmark = [pytest.mark.editors, pytest.mark.browser, pytest.mark.slow]


def test_the_views_are_shown_without_messages(window: Window) -> None:
    for view in (window.sessions, window.tree, window.labels):
        expect(view.pane).to_be_visible()
    window.was_told_nothing()


def test_the_log_of_the_client_can_be_shown(window: Window) -> None:
    window.command("sessiond: Show Client Log")
    expect(window.page.get_by_role("document", name="sessiond - Output")).to_contain_text("info")
