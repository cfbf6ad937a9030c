"""Actions from a tree: branches, forks, labels; and the changes of others, seen as they happen."""

import os
import subprocess
from pathlib import Path

import pytest

from sessiond.client.receiver import NotificationParams
from sessiond.protocol import types as t
from support.browsing import SESSION, STORY, a_desk, a_screen_of, said
from support.daemons import assistant, user
from support.waiting import until


async def test_a_label_is_given_changed_and_taken_away() -> None:
    async with a_desk(*STORY) as desk, a_screen_of(desk) as screen:
        await screen.keys("g", "g", "L")
        await screen.see("^Label")
        await screen.type("why")
        await screen.keys("enter")
        await screen.see(r"● user       \[why\] Why does it")
        await screen.keys("L", *["backspace"] * 3, "enter")
        await screen.see_not(r"\[why\]")


async def test_the_leaf_is_moved_after_a_question_and_moved_back() -> None:
    async with a_desk(*STORY) as desk, a_screen_of(desk) as screen:
        await screen.keys("g", "g", "j", "b")
        await screen.see(r"Move the leaf to a1 \(It stops .*\)\? \(y/n\)")
        await screen.keys("n")
        await screen.see("◉ assistant  It fails")
        await screen.keys("enter", "y")
        await screen.see("◉ assistant  It stops")
        assert (await desk.session()).leaf_id == "a1"
        await screen.keys("u")
        await screen.see("◉ assistant  It fails")
        assert (await desk.session()).leaf_id == "a3"


async def test_a_move_that_somebody_has_gone_on_from_is_not_taken_back() -> None:
    async with a_desk(*STORY) as desk, a_screen_of(desk) as screen:
        await screen.keys("g", "g", "j", "b", "y")
        await screen.see("◉ assistant  It stops")
        await desk.append(said("q4", 7, user("Or leave it.")))
        await screen.see("◉ user       Or leave it")
        await screen.keys("u")
        await screen.see("changed since that move")
        assert (await desk.session()).leaf_id == "q4"


async def test_a_refusal_of_the_daemon_is_shown_in_its_words() -> None:
    async with a_desk(*STORY) as desk, a_screen_of(desk, (120, 12)) as screen:
        await screen.keys("g", "g", "B", "enter")
        await screen.see("^(?!default).*summar.*$")
        await screen.keys("j")
        assert screen.current == "a1"


async def test_a_fork_is_opened() -> None:
    async with a_desk(*STORY) as desk, a_screen_of(desk) as screen:
        await screen.keys("g", "g", "j", "f")
        await screen.see("Fork at a1")
        await screen.type("Anew")
        await screen.keys("enter")
        await screen.see("^Anew")
        await screen.see("2/2")
        await screen.at("a1")
        await screen.keys("o")
        await screen.see("The last line")
        await screen.type("anew")
        await screen.see_not("│.*The last line")
        await screen.keys(*["backspace"] * 4)
        await screen.see("│.*The last line")
        await screen.keys("down", "enter")
        await screen.see("^The last line")
        await screen.see("6/6")


async def test_entries_of_others_are_followed_at_the_leaf_and_counted_elsewhere() -> None:
    async with a_desk(*STORY) as desk, a_screen_of(desk) as screen:
        await desk.append(said("q4", 7, user("And now?")))
        await screen.see("◉ user       And now")
        await screen.at("q4")
        await screen.keys("g", "g")
        await desk.append(said("a4", 8, assistant("Now it works.")), said("q5", 9, user("Thanks.")))
        await screen.see("2 new ↓")
        assert screen.current == "q1"
        await screen.keys(".")
        await screen.at("q5")
        await screen.see_not("new ↓")


async def test_entries_that_arrive_in_several_notifications_are_counted() -> None:
    async with a_desk(*STORY) as desk, a_screen_of(desk) as screen:
        await screen.keys("g", "g")
        await desk.append(*[said(f"e{number}", 7, user("more")) for number in range(1_200)])
        await screen.see("1,200 new ↓")


async def test_the_former_rows_are_drawn_until_all_of_several_notifications_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with a_desk(*STORY) as desk:
        for name in "ef":
            rows = [said(f"{name}{number}", 7, user("more")) for number in range(1_200)]
            await desk.append(*rows, parentId="a1")
        async with a_screen_of(desk) as screen:
            view, received = screen.browser.view, screen.browser.received
            drawn = []

            def received_and_drawn(note: NotificationParams) -> None:
                received(note)
                if isinstance(note, t.TreeChangedNote) and note.more:
                    drawn.append([view.render_line(line).text.rstrip() for line in range(view.size.height)])
                    view.step(-1)

            await screen.at("f1199")
            monkeypatch.setattr(screen.browser, "received", received_and_drawn)
            await screen.keys("k")
            before = [view.render_line(line).text.rstrip() for line in range(view.size.height)]
            await desk.peer.call("session/branch", sessionId=SESSION, entryId="e1199")
            await until(lambda: view.rows.ids[-1] == "e1199")
            assert drawn[0] == before
            await screen.at(f"f{1198 - len(drawn)}")


async def test_a_branch_that_others_make_is_drawn_as_one() -> None:
    async with a_desk(*STORY[:4]) as desk, a_screen_of(desk) as screen:
        await screen.keys("k")
        await desk.append(*STORY[4:])
        await screen.see("^● user       Write a failing")
        await screen.see("└─[▸○] user       Fix it")
        assert screen.current == "q2"


async def test_a_second_root_is_drawn_as_one() -> None:
    async with a_desk(*STORY[:2]) as desk, a_screen_of(desk) as screen:
        await desk.append(said("r2", 9, user("Something else.")), parentId=None)
        await screen.see("└─▸ user       Why does")
        await screen.see("^◉ user       Something else")


async def test_a_turn_without_words_is_shown_only_while_it_is_the_leaf() -> None:
    call = said("c1", 7, assistant(""), parentId="a3")
    call["message"]["content"] = [{"type": "toolCall", "id": "t1", "name": "read", "arguments": {}}]
    async with a_desk(*STORY) as desk, a_screen_of(desk) as screen:
        await desk.append(call)
        await screen.see("7/7")
        result = {
            "role": "toolResult",
            "toolCallId": "t1",
            "toolName": "read",
            "content": [],
            "isError": False,
        }
        await desk.append(said("r1", 8, {"type": "message", "message": result}))
        await screen.see("◉ tool")
        await screen.see("7/7")
        await screen.at("r1")


async def test_the_screen_shows_what_the_daemon_says_whatever_happens() -> None:
    async with a_desk(*STORY) as desk, a_screen_of(desk, filter="all") as screen:
        for number in range(12):
            parent = ("q1", "a1", "q2", "a3")[number % 4]
            await desk.append(said(f"n{number}", 10 + number, user(f"number {number}")), parentId=parent)
            await desk.peer.call("session/label", sessionId=SESSION, entryId=f"n{number}", label=f"l{number}")
            if number % 3 == 0:
                await desk.peer.call("session/branch", sessionId=SESSION, entryId="a2")
        tree = await desk.peer.call(
            "session/tree", sessionId=SESSION, filter="all", layout="path", openAll=True
        )
        wanted = [(node["id"], node["depth"], node["onPath"], node["label"] or "") for node in tree["nodes"]]

        def shown() -> list[tuple[str, int, bool, str]]:
            rows = screen.browser.view.rows
            return [
                (name, rows.depths[at], bool(rows.on_path[at]), rows.labels.get(name, ""))
                for at, name in enumerate(rows.ids)
            ]

        await until(lambda: shown() == wanted)
        drawn = list(screen.browser.view.rows.gutters)
        screen.browser.contents.refresh()
        await until(lambda: screen.browser.is_settled)
        assert screen.browser.view.rows.gutters == drawn


async def test_a_session_that_is_deleted_says_so_and_stays() -> None:
    async with a_desk(*STORY) as desk, a_screen_of(desk) as screen:
        await desk.peer.call("session/delete", sessionId=SESSION)
        await screen.see("moved to the trash")
        await screen.keys("k")
        assert screen.current == "q3"
        await screen.keys("L")
        await screen.type("x")
        await screen.keys("enter")
        await screen.see("trash")


def test_an_editor_gets_the_text_of_the_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", f"cp -t {tmp_path}")
    from sessiond.tui import outside

    with outside.private_copy("all of it") as path:
        subprocess.run([*outside.program(os.environ), path], check=True)
    assert (tmp_path / "entry.md").read_text(encoding="utf-8") == "all of it\n"
    assert (tmp_path / "entry.md").stat().st_mode & 0o077 == 0
