"""The Tree view in VS Code: the places of rows, clicks, and changes by other clients."""

import re
import threading
from collections.abc import Callable

import pytest

from support.browsers import expect
from support.commands import Shell
from support.daemons import assistant, user
from support.neovim import Neovim, a_neovim
from support.pages import HOSTILE
from support.stories import Story, Teller
from support.workbench import Window

pytestmark = [pytest.mark.editors, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]

TITLE, WHY, TESTED = "The last line", "Why does it drop the last line?", "It fails, as it should."


def has_levels(window: Window, levels: dict[str, str]) -> None:
    """Wait until these rows of the Tree, named by their labels, have these levels."""
    for label, level in levels.items():
        expect(window.tree.row(label)).to_have_attribute("aria-level", level)


def leaf_of(teller: Teller, story: Story) -> str:
    return str(teller.call("session/info", sessionId=story.id)["session"]["leafId"])


def test_the_path_is_one_list_and_another_branch_is_folded_below_its_fork(
    window: Window, teller: Teller, story: Story
) -> None:
    window.open_session(TITLE, WHY)
    expect(window.tree.row("Fix it.")).to_contain_text("1 more")
    path = [WHY, "[the cause] It stops at the last newline.", "Write a failing test first.", TESTED]
    has_levels(window, {**dict.fromkeys(path, "1"), "Fix it.": "2"})
    expect(window.tree.rows).to_have_count(len(path) + 1)
    window.tree.toggle("Fix it.")
    expect(window.tree.row("Done: it counts.")).to_be_visible()
    has_levels(window, {"Done: it counts.": "3"})
    teller.append(story.id, *[user(f"and {number}") for number in range(4)])
    expect(window.tree.row("and 3")).to_contain_text("leaf")
    has_levels(window, {"and 3": "1"})
    window.tree.toggle("Fix it.")
    expect(window.tree.row("Done: it counts.")).to_have_count(0)
    expect(window.tree.row("Fix it.")).to_contain_text("1 more")
    teller.branch(story.id, story.fixed)
    expect(window.tree.row("Done: it counts.")).to_contain_text("leaf")
    expect(window.tree.row("Write a failing test first.")).to_contain_text("5 more")
    window.was_told_nothing()


def test_a_session_with_forty_forks_is_readable_at_its_leaf(window: Window, teller: Teller) -> None:
    ids = teller.create("forked-talk", user("turn 0"), assistant("answer 0"), title="Forty forks")
    for number in range(1, 41):
        teller.append("forked-talk", user(f"another try {number}"), assistant(f"given up {number}"))
        teller.branch("forked-talk", ids[-1])
        ids += teller.append("forked-talk", user(f"turn {number}"), assistant(f"answer {number}"))
    window.open_session("Forty forks", "answer 40")
    expect(window.tree.row("answer 40")).to_contain_text("leaf")
    has_levels(window, {"answer 40": "1", "turn 40": "1", "answer 39": "1", "another try 40": "2"})
    # The row that stays while the list scrolls has no level.
    deeper = window.tree.pane.locator("[aria-level]:not([aria-level='1'], [aria-level='2'])")
    expect(deeper).to_have_count(0)


def test_of_a_long_session_the_rows_around_an_entry_are_shown_and_then_those_around_a_new_leaf(
    window: Window, teller: Teller
) -> None:
    ids = teller.create(
        "long-talk", *[user(f"turn {number}.") for number in range(1500)], title="A long talk"
    )
    teller.label("long-talk", ids[100], "the beginning")
    window.open_session("A long talk", "turn 1499.")
    window.labels.row("the beginning").click()
    expect(window.tree.row("turn 101.")).to_be_visible()
    teller.append("long-talk", user("the end"))
    expect(window.tree.row("the end")).to_contain_text("leaf")
    expect(window.tree.row("turn 101.")).to_have_count(0)


def test_a_row_has_a_complete_text_for_screen_readers(window: Window) -> None:
    window.open_session(TITLE, WHY)
    spoken = re.compile(
        "^assistant, It stops at the last newline., labeled the cause, 2 branches, on the path"
    )
    expect(window.tree.row("It stops at the last newline.")).to_have_attribute("aria-label", spoken)
    expect(window.tree.row("It fails, as it should.")).to_have_attribute("aria-label", re.compile(", leaf"))


def test_a_click_shows_the_entry_in_the_transcript(window: Window) -> None:
    window.open_session(TITLE, WHY)
    window.tree.row("It stops at the last newline.").click()
    target = window.webview().locator("#path article.target")
    expect(target).to_contain_text("It stops at the last newline.")
    expect(window.tree.focused).to_contain_text("It stops at the last newline.")
    window.tree.toggle("Fix it.")
    window.tree.row("Done: it counts.").click()
    expect(target).to_contain_text("Done: it counts.")
    window.was_told_nothing()


def test_a_menu_item_goes_to_the_line_of_the_entry(window: Window) -> None:
    window.open_session(TITLE, WHY)
    window.tree.menu("It stops at the last newline.", "Go to Line")
    expect(window.status("Ln 4,")).to_be_visible()


def test_a_label_shows_its_entry_in_the_tree_and_in_the_transcript(window: Window) -> None:
    window.open_session(TITLE, WHY)
    window.labels.row("the cause").click()
    target = window.webview().locator("#path article.target")
    expect(target).to_contain_text("It stops at the last newline.")
    row = window.tree.row("It stops at the last newline.")
    expect(row).to_have_attribute("aria-selected", "true")


def test_fork_here_shows_the_fork(window: Window, teller: Teller, story: Story) -> None:
    window.open_session(TITLE, WHY)
    window.tree.act("It stops at the last newline.", "Fork Here")
    expect(window.tree.row("Write a failing test first.")).to_have_count(0)
    expect(window.tree.row("It stops at the last newline.")).to_contain_text("leaf")
    forks = [
        session for session in teller.call("session/list")["sessions"] if session["sessionId"] != story.id
    ]
    assert len(forks) == 1
    window.press_in_message("Forked", "Show the Original")
    expect(window.tree.row("Write a failing test first.")).to_be_visible()


def test_a_label_is_set_in_a_row_and_removed_from_its_menu(window: Window) -> None:
    window.open_session(TITLE, WHY)
    window.tree.act(WHY, "Set Label")
    window.answer("the question")
    expect(window.labels.row("the question")).to_be_visible()
    expect(window.tree.row(WHY)).to_contain_text("[the question]")
    window.tree.menu(WHY, "Remove Label")
    expect(window.labels.row("the question")).to_have_count(0)
    expect(window.tree.row(WHY)).not_to_contain_text("[the question]")


def test_branch_here_moves_the_leaf_and_can_be_undone(window: Window, teller: Teller, story: Story) -> None:
    before = leaf_of(teller, story)
    window.open_session(TITLE, WHY)
    window.tree.menu(WHY, "Branch Here")
    expect(window.tree.row(WHY)).to_contain_text("leaf")
    assert leaf_of(teller, story) == story.why
    window.press_in_message("The leaf is now", "Undo")
    expect(window.tree.row("It fails, as it should.")).to_contain_text("leaf")
    assert leaf_of(teller, story) == before


def test_entries_that_a_terminal_appends_are_shown_and_revealed(
    window: Window, shell: Shell, story: Story
) -> None:
    window.open_session(TITLE, WHY)
    for number in range(12):
        shell("append", story.id, "--user", f"more {number}")
    row = window.tree.row("more 11")
    expect(row).to_be_in_viewport()
    expect(row).to_contain_text("leaf")


def test_the_tree_is_current_after_the_daemon_was_restarted(
    window: Window, shell: Shell, teller: Teller, story: Story
) -> None:
    window.open_session(TITLE, WHY)
    shell("stop")
    window.daemon_is("offline")
    teller.append(story.id, user("said while it was away"))
    window.daemon_is("attached")
    expect(window.tree.row("said while it was away")).to_be_visible()
    teller.append(story.id, assistant("and heard again"))
    expect(window.tree.row("and heard again")).to_be_visible()
    window.was_told_nothing()


def test_changes_by_neovim_are_shown_in_vs_code(window: Window, shell: Shell, story: Story) -> None:
    window.open_session(TITLE, WHY)

    def branch_and_label(nvim: Neovim) -> None:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see(WHY)
        nvim.command(f"Sessiond branch {story.why}")
        nvim.command("Sessiond label from Neovim")
        nvim.see("[from Neovim]")

    _beside(shell, branch_and_label)
    expect(window.tree.row(WHY)).to_contain_text("leaf")
    expect(window.labels.row("from Neovim")).to_be_visible()


def test_hostile_text_is_shown_as_text(window: Window, teller: Teller) -> None:
    teller.create("hostile-words", *[assistant(words) for words in HOSTILE], title="<b>bold</b> $(trash)")
    window.open_session("<b>bold</b> $(trash)", "<iframe")
    row = window.tree.row("<script>document.title='owned'</script>").first
    expect(row).to_be_visible()
    row.hover()
    expect(window.page.locator(".workbench-hover")).to_contain_text("document.title='owned'")
    assert "owned" not in window.page.title()
    assert window.watched.errors == []


def test_the_tree_is_usable_with_the_keyboard_alone(window: Window) -> None:
    keys = window.page.keyboard
    window.command("sessiond: Open Session")
    window.type_into_picker("newline")
    expect(window.options.filter(has_text="It stops at the last newline.")).to_be_visible()
    keys.press("Escape")
    window.command("sessiond: Open Session")
    expect(window.options).to_have_count(2)  # rows of the previous list are replaced one by one
    expect(window.options.nth(0)).to_contain_text("Continue")
    expect(window.options.nth(1)).to_contain_text(TITLE)
    keys.press("Enter")
    expect(window.tree.row("It fails, as it should.")).to_contain_text("leaf")
    window.command("Sessiond: Focus on Tree View")
    window.tree.await_keys()
    keys.press("Home")
    expect(window.tree.focused).to_contain_text(WHY)
    keys.press("F2")
    window.answer("by keys")
    expect(window.labels.row("by keys")).to_be_visible()
    window.command("Sessiond: Focus on Tree View")
    window.tree.await_keys()
    keys.press("Home")
    expect(window.tree.focused).to_contain_text(WHY)
    keys.press("ArrowDown")
    expect(window.tree.focused).to_contain_text("It stops at the last newline.")
    keys.press("Enter")
    target = window.webview().locator("#path article.target")
    expect(target).to_contain_text("It stops at the last newline.")


def _beside(shell: Shell, act: Callable[[Neovim], None]) -> None:
    """Run a function with a Neovim, in another thread, because its event loop and the browser's cannot share one."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            with a_neovim(shell.locations, shell.folder) as nvim:
                act(nvim)
        except BaseException as failure:  # noqa: BLE001 - raised in the thread of the test
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
