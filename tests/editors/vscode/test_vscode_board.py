"""The Board view in the real VS Code: what every agent does now, and the jump to a session."""

import pytest

from support.browsers import expect
from support.daemons import assistant, user
from support.stories import Story, Teller
from support.workbench import View, Window

pytestmark = [pytest.mark.editors, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]


def test_the_board_follows_every_session_and_jumps_to_one(
    window: Window, teller: Teller, story: Story
) -> None:
    board = View(window.page, "Board")
    board.header.click()
    row = board.row("The last line")
    expect(row).to_contain_text("waiting")
    expect(row).to_contain_text("It fails, as it should.")
    teller.append(story.id, user("Now make it pass."))
    expect(row).to_contain_text("working")
    expect(row).to_contain_text("Now make it pass.")
    other = "other-talk"
    teller.create(
        other, user("Is the cat a liquid?"), assistant("It takes the shape of its box."), title="Cats"
    )
    expect(board.rows.first).to_contain_text("Cats")
    expect(board.header).to_contain_text("1 working, 1 waiting")
    board.row("Cats").click()
    expect(window.tree.row("It takes the shape of its box.")).to_be_visible()
    window.was_told_nothing()


def test_the_board_counts_automated_sessions(window: Window, teller: Teller, story: Story) -> None:
    board = View(window.page, "Board")
    board.header.click()
    expect(board.row("The last line")).to_be_visible()
    teller.run_codex_exec("0199a213-81c0-7800-8aa1-bbab2a035a55", "count the robins")
    board.row("1 automated session hidden").click()
    expect(board.row("count the robins")).to_be_visible()
