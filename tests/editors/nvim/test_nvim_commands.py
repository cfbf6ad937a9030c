"""The subcommands of `:Sessiond`, as they are typed."""

from pathlib import Path

import pytest

from support.columns import entries_of
from support.commands import Shell
from support.daemons import assistant, user
from support.neovim import Neovim, a_neovim
from support.stories import Story, Teller, parser_story

pytestmark = [pytest.mark.editors, pytest.mark.timeout(180)]


def completed(nvim: Neovim, typed: str) -> list[str]:
    found: list[str] = nvim.rpc.call("getcompletion", typed, "cmdline")
    return found


def completes(nvim: Neovim, typed: str, wanted: list[str]) -> None:
    """Wait for a completion: one that has to ask the daemon gives up after two seconds, as a person would."""
    nvim.until("vim.deep_equal(vim.fn.getcompletion(..., 'cmdline'), select(2, ...))", typed, wanted)


def shown_tree(nvim: Neovim, story: Story) -> None:
    nvim.command(f"Sessiond tree {story.id}")
    nvim.see("◀ leaf")


def test_subcommands_and_their_arguments_are_completed(shell: Shell, teller: Teller, story: Story) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        assert {
            "tree",
            "sessions",
            "open",
            "continue",
            "new",
            "append",
            "fork",
            "branch",
            "label",
            "search",
        } <= {*completed(nvim, "Sessiond ")}
        assert {"context", "export", "log", "restart", "info", "doctor"} <= {*completed(nvim, "Sessiond ")}
        assert completed(nvim, "Sessiond exp") == ["export"]
        assert completed(nvim, "Sessiond export mark") == ["markdown"]
        completes(nvim, "Sessiond tree la", ["labeledOnly"])
        completes(nvim, "vertical Sessiond! open atl", [story.id])
        shown_tree(nvim, story)
        completes(nvim, f"Sessiond branch {story.fix[:7]}", [story.fix])
        completes(nvim, "Sessiond branch the", ["the\\ cause"])
        completes(nvim, "Sessiond fork @", ["@"])
        teller.call("session/delete", sessionId=story.id)
        completes(nvim, "Sessiond restore ", [story.id])


def test_a_message_is_written_in_a_buffer_and_appended_by_write(
    shell: Shell, teller: Teller, story: Story
) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        shown_tree(nvim, story)
        nvim.keys("zR4Ga")
        nvim.see(f"A message after {story.fixed}; :write appends it")
        nvim.keys("iTwo lines<CR>of a question<Esc>:w<CR>")
        nvim.see("user       Two lines of a question")
        nvim.see_not(":write appends it")
        (entry,) = [
            node
            for node in teller.call("session/tree", sessionId=story.id)["nodes"]
            if node["preview"] == "Two lines of a question"
        ]
        assert entry["parentId"] == story.fixed


def test_a_message_that_is_written_twice_before_the_response_is_appended_once(
    shell: Shell, teller: Teller, story: Story
) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        shown_tree(nvim, story)
        nvim.keys("zR4Ga")
        nvim.see(":write appends it")
        nvim.keys("iOnce only<Esc>:silent! write | silent! write<CR>")
        nvim.see_not(":write appends it")
        nvim.command("Sessiond append What comes behind it.")
        nvim.see("What comes behind it.")
        nodes = teller.call("session/tree", sessionId=story.id)["nodes"]
        assert [node["preview"] for node in nodes].count("Once only") == 1


def test_the_lines_of_a_range_are_appended(shell: Shell, teller: Teller, story: Story) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        shown_tree(nvim, story)
        nvim.command("wincmd p")
        nvim.rpc.current.buffer[:] = ["not this", "def f():", "    return 1"]
        nvim.command("2,3Sessiond append")
        nvim.see("◉ user       def f(): return 1")
        (entry,) = entries_of(teller.call("session/path", sessionId=story.id))[-1:]
        assert entry["message"]["content"] == "def f():\n    return 1"


def test_the_leaf_is_moved_with_b(shell: Shell, teller: Teller, story: Story) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        shown_tree(nvim, story)
        nvim.keys("zR4Gb")
        nvim.see("◉ assistant  Done: it counts.")
        assert teller.call("session/info", sessionId=story.id)["session"]["leafId"] == story.fixed


def test_the_newest_entries_of_a_long_session_are_completed(shell: Shell, teller: Teller) -> None:
    ids = teller.create("atlas-long", *[say(f"{turn}") for turn in range(600) for say in (user, assistant)])
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.command("Sessiond tree atlas-long")
        nvim.see("◀ leaf")
        completes(nvim, f"Sessiond branch {ids[-1]}", [ids[-1]])
        completes(nvim, f"Sessiond branch {ids[0]}", [])


def test_an_entry_is_named_by_its_label_its_id_or_as_the_leaf(
    shell: Shell, teller: Teller, story: Story
) -> None:
    def leaf() -> str:
        found: str = teller.call("session/info", sessionId=story.id)["session"]["leafId"]
        return found

    teller.label(story.id, story.why, story.fix)  # an id that is also a label
    with a_neovim(shell.locations, shell.folder, columns=250) as nvim:
        shown_tree(nvim, story)
        nvim.command("Sessiond branch the\\ cause")
        nvim.see("◉ assistant  [the cause]")
        assert leaf() == story.because
        nvim.command(f"Sessiond branch {story.fix}")
        nvim.see("◉ user       Fix it.")
        nvim.command("Sessiond context @")
        nvim.see("# Context", "3 messages", f"## user · {story.fix}")
        nvim.lua("vim.notify = function(text) told = text end")
        nvim.command("Sessiond branch nothing-like-it")
        nvim.until("told")
        assert "There is no entry 'nothing-like-it'" in nvim.lua("return told")
        teller.label(story.id, story.fixed, "the cause")
        before = leaf()
        nvim.lua("told = nil")
        nvim.command("Sessiond branch the\\ cause")
        nvim.until("told")
        assert "Entry name 'the cause' is ambiguous" in nvim.lua("return told")
        assert leaf() == before


def test_a_labeled_entry_is_chosen_and_shown_in_the_tree(shell: Shell, teller: Teller, story: Story) -> None:
    teller.label(story.id, story.fixed, "quick")
    with a_neovim(shell.locations, shell.folder) as nvim:
        shown_tree(nvim, story)
        nvim.lua("""vim.ui.select = function(items, options, chosen)
            offered = vim.tbl_map(options.format_item, items)
            chosen(items[2])
        end""")
        nvim.command("Sessiond labels")
        nvim.until("vim.api.nvim_win_get_cursor(0)[1] == 4")
        first, second = nvim.lua("return offered")
        assert first.startswith("the cause ")
        assert second.endswith("assistant: Done: it counts.")
        nvim.command(f"edit sessiond://session/{story.id}/entry/{story.because}.md")
        nvim.see("It stops at the last newline.")
        nvim.keys(":Sessiond label<CR>")
        nvim.see("Label (empty: none): the cause")
        nvim.keys("<Esc>")


def test_a_fork_is_made_and_shown_with_its_title(shell: Shell, story: Story) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        shown_tree(nvim, story)
        nvim.command(f"Sessiond fork {story.fixed} The quick fix")
        nvim.see("The quick fix · ", "◉ assistant  Done: it counts.")


def test_sessions_are_chosen_by_vim_ui_select(shell: Shell, teller: Teller, story: Story) -> None:
    other = parser_story(teller, "borealis-1", "Something else")
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.lua("""vim.ui.select = function(items, options, chosen)
            asked = { prompt = options.prompt, kind = options.kind, lines = vim.tbl_map(options.format_item, items) }
            chosen(items[1])
        end""")
        nvim.command("Sessiond sessions")
        nvim.see("Something else · ")
        asked = nvim.lua("return asked")
        assert asked["prompt"] == "Sessions of this project"
        assert len(asked["lines"]) == 2
        nvim.command("Sessiond sessions atlas-parser")
        nvim.see("The last line · ")
        nvim.command("Sessiond! sessions")
        nvim.until("asked.prompt == 'All sessions'")
        assert other.id


def test_a_picker_whose_list_arrives_late_does_not_disturb_the_next_command(
    shell: Shell, story: Story
) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.lua("""
          local client = require('sessiond.client')
          local request = client.request
          held, asked = {}, 0
          client.request = function(method, ...)
            local rest = { ... }
            local function send() request(method, unpack(rest)) end
            if method == 'session/list' then table.insert(held, send) else send() end
          end
          Release = function()
            local sends = held
            held = {}
            for _, send in ipairs(sends) do send() end
          end
          vim.ui.select = function() asked = asked + 1 end
        """)
        nvim.command("Sessiond sessions")
        nvim.until("#held == 1")
        nvim.keys(f":Sessiond tree {story.id}")
        nvim.lua("Release()")
        nvim.keys("<CR>")
        nvim.see("The last line · ", "◀ leaf")
        nvim.command("Sessiond sessions")
        nvim.until("#held == 1")
        nvim.keys(":")
        nvim.lua("Release()")
        nvim.keys("<Esc>")
        nvim.until("asked == 1")  # nothing but a command line was in its way


def test_a_session_is_opened_by_its_file_and_by_a_part_of_its_id(
    shell: Shell, teller: Teller, story: Story
) -> None:
    path = teller.call("session/info", sessionId=story.id)["session"]["path"]
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.command(f"Sessiond open {path}")
        nvim.see("The last line · ", "◀ leaf")
        nvim.command("close")
        nvim.command("Sessiond open atlas")
        nvim.see("The last line · ", "◀ leaf")


def test_continue_resumes_the_session_of_the_terminal(shell: Shell, story: Story) -> None:
    with a_neovim(shell.locations, shell.folder, terminal="mine") as nvim:
        nvim.command("Sessiond continue")
        nvim.see("The last line · ", "◀ leaf")
    with a_neovim(shell.locations, shell.folder, terminal="mine") as nvim:
        nvim.command("Sessiond continue")
        nvim.see("Last session used in this terminal.", "The last line · ")


def test_hits_are_in_the_quickfix_list_and_open_their_entries(shell: Shell, story: Story) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.command("Sessiond search failing test")
        nvim.see("Write a failing test first.")
        assert nvim.lua("return vim.bo.buftype") == "quickfix"
        nvim.keys("<CR>")
        nvim.see("# User", "Write a failing test first.")
        assert f"- Entry: {story.write_test}" in nvim.lines()
        nvim.keys("-")
        nvim.until("(vim.b.sessiond_title or ''):find('The last line') ~= nil")
        nvim.until("vim.api.nvim_get_current_line():find('Write a failing test') ~= nil")


def test_the_context_of_an_entry_is_shown(shell: Shell, teller: Teller, story: Story) -> None:
    with a_neovim(shell.locations, shell.folder, lines=60) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        nvim.keys("zR4Gc")
        nvim.see("# Context", "## assistant", "Done: it counts.")
        assert not any("failing test first" in line for line in nvim.lines())


def test_export_shows_a_transcript_or_writes_it_to_a_file(shell: Shell, story: Story) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        shown_tree(nvim, story)
        nvim.command("Sessiond export transcript.md")
        nvim.until("vim.fn.execute('messages'):find('Wrote ') ~= nil")
        assert "Write a failing test first." in (shell.folder / "transcript.md").read_text(encoding="utf-8")
        nvim.lua("vim.notify = function(text) refused = text end")
        nvim.command("Sessiond export markdown transcript.md")
        nvim.until("refused")
        nvim.command("Sessiond! export markdown transcript.md")
        nvim.command("Sessiond export")
        nvim.until("vim.bo.filetype == 'markdown' and vim.fn.search('Write a failing test', 'nw') > 0")


def test_a_session_is_renamed_deleted_and_restored(shell: Shell, teller: Teller, story: Story) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        shown_tree(nvim, story)
        nvim.command("Sessiond rename A better title")
        nvim.see("A better title · ")
        nvim.command("Sessiond! delete")
        nvim.see("in the trash")
        nvim.command(f"Sessiond restore {story.id}")
        nvim.until("vim.fn.execute('messages'):find('Restored to') ~= nil")
        nvim.see_not("in the trash")
        teller.append(story.id, user("Alive."))
        nvim.see("Alive.")


def test_info_shows_the_state_of_the_daemon_and_log_opens_its_log(shell: Shell, story: Story) -> None:
    with a_neovim(shell.locations, shell.folder, columns=160, lines=40) as nvim:
        shown_tree(nvim, story)
        nvim.command("Sessiond info")
        nvim.see("process ", shell.locations.socket, f"session {story.id}")
        nvim.command("Sessiond log")
        assert nvim.rpc.current.buffer.name == shell.locations.log


def test_an_unknown_subcommand_is_an_error(shell: Shell) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.keys(":Sessiond dance<CR>")
        nvim.until("vim.fn.execute('messages'):find('unknown subcommand dance') ~= nil")


def test_two_entries_are_compared_side_by_side(shell: Shell, story: Story) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        shown_tree(nvim, story)
        nvim.keys("zR4GD")
        nvim.see("Done: it counts.", "It fails, as it should.")
        assert nvim.lua("return vim.wo.diff")


def test_the_lua_api_has_all_methods_with_and_without_a_callback(
    shell: Shell, teller: Teller, story: Story, tmp_path: Path
) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        info = nvim.lua(
            "local api = require('sessiond').api\n"
            "api.session.append({ sessionId = ..., entries = { { type = 'custom', customType = 'x' } } },"
            " function(err, result) appended = result end)\n"
            "return api.session.info({ sessionId = ... })",
            story.id,
        )
        assert info["session"]["title"] == "The last line"
        nvim.until("appended and appended.entries[1].status == 'created'")
        refused = nvim.lua("return { require('sessiond').call('session/info', { sessionId = 'nobody-1' }) }")
        assert refused[-1]["data"]["kind"] == "sessionNotFound"
        nvim.lua(
            "heard = {}\n"
            "require('sessiond').follow(..., { appended = function(note) table.insert(heard, note.toSeq) end,"
            " back = function() following = true end })",
            story.id,
        )
        nvim.until("following")
        teller.append(story.id, assistant("And so on."))
        nvim.until("#heard == 1")
