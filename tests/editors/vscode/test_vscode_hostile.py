"""Transcript text stays text where VS Code renders links that run commands."""

import pytest

from support.browsers import expect
from support.daemons import assistant, user
from support.stories import Teller
from support.workbench import Window

pytestmark = [pytest.mark.editors, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]

TRAP = "`[do it](command:workbench.action.toggleSidebarVisibility)`"  # a preview keeps what stands in code


def test_a_prompt_about_an_entry_contains_no_link_of_its_text(window: Window, teller: Teller) -> None:
    teller.create("trap-talk", user(TRAP), assistant("hi"), title="A trap")
    window.sessions.row("A trap").click()
    row = window.tree.row("do it")
    expect(row).to_be_visible()
    row.click()
    window.page.keyboard.press("F2")
    question = window.page.locator(".quick-input-widget")
    expect(question).to_contain_text("Label for “[do it] (command:")
    expect(question.get_by_role("link")).to_have_count(0)


def test_enter_accepts_the_first_result_for_the_typed_text(window: Window, teller: Teller) -> None:
    teller.create(
        "cats-talk", user("Is the cat a liquid?"), assistant("It takes the shape of its box."), title="Cats"
    )
    expect(window.sessions.row("Cats")).to_be_visible()
    window.command("sessiond: Open Session…")
    expect(window.options.filter(has_text="Cats")).to_be_visible()
    window.answer("last line")
    expect(window.tree.row("Why does it drop the last line?")).to_be_visible()
