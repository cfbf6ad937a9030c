"""The Sessions view in VS Code: it follows the list; sessions are deleted, restored, found, compared, exported."""

import re

import pytest

from support.browsers import expect
from support.commands import Shell
from support.daemons import assistant, user
from support.dialect_files import meta, said
from support.homes import wait_until
from support.stories import Story, Teller
from support.workbench import Window
from support.workbench_server import Server
from support.writing_agents import write_codex

pytestmark = [pytest.mark.editors, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]

OWN = "01999999-1111-7222-8333-444444444444"
TITLE, WHY = "The last line", "Why does it drop the last line?"


def test_a_session_that_a_terminal_creates_is_listed(window: Window, teller: Teller) -> None:
    expect(window.sessions.row(TITLE)).to_be_visible()
    teller.create("from-elsewhere", user("hello"), assistant("hi"), title="Made elsewhere")
    expect(window.sessions.row("Made elsewhere")).to_be_visible()


def test_a_row_follows_a_session_that_no_window_has_opened(
    window: Window, teller: Teller, story: Story
) -> None:
    expect(window.sessions.row(TITLE)).to_contain_text("6 messages")
    teller.append(story.id, user("one more"))
    expect(window.sessions.row(TITLE)).to_contain_text("7 messages")
    teller.call("session/rename", sessionId=story.id, title="Another title")
    expect(window.sessions.row("Another title")).to_contain_text("7 messages")


def test_the_list_is_current_after_it_was_hidden(window: Window, teller: Teller, story: Story) -> None:
    expect(window.sessions.row(TITLE)).to_be_visible()
    window.sessions.header.click()
    expect(window.sessions.rows).to_have_count(0)
    teller.append(story.id, user("one more"))
    window.sessions.header.click()
    expect(window.sessions.row(TITLE)).to_contain_text("7 messages")


def test_the_list_is_current_after_the_daemon_was_restarted(
    window: Window, shell: Shell, teller: Teller, story: Story
) -> None:
    expect(window.sessions.row(TITLE)).to_be_visible()
    shell("stop")
    window.daemon_is("offline")
    teller.append(story.id, user("one more"))
    window.daemon_is("attached")
    expect(window.sessions.row(TITLE)).to_contain_text("7 messages")
    teller.append(story.id, user("and another"))
    expect(window.sessions.row(TITLE)).to_contain_text("8 messages")


def test_the_folder_of_the_window_has_the_sessions_of_its_repository(window: Window, teller: Teller) -> None:
    (teller.folder / ".git").mkdir()
    (teller.folder / ".git/HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    below = Teller(teller.locations, teller.folder / "keepers")
    below.folder.mkdir()
    below.create("zoo-keeper-1", user("Who feeds it?"), assistant("Ada."), title="Feed the lion")
    expect(window.sessions.row("Feed the lion")).to_contain_text("keepers")
    expect(window.sessions.row("Feed the lion")).to_have_attribute("aria-level", "2")
    expect(window.sessions.rows).to_have_count(3)


def test_only_sessions_that_match_the_filter_are_listed(window: Window, teller: Teller) -> None:
    teller.create("other-talk", user("Is the cat a liquid?"), assistant("Yes."), title="Cats")
    expect(window.sessions.row("Cats")).to_be_visible()
    window.command("sessiond: Filter Sessions")
    window.answer("cats")
    expect(window.sessions.row(TITLE)).to_have_count(0)
    teller.create("only-dogs", user("Bark?"), assistant("No."), title="Dogs")
    teller.create("more-cats", user("And dogs?"), assistant("No."), title="More cats")
    expect(window.sessions.row("More cats")).to_be_visible()
    expect(window.sessions.row(re.compile("^Dogs"))).to_have_count(0)
    window.command("sessiond: Clear Filter of Sessions")
    expect(window.sessions.row(re.compile("^Dogs"))).to_be_visible()
    expect(window.sessions.row(TITLE)).to_be_visible()


def test_a_deleted_session_is_restored_by_undo(window: Window, teller: Teller) -> None:
    window.sessions.act(TITLE, "Delete Session")
    expect(window.sessions.row(TITLE)).to_have_count(0)
    assert teller.call("session/list")["sessions"] == []
    window.press_in_message("to the trash", "Undo")
    expect(window.sessions.row(TITLE)).to_be_visible()
    assert len(teller.call("session/list")["sessions"]) == 1


def test_the_text_of_sessions_is_searched_while_the_user_types(window: Window, teller: Teller) -> None:
    teller.create(
        "other-talk", user("Is the cat a liquid?"), assistant("It takes the shape of its box."), title="Cats"
    )
    window.command("sessiond: Search Sessions")
    window.type_into_picker("shape bo")
    hit = window.options.filter(has_text="It takes the shape of its box.")
    expect(hit).to_be_visible()
    window.page.keyboard.press("Enter")
    expect(window.tree.row("It takes the shape of its box.")).to_be_visible()
    target = window.webview().locator("#path article.target")
    expect(target).to_contain_text("It takes the shape of its box.")


def test_two_entries_are_compared_side_by_side(window: Window, shell: Shell, story: Story) -> None:
    window.open_session(TITLE, WHY)
    window.tree.toggle("Fix it.")
    window.tree.menu("Done: it counts.", "Compare with Leaf")
    editor = window.page.locator(".monaco-diff-editor")
    expect(editor).to_contain_text("Done: it counts.")
    expect(editor).to_contain_text("It fails, as it should.")


def test_a_session_is_resumed_from_an_entry_in_another_agent_and_in_its_own(
    window: Window, server: Server, teller: Teller, story: Story
) -> None:
    # A folder, an id or a title may be hostile; the program gets its arguments without a shell between.
    codex = server.folder / "bin/codex"
    codex.parent.mkdir(exist_ok=True)
    codex.write_text(
        '#!/bin/sh\npwd > started\nprintf "%s\\n" "$@" >> started\nmv started started.txt\nread line\n',
        encoding="utf-8",
    )
    codex.chmod(0o755)
    teller.call("session/tag", sessionId=story.id, tags=["parser"])
    window.open_session(TITLE, WHY)
    window.tree.toggle("Fix it.")
    window.tree.menu("Done: it counts.", "Resume from Here in Another Agent…")
    window.pick("Codex")
    expect(window.dialog).to_contain_text("1 × tags")
    window.dialog.get_by_role("button", name="Resume").click()
    folder, *words = _started(teller)
    assert (folder, words[0]) == (str(teller.folder.resolve()), "resume")
    [written] = (server.folder / "home/.codex/sessions").rglob(f"rollout-*{words[1]}.jsonl")
    text = written.read_text(encoding="utf-8")
    assert "Done: it counts." in text
    assert "Write a failing test first." not in text
    lines = meta(id=OWN, cwd=str(teller.folder)), said("user", "Is it fast?"), said("assistant", "Yes.")
    path = write_codex(server.folder / "home", *lines, name=OWN)
    teller.call("session/import", path=str(path))
    window.sessions.menu("Is it fast?", "Resume in Its Agent")
    assert _started(teller) == [str(teller.folder.resolve()), "resume", OWN]


def _started(teller: Teller) -> list[str]:
    """The folder in which the program was started, and its arguments."""
    told = teller.folder / "started.txt"
    wait_until(told.exists)
    lines = told.read_text(encoding="utf-8").splitlines()
    told.unlink()
    return lines


def test_a_session_is_exported_into_its_folder(window: Window, shell: Shell) -> None:
    window.open_session(TITLE, WHY)
    window.sessions.menu(TITLE, "Export Session…")
    window.pick("Markdown")
    target = shell.folder / "the-last-line.md"
    window.accept(str(target))
    window.press_in_message("Wrote", "Open")
    expect(window.tab(re.compile(r"^the-last-line\.md"))).to_be_visible()
    assert "It fails, as it should." in target.read_text(encoding="utf-8")


ROBINS, WRENS = (f"0199a213-81c0-7800-8aa1-bbab2a035a{number}" for number in (55, 56))


def test_automated_sessions_are_counted_in_a_row_and_shown_by_a_click(
    window: Window, teller: Teller, story: Story
) -> None:
    expect(window.sessions.row(TITLE)).to_be_visible()
    teller.run_codex_exec(ROBINS, "count the robins")
    expect(window.sessions.row("1 automated session hidden")).to_be_visible()
    teller.run_codex_exec(WRENS, "count the wrens")
    hidden = window.sessions.row("2 automated sessions hidden")
    expect(hidden).to_be_visible()
    expect(window.sessions.rows).to_have_count(3)  # the folder, the session of a person, and this row
    hidden.click()
    expect(window.sessions.row("count the robins")).to_contain_text("automated")
    expect(window.sessions.row("count the wrens")).to_be_visible()
    expect(hidden).to_have_count(0)
    window.command("sessiond: Hide Automated Sessions")
    expect(hidden).to_be_visible()
    expect(window.sessions.row("count the robins")).to_have_count(0)


def test_the_picker_counts_automated_sessions_and_words_find_them(
    window: Window, teller: Teller, story: Story
) -> None:
    teller.run_codex_exec(ROBINS, "count the robins")
    window.command("sessiond: Open Session")
    hidden = window.options.filter(has_text="1 automated session hidden")
    expect(hidden).to_be_visible()
    expect(window.options.filter(has_text="count the robins")).to_have_count(0)
    hidden.click()
    expect(window.options.filter(has_text="count the robins")).to_be_visible()
    expect(hidden).to_have_count(0)
    window.page.keyboard.press("Escape")
    window.command("sessiond: Open Session")
    expect(hidden).to_be_visible()
    window.type_into_picker("robins")
    expect(window.options.filter(has_text="count the robins").first).to_be_visible()


def test_sessions_that_look_the_same_show_what_differs_in_the_list_and_the_picker(
    window: Window, teller: Teller
) -> None:
    for name in ("same-one-of-two", "same-two-of-two"):
        teller.create(name, user("hello"), assistant("hi"), title="The same")
    # If a minute began between the two, that is what differs.
    ends = [re.compile(rf"The same\W*({name}|[0-9]+:[0-9]+)") for name in ("same-two", "same-one")]
    expect(window.sessions.row("The same")).to_contain_text(ends)
    expect(window.sessions.row(TITLE)).to_contain_text(re.compile(rf"{TITLE}\W*now"))
    window.command("sessiond: Open Session")
    options = window.options.filter(has_text="The same")
    expect(options).to_contain_text(ends)
