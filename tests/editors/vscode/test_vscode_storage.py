"""The document about the space of sessions in the real VS Code."""

import pytest

from support.browsers import expect
from support.daemons import assistant, user
from support.stories import Story, Teller
from support.workbench import Window

pytestmark = [pytest.mark.editors, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]


def test_the_document_has_the_sizes_and_opens_the_largest_session(
    window: Window, story: Story, teller: Teller
) -> None:
    teller.create("huge-session", user("Count."), assistant("z" * 50_000), title="A huge one")
    window.command("sessiond: Show Storage")
    expect(window.tab("Storage.md")).to_be_visible()
    document = window.page.locator(".editor-instance .view-lines")
    expect(document).to_contain_text("in all")
    expect(document).to_contain_text("`sessions`")
    link = document.locator(".detected-link").filter(has_text="huge-session")
    link.first.click(modifiers=["Control"])
    expect(window.tree.pane).to_contain_text("Count.")
