"""The tree of a session in Neovim: what it shows, and its keys."""

import json  # noqa: TID251 - lines of a session file as others write them
from pathlib import Path
from random import Random

import pytest

from support.daemons import assistant, user
from support.neovim import Neovim, a_neovim
from support.stories import Story, Teller

pytestmark = [pytest.mark.editors, pytest.mark.timeout(180)]

DRAWN = [
    "● user       Why does it drop the last line?",
    "● assistant  [the cause] It stops at the last newline.",
    "└─○ user       Fix it.",
    "  ○ assistant  Done: it counts.",
    "● user       Write a failing test first.",
    "◉ assistant  It fails, as it should.",
]


def until_lines(nvim: Neovim, wanted: list[str]) -> None:
    nvim.until("vim.deep_equal(vim.api.nvim_buf_get_lines(0, 0, -1, false), ...)", wanted)


def highlight_at(nvim: Neovim, text: str) -> str:
    """Return the look of the first cell of a text on the screen."""
    nvim.lua("vim.api.nvim__inspect_cell(1, 0, 0)")  # the first call makes it number its highlights anew
    lines = nvim.screen()
    row = next(number for number, line in enumerate(lines) if text in line)
    column = len(lines[row][: lines[row].index(text)])
    looks: str = nvim.lua("return vim.inspect(vim.api.nvim__inspect_cell(1, ...)[2])", row, column)
    return looks


@pytest.mark.parametrize("program", ["nvim-0.10", "nvim-0.11", "nvim-newest"])
def test_a_tree_shows_forks_the_path_the_leaf_and_labels(teller: Teller, story: Story, program: str) -> None:
    with a_neovim(teller.locations, teller.folder, program=program) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        seen = nvim.see("The last line · 6 of 9", "◀ leaf")
        assert nvim.lines() == DRAWN
        (leaf,) = [line for line in seen if "◀ leaf" in line]
        assert "It fails, as it should." in leaf
        assert nvim.rpc.current.window.cursor[0] == 6
        nvim.see("└─○ user       Fix it.  (1 more)")
        nvim.keys("zR")
        nvim.see("Done: it counts.")
        assert highlight_at(nvim, "○ user       Fix") == highlight_at(nvim, "Fix it.")
        assert highlight_at(nvim, "● user       Why") != highlight_at(nvim, "Why does")


def test_a_tree_can_be_drawn_without_box_characters(teller: Teller, story: Story) -> None:
    with a_neovim(teller.locations, teller.folder, options={"tree": {"ascii": True}}) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("<- leaf")
        assert nvim.lines()[2:5] == [
            "`-o user       Fix it.",
            "  o assistant  Done: it counts.",
            "* user       Write a failing test first.",
        ]


def test_a_tree_shows_itself_after_the_list_of_sessions_over_a_new_file(
    teller: Teller, story: Story, tmp_path: Path
) -> None:
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command(f"edit {tmp_path / 'new.jsonl'}")
        nvim.keys(":Sessiond sessions<CR>")
        nvim.see("Sessions of this project", "The last line")
        nvim.keys("<CR>")
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        assert nvim.lines() == DRAWN


def test_an_append_by_another_client_appears_and_the_cursor_follows_the_leaf(
    teller: Teller, story: Story
) -> None:
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        teller.append(story.id, user("Now make it pass."))
        until_lines(
            nvim, [*DRAWN[:5], "● assistant  It fails, as it should.", "◉ user       Now make it pass."]
        )
        nvim.until("vim.api.nvim_win_get_cursor(0)[1] == 7")


def test_the_cursor_stays_on_its_entry_when_lines_come_above(teller: Teller, story: Story) -> None:
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        nvim.keys("5G")
        teller.append(story.id, user("And the first line?"), parentId=story.fixed)
        nvim.until("vim.api.nvim_buf_line_count(0) == 7")
        nvim.until("vim.api.nvim_get_current_line():find('Write a failing test first') ~= nil")
        nvim.keys("zRG")
        nvim.until("vim.api.nvim_get_current_line():find('And the first line') ~= nil")
        nvim.keys("5G")
        teller.branch(story.id, story.tested)
        nvim.until("vim.api.nvim_buf_get_lines(0, -2, -1, false)[1]:find('It fails') ~= nil")
        nvim.until("vim.api.nvim_get_current_line():find('Fix it') ~= nil")
        nvim.see("And the first line?")  # the branch with the cursor is open


def test_the_path_to_a_moved_leaf_loses_its_columns_and_the_former_path_is_folded(
    teller: Teller, story: Story
) -> None:
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        teller.branch(story.id, story.fix)
        until_lines(
            nvim,
            [
                *DRAWN[:2],
                "└─○ user       Write a failing test first.",
                "  ○ assistant  It fails, as it should.",
                "◉ user       Fix it.",
                "○ assistant  Done: it counts.",
            ],
        )
        nvim.until("vim.api.nvim_win_get_cursor(0)[1] == 5")
        nvim.see("6 of 10", "└─○ user       Write a failing test first.  (1 more)")
        teller.branch(story.id, None)
        until_lines(nvim, [line.replace("●", "○").replace("◉", "○") for line in DRAWN])
        nvim.see_not("◀ leaf")
        teller.branch(story.id, story.tested)
        until_lines(nvim, DRAWN)
        nvim.see("6 of 12", "◀ leaf")


def test_a_turn_without_text_is_shown_only_while_it_is_the_leaf(teller: Teller) -> None:
    call = {"type": "toolCall", "id": "c1", "name": "ls", "arguments": {}}
    turn = {"type": "message", "message": {"role": "assistant", "content": [call]}}
    asked, called = teller.create("atlas-silent", user("What is here?"), turn)
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command("Sessiond tree atlas-silent")
        until_lines(nvim, ["● user       What is here?", "◉ assistant  [tool: ls]"])
        teller.branch("atlas-silent", asked)
        until_lines(nvim, ["◉ user       What is here?"])
        teller.branch("atlas-silent", called)
        until_lines(nvim, ["● user       What is here?", "◉ assistant  [tool: ls]"])


def test_an_append_on_another_branch_moves_the_path(teller: Teller, story: Story) -> None:
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        teller.append(story.id, user("And the first line?"), parentId=story.fixed)
        until_lines(
            nvim,
            [
                *DRAWN[:2],
                "└─○ user       Write a failing test first.",
                "  ○ assistant  It fails, as it should.",
                "● user       Fix it.",
                "● assistant  Done: it counts.",
                "◉ user       And the first line?",
            ],
        )
        nvim.until("vim.api.nvim_win_get_cursor(0)[1] == 7")


def test_a_second_child_makes_a_fork(teller: Teller) -> None:
    first, second = teller.create("atlas-chain", user("One."), assistant("Two."))
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command("Sessiond tree atlas-chain")
        until_lines(nvim, ["● user       One.", "◉ assistant  Two."])
        teller.append("atlas-chain", assistant("Or three."), parentId=first)
        until_lines(nvim, ["● user       One.", "└─○ assistant  Two.", "◉ assistant  Or three."])
        teller.branch("atlas-chain", second)
        until_lines(nvim, ["● user       One.", "└─○ assistant  Or three.", "◉ assistant  Two."])


def test_labels_appear_and_disappear(teller: Teller, story: Story) -> None:
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("[the cause]")
        teller.label(story.id, story.fix, "quick")
        nvim.see("[quick] Fix it.")
        nvim.keys("2GL<C-u><CR>")
        nvim.see_not("[the cause]")
        (left,) = teller.call("session/tree", sessionId=story.id, filter="labeledOnly")["nodes"]
        assert left["label"] == "quick"


def test_a_long_label_leaves_room_for_the_text(teller: Teller, story: Story) -> None:
    with a_neovim(teller.locations, teller.folder, columns=160) as nvim:
        teller.label(story.id, story.because, "quick to write, and wrong for every empty file")
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("[quick to write, and wro…] It stops at")


def test_f_cycles_through_the_filters_and_the_command_takes_one(teller: Teller, story: Story) -> None:
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command(f"Sessiond tree {story.id} labeledOnly")
        until_lines(nvim, ["◉ assistant  [the cause] It stops at the last newline."])
        nvim.see("labeledOnly · 1 of 9")
        nvim.keys("f")
        nvim.see("· all · ")
        nvim.until("vim.api.nvim_buf_line_count(0) == 8")
        nvim.keys("fff")
        nvim.see("userOnly · 3 of 9")
        until_lines(
            nvim,
            [
                "● user       Why does it drop the last line?",
                "└─○ user       Fix it.",
                "◉ user       Write a failing test first.",
            ],
        )


def test_search_shows_the_rows_that_contain_all_words(teller: Teller, story: Story) -> None:
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        nvim.keys("sfailing test<CR>")
        until_lines(nvim, ["◉ user       Write a failing test first."])
        nvim.see("/failing test · 1 of 9")
        nvim.keys("s<C-u>nothing like it<CR>")
        nvim.see("No entry contains all of these words.")
        nvim.keys("s<C-u><CR>")
        until_lines(nvim, DRAWN)


def test_a_branch_is_folded_at_first_and_the_path_never(teller: Teller, story: Story) -> None:
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf", "└─○ user       Fix it.  (1 more)")
        nvim.see_not("Done: it counts.")
        nvim.keys("3Gl")
        nvim.see("Done: it counts.")
        teller.append(story.id, user("And now?"))
        nvim.see("And now?", "Done: it counts.")
        nvim.keys("3Gh")
        nvim.see_not("Done: it counts.")
        nvim.keys("zR")
        nvim.see_not("more)")
        nvim.keys("zM")
        nvim.see("(1 more)", "Why does it drop", "It fails, as it should.")


def test_the_fold_of_a_revealed_entry_is_opened(teller: Teller, story: Story) -> None:
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        nvim.see_not("Done: it counts.")
        nvim.lua("require('sessiond.tree.view').of(0):reveal(...)", story.fixed)
        nvim.see("Done: it counts.")


def test_the_movement_keys_go_where_the_help_says(teller: Teller, story: Story) -> None:
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")

        for keys, row in (
            ("gg]]", 3), ("]]", 5), ("[[", 3), ("[[", 1), ("}", 3), ("gg<lt>", 1), ("G", 6), ("P", 5), ("P", 2),
            ("{", 2), (".", 6), ("{", 3), ("<lt>", 2), (".", 6),
        ):  # fmt: skip
            nvim.keys(keys)
            nvim.until("vim.api.nvim_win_get_cursor(0)[1] == ...", row)
        nvim.keys("?")
        nvim.see("the keys of a tree", "Open the entry in the window beside")
        nvim.keys("G")
        nvim.see("Show or hide the keys")
        nvim.keys("q")
        nvim.see_not("the keys of a tree")
        nvim.keys("q")
        nvim.see_not("◀ leaf")


def test_keys_can_be_mapped_to_actions_and_left_unmapped(teller: Teller, story: Story) -> None:
    options = {"tree": {"keys": {"x": "leaf", "b": False}}}
    with a_neovim(teller.locations, teller.folder, options=options) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        nvim.keys("ggx")
        nvim.until("vim.api.nvim_win_get_cursor(0)[1] == 6")
        assert nvim.lua("return vim.fn.maparg('b', 'n')") == ""
        assert (
            nvim.lua("return vim.fn.maparg('a', 'n', false, true).desc") == "Write a message after this entry"
        )


def test_long_chains_stay_flat(teller: Teller) -> None:
    turns = [say(f"{turn}") for turn in range(40) for say in (user, assistant)]
    teller.create("atlas-long", *turns)
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command("Sessiond tree atlas-long")
        nvim.see("assistant  39", "· 80")
        assert {line[0] for line in nvim.lines()} == {"●", "◉"}


def test_hostile_text_neither_breaks_the_buffer_nor_runs(teller: Teller, tmp_path: Path) -> None:
    trap = tmp_path / "ran"
    hostile = (
        f"line\n\x1b[31mred\x1b]0;title\x07 \u202eover\u2028 %{{system('touch {trap}')}} "
        f"%{{%system('touch {trap}')%}} | call system('touch {trap}') <CR> \x00 \u009b2J"
    )
    entry = {"type": "message", "id": "h1", "message": {"role": "user\n\x1b[2J", "content": hostile}}
    teller.create("atlas-hostile", entry, assistant(hostile), title=f"%#Error#%{{system('touch {trap}')}}")
    teller.label("atlas-hostile", "h1", f"%{{%system('touch {trap}')%}}")
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command("Sessiond tree atlas-hostile")
        seen = nvim.see("◀ leaf")
        assert nvim.rpc.current.buffer.api.line_count() == 2
        assert seen[0].startswith("%#Error#%{system('touch ")
        written = "\n".join(nvim.lines())
        assert not any(character in written for character in "\x1b\x07\x00\u202e\u2028\u009b")
        assert "[31m" not in written
        nvim.keys("ggh")  # the text of a fold, and the label, are only text, too
        nvim.keys("<CR>")
        nvim.until("vim.tbl_contains(vim.api.nvim_buf_get_lines(0, 0, -1, false), '- Entry: h1')")
        assert not trap.exists()
    assert not trap.exists()


def test_a_lone_surrogate_in_a_response_is_decoded(teller: Teller, tmp_path: Path) -> None:
    path = tmp_path / "lone.jsonl"
    header = {"type": "session", "version": 3, "id": "atlas-lone", "timestamp": "2026-01-01T00:00:00.000Z"}
    said = r'{"role":"user","content":"half \ud83d of \ud83d\ude00"}'
    entry = f'{{"type":"message","id":"a1","parentId":null,"message":{said}}}'
    path.write_text(f"{json.dumps({**header, 'cwd': '/atlas'})}\n{entry}\n", encoding="utf-8")
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command(f"Sessiond open {path}")
        nvim.see("half")
        found = nvim.lua(
            "local page = require('sessiond').call('session/entries', { sessionId = 'atlas-lone' }, 40000)\n"
            "return page.items[1].entry.message"
        )
        assert found["content"] == "half \ufffd of 😀"


def write_session(path: Path, session_id: str, parents: list[int | None], words: str = "") -> None:
    """Write a session file with messages `e0`, `e1` and so on below the given ones. Each ends with some words."""
    stamp = "2026-01-01T00:00:00.000Z"
    header = {"type": "session", "version": 3, "id": session_id, "timestamp": stamp, "cwd": "/atlas"}
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(header) + "\n")
        for number, parent in enumerate(parents):
            entry = {
                "type": "message", "id": f"e{number}", "parentId": None if parent is None else f"e{parent}",
                "timestamp": stamp, "message": {"role": "user", "content": f"entry {number}{words}"},
            }  # fmt: skip
            file.write(json.dumps(entry) + "\n")


def chain(count: int) -> list[int | None]:
    """Parents of a chain in which every thousandth entry has a second child."""
    return [
        None if number == 0 else number - 2 if number % 1000 == 1 and number > 1 else number - 1
        for number in range(count)
    ]


def hold_rows(nvim: Neovim) -> None:
    """From now on the rows of trees that follow the first ones wait until `Release()` is called."""
    nvim.lua("""
      local client = require('sessiond.client')
      local notified, held, is_first = client.notified, {}, true
      Held = 0
      client.notified = function(method, note)
        if method ~= 'session/treeChanged' or is_first then
          is_first = is_first and method ~= 'session/treeChanged'
          notified(method, note)
        else
          Held = Held + 1
          table.insert(held, note)
        end
      end
      Release = function()
        client.notified = notified
        for _, note in ipairs(held) do notified('session/treeChanged', note) end
      end
    """)


def test_the_rows_around_the_leaf_are_shown_before_the_others_are_read(
    teller: Teller, tmp_path: Path
) -> None:
    write_session(tmp_path / "long.jsonl", "atlas-long", chain(3000))
    with a_neovim(teller.locations, teller.folder) as nvim:
        hold_rows(nvim)
        nvim.command(f"Sessiond open {tmp_path / 'long.jsonl'}")
        nvim.see("entry 2999", "◀ leaf")
        nvim.until("Held == 5")
        assert len(nvim.lines()) < 1000
        nvim.keys("10k")
        nvim.until("vim.api.nvim_get_current_line():find('entry 2989') ~= nil")
        before = nvim.screen()[1:20]
        nvim.lua("Release()")
        nvim.until("vim.api.nvim_buf_line_count(0) == 3000")
        assert nvim.lua("return vim.api.nvim_get_current_line()").endswith("entry 2989")
        assert nvim.screen()[1:20] == before, "the text stays where it is on the screen"


def test_changes_are_shown_after_the_other_rows(teller: Teller, tmp_path: Path) -> None:
    write_session(tmp_path / "long.jsonl", "atlas-long", chain(3000))
    with a_neovim(teller.locations, teller.folder) as nvim:
        hold_rows(nvim)
        nvim.command(f"Sessiond open {tmp_path / 'long.jsonl'}")
        nvim.see("entry 2999", "◀ leaf")
        teller.append("atlas-long", user("One more."))
        teller.label("atlas-long", "e2999", "the last one")
        teller.branch("atlas-long", "e2990")
        nvim.until("Held > 5")
        assert len(nvim.lines()) < 1000
        nvim.lua("Release()")
        nvim.until("vim.api.nvim_buf_line_count(0) == 3001")
        nvim.see("◉ user       entry 2990", "[the last one]")
        (sign,) = [line for line in nvim.lines() if "One more." in line]
        assert "○" in sign


def test_the_cursor_stays_on_its_entry_when_all_rows_come_in_several_notifications(
    teller: Teller, tmp_path: Path
) -> None:
    parents: list[int | None] = [None, *range(1200), 0, *range(1201, 2400)]
    write_session(tmp_path / "long.jsonl", "atlas-long", parents)
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command(f"Sessiond open {tmp_path / 'long.jsonl'}")
        nvim.see("entry 2400", "◀ leaf")
        nvim.until("vim.api.nvim_buf_line_count(0) == 2401")
        nvim.keys("gg/entry 2200$<CR>")
        nvim.until("vim.api.nvim_get_current_line():find('entry 2200') ~= nil")
        teller.branch("atlas-long", "e1200")
        nvim.until("vim.api.nvim_buf_get_lines(0, -2, -1, false)[1]:find('entry 1200') ~= nil")
        assert nvim.lua("return vim.api.nvim_get_current_line()").endswith("entry 2200")


def test_a_changed_tree_is_drawn_like_one_that_is_read_again(teller: Teller, tmp_path: Path) -> None:
    random = Random(19)
    # Mostly a chain, with branches from the last entries, from any entry, and several roots.
    parents: list[int | None] = [None]
    for number in range(1, 60):
        back = number - 1 if random.random() < 0.8 else random.randrange(max(number - 30, 0), number)
        parents.append(None if random.random() < 0.01 else back)
    write_session(tmp_path / "shape.jsonl", "atlas-shape", parents)
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command(f"Sessiond open {tmp_path / 'shape.jsonl'}")
        nvim.see("◀ leaf")
        for step in range(25):
            ids = [f"e{number}" for number in range(60)]
            match random.randrange(4):
                case 0:
                    teller.branch("atlas-shape", random.choice(ids))
                case 1:
                    teller.append("atlas-shape", user(f"step {step}"), parentId=random.choice(ids))
                case 2:
                    teller.label("atlas-shape", random.choice(ids), f"label {step}")
                case _:
                    teller.append("atlas-shape", user(f"step {step}"), assistant(f"done {step}"))
            read = nvim.lua("""
              local page = assert(require('sessiond').call('session/tree', {
                sessionId = 'atlas-shape', layout = 'path', openAll = true
              }))
              local rows = require('sessiond.tree.rows').new()
              rows:splice(0, 0, page.nodes)
              local tip
              for _, row in ipairs(page.nodes) do
                tip = row.onPath and row or tip
              end
              return require('sessiond.tree.draw').lines(rows.list, 1, #rows.list, tip)
            """)
            until_lines(nvim, read)


def test_a_cursor_that_the_user_moved_does_not_go_to_a_revealed_entry(teller: Teller, tmp_path: Path) -> None:
    write_session(tmp_path / "long.jsonl", "atlas-long", chain(3000))
    with a_neovim(teller.locations, teller.folder) as nvim:
        hold_rows(nvim)
        nvim.command(f"Sessiond open {tmp_path / 'long.jsonl'}")
        nvim.see("entry 2999", "◀ leaf")
        nvim.lua("require('sessiond.tree.view').of(0):reveal('e5')")
        nvim.keys("5k")
        nvim.until("vim.api.nvim_get_current_line():find('entry 2994') ~= nil")
        nvim.lua("Release()")
        nvim.until("vim.api.nvim_buf_line_count(0) == 3000")
        assert nvim.lua("return vim.api.nvim_get_current_line()").endswith("entry 2994")
        nvim.lua("require('sessiond.tree.view').of(0):reveal('e5')")
        nvim.until("vim.api.nvim_get_current_line():find('entry 5$') ~= nil")


def test_a_filter_keeps_the_cursor_at_the_nearest_shown_ancestor(teller: Teller, story: Story) -> None:
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        nvim.keys("zR4G")
        nvim.lua("require('sessiond.tree.view').of(0):set_filter('userOnly')")
        nvim.until("vim.api.nvim_buf_line_count(0) == 3")
        assert nvim.lua("return vim.api.nvim_get_current_line()").endswith("Fix it.")


@pytest.mark.timeout(500)
def test_a_hundred_thousand_entries_are_usable(teller: Teller, tmp_path: Path) -> None:
    count = 100_000
    write_session(tmp_path / "large.jsonl", "atlas-large", chain(count))
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command(f"Sessiond open {tmp_path / 'large.jsonl'}")
        nvim.see("entry 99999", "◀ leaf")
        nvim.until(f"vim.api.nvim_buf_line_count(0) == {count}", bound=300)
        nvim.see("entry 99999", "◀ leaf")
        teller.append("atlas-large", user("One more."))
        nvim.see("One more.")
        teller.branch("atlas-large", "e50000")
        nvim.see("◉ user       entry 50000")
        nvim.until(f"vim.api.nvim_buf_line_count(0) == {count + 1}", bound=300)
        nvim.keys("gg/entry 54321<CR>")
        nvim.see("entry 54321")
        nvim.keys("<CR>")
        nvim.see("Entry: e54321")
