"""Walking in a tree: what is seen, where the cursor goes, what is folded and found."""

import pytest

from sessiond.tui.rows import Rows
from sessiond.tui.tree_view import TreeView
from support.browsing import SESSION, STORY, a_desk, a_screen_of, said
from support.daemons import assistant, user
from support.waiting import until


async def test_a_tree_opens_at_its_leaf() -> None:
    async with a_desk(*STORY) as desk, a_screen_of(desk, (80, 9)) as screen:
        await screen.shows(
            "The last line                                                    /home/ada/atlas\n"
            "● user       Why does it drop the last line?                          59 min ago\n"
            "● assistant  It stops at the last newline.                            58 min ago\n"
            "└─▸ user       Fix it.  (1 more)                                      57 min ago\n"
            "● user       Write a failing test first.                              55 min ago\n"
            "◉ assistant  It fails, as it should.                          ◀ leaf  54 min ago\n"
            "\n"
            "\n"
            "default                                                              6/6  ? help"
        )
        assert screen.current == "a3"


async def test_a_long_session_is_read_from_its_leaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while the connection is made, when the first attempt to read has failed."""
    shown: list[str | None] = []
    show = TreeView.show

    def recorded(view: TreeView, rows: Rows, current: str | None) -> None:
        show(view, rows, current)
        shown.append(view.current)

    monkeypatch.setattr(TreeView, "show", recorded)
    chain = [said(f"e{number}", 1, user(f"entry {number}")) for number in range(1_000)]
    async with a_desk(*chain) as desk, a_screen_of(desk):
        assert len(shown) > 1
        assert set(shown) == {"e999"}


async def test_a_terminal_without_box_characters_gets_plain_ones() -> None:
    more = said("q4", 7, user("naïve 字"))
    async with a_desk(*STORY, more) as desk, a_screen_of(desk, (80, 11), encoding="ascii") as screen:
        await screen.see(r"`-\+ user")
        await screen.see(r"na\?ve \? .*<- leaf")
        assert screen.text.isascii()
        for size in [(60, 12), (120, 8)]:
            await screen.pilot.resize_terminal(*size)
            await screen.keys("p", "g", "g")
            await until(lambda: screen.text.isascii())
            await screen.keys("question_mark")
            await screen.see("a line down")
            assert screen.text.isascii()
            await screen.keys("escape")


async def test_the_keys_go_where_they_say() -> None:
    async with a_desk(*STORY) as desk, a_screen_of(desk) as screen:
        for keys, entry in [
            (["k"], "q3"), (["up"], "q2"), (["down"], "q3"), (["j"], "a3"), (["g", "g"], "q1"), (["G"], "a3"),
            (["home"], "q1"), (["end"], "a3"), (["P"], "q3"), (["("], "q2"), ([")"], "q3"), (["{"], "q2"),
            (["}"], "q3"), (["[", "["], "q2"), (["[", "["], "q1"), (["]", "]"], "q2"), (["."], "a3"), (["h"], "q3"),
            (["pageup"], "q1"), (["pagedown"], "a3"), (["ctrl+u"], "q1"),
        ]:  # fmt: skip
            await screen.keys(*keys)
            assert (keys, screen.current) == (keys, entry)


async def test_a_key_that_means_nothing_alone_waits_for_the_next_one_only() -> None:
    async with a_desk(*STORY) as desk, a_screen_of(desk) as screen:
        await screen.keys("[", "k", "[")
        assert screen.current == "q3"
        await screen.keys("k")
        assert screen.current == "q2"


async def test_a_branch_is_folded_and_opened() -> None:
    async with a_desk(*STORY) as desk, a_screen_of(desk) as screen:
        await screen.see(r"└─▸ user +Fix it\.  \(1 more\)")
        await screen.keys("k", "k", "l")
        assert screen.current == "q2"
        await screen.see("  ○ assistant +Done: it counts")
        await screen.keys("l")
        assert screen.current == "a2"
        await screen.keys("h", "h")
        await screen.see_not("it counts")
        await screen.keys("j")
        assert screen.current == "q3"


async def test_rows_beside_the_path_are_folded_at_once() -> None:
    async with a_desk(*STORY) as desk, a_screen_of(desk) as screen:
        await screen.see_not("it counts")
        await screen.keys("+")
        await screen.see("it counts")
        await screen.keys("-")
        await screen.see_not("it counts")
        await screen.see("as it should")


async def test_a_filter_keeps_the_cursor_where_it_was_or_near() -> None:
    async with a_desk(*STORY) as desk, a_screen_of(desk) as screen:
        await screen.keys("k", "k", "l", "l")
        assert screen.current == "a2"
        await screen.keys("3")
        await screen.at("q2")
        await screen.see("^userOnly .* 2/3")
        await screen.see_not("assistant")
        await screen.keys("v")
        await screen.see("No entry matches the filter labeledOnly.")
        await screen.keys("1")
        await screen.see("assistant")


async def test_a_search_finds_what_rows_do_not_show_and_goes_round() -> None:
    long = said("q4", 7, user("word " * 60 + "needle"))
    async with a_desk(*STORY, long) as desk, a_screen_of(desk) as screen:
        await screen.keys("slash")
        await screen.type("last")
        await screen.keys("enter")
        await screen.see(r"/last \d/2 ")
        first = screen.current
        await screen.keys("n")
        assert {first, screen.current} == {"q1", "a1"}
        await screen.keys("n")
        assert screen.current == first
        await screen.keys("N")
        assert screen.current != first
        await screen.keys("slash")
        await screen.type("needle")
        await screen.at("q4")
        await screen.keys("enter")
        await screen.see("/needle 1/1 ")


async def test_a_search_that_is_given_up_leaves_the_cursor_where_it_was() -> None:
    async with a_desk(*STORY) as desk, a_screen_of(desk) as screen:
        await screen.keys("slash")
        await screen.type("why")
        await screen.at("q1")
        await screen.keys("escape")
        await screen.at("a3")
        await screen.see_not("/why")


async def test_only_entries_with_some_words_are_shown_when_that_is_wanted() -> None:
    async with a_desk(*STORY) as desk, a_screen_of(desk) as screen:
        await screen.keys("s")
        await screen.type("failing")
        await screen.keys("enter")
        await screen.see_not("Why does")
        await screen.see("only with: failing")
        await screen.keys("s", *["backspace"] * 7, "enter")
        await screen.see("Why does")


async def test_the_pane_shows_an_entry_as_markdown() -> None:
    async with a_desk(*STORY) as desk, a_screen_of(desk, (120, 12), pane=True) as screen:
        await screen.keys("g", "g", "j")
        await screen.see("│ It stops at the last newline.")
        await screen.see("│ Assistant  a1")
        await screen.keys("p")
        await screen.see_not("Assistant  a1")


async def test_the_pane_is_below_where_the_screen_is_narrow_and_gone_where_it_is_small() -> None:
    async with a_desk(*STORY) as desk, a_screen_of(desk, (60, 20), pane=True) as screen:
        await screen.see("^Assistant  a3")
        for size in [(20, 5), (5, 2), (1, 1), (2, 3), (200, 60)]:
            await screen.pilot.resize_terminal(*size)
        await screen.see("│ Assistant  a3")


async def test_the_mouse_selects_and_folds() -> None:
    async with a_desk(*STORY) as desk, a_screen_of(desk) as screen:
        await screen.pilot.click(offset=(30, 3))
        assert screen.current == "q2"
        await screen.pilot.click(offset=(2, 3))
        await screen.see("it counts")
        await screen.pilot.click(offset=(2, 3))
        await screen.see(r"Fix it\.  \(1 more\)")


async def test_a_click_beside_a_question_does_not_take_its_keys_away() -> None:
    async with a_desk(*STORY) as desk, a_screen_of(desk) as screen:
        await screen.keys("L")
        await screen.pilot.click(offset=(30, 3))
        await screen.type("bqx")
        await screen.see("^Label .*bqx")
        await screen.keys("escape", "k")
        assert screen.current == "a1"


async def test_the_help_lists_every_key_and_goes_away() -> None:
    async with a_desk(*STORY) as desk, a_screen_of(desk, (100, 60)) as screen:
        await screen.keys("question_mark")
        await screen.see("search as you type")
        await screen.keys("q")
        await screen.see("as it should")


async def test_a_session_with_nothing_in_it_says_so() -> None:
    async with a_desk() as desk:
        browser = a_screen_of(desk)
        async with browser as screen:
            await screen.see("There are no messages yet.")
            await screen.keys("j", "k", "h", "l", "space", "b", "f", "L", "n", "P", ".", "y", "e", "p", "tab")
            await desk.append(said("q1", 1, user("Hello?")))
            await screen.see("Hello")
            assert screen.current == "q1"


NASTY = (
    "\x1b]0;owned\x07\x1b[31mred\x1b[0m [bold]markup[/bold] \u202eevil\u202c z\u200be\u0301ro"
    " \U0001f469\u200d\U0001f4bb 字字"
)


async def test_hostile_text_is_only_text() -> None:
    entry = said("n1", 1, user(NASTY + "\n\n&#27;[2J <script> [link](javascript:x) ![i](http://x/y.png)"))
    async with a_desk(entry, said("a1", 2, assistant(NASTY * 50))) as desk:
        await desk.peer.call(
            "session/label", sessionId=SESSION, entryId="n1", label="[red]\x1b[2Jl\u202eabel"
        )
        await desk.peer.call("session/rename", sessionId=SESSION, title="[blink]t\x1b[2J")
        async with a_screen_of(desk, (120, 20), pane=True) as screen:
            await screen.keys("k")
            await screen.see("User  n1")
            await screen.see(r"\[red\]label")
            await screen.see(r"\[bold\]markup\[/bold\]")
            for character in ("\x1b", "\x07", "\u202e", "\u200b"):
                assert character not in screen.text
            await screen.keys("L")
            await screen.see(r"Label .*\[red\]label")
            await screen.keys("escape", "slash")
            await screen.type("markup")
            await screen.keys("enter", "f")
            await screen.see("Fork at n1")
            await screen.keys("escape")
