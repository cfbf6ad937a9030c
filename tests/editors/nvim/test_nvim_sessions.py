"""The list of sessions in a buffer, which a watch of the daemon keeps current."""

import os
import signal

import pytest

from support.commands import Shell
from support.daemons import user
from support.homes import wait_until
from support.neovim import Neovim, a_neovim
from support.patience import BOUND
from support.processes import runs
from support.stories import Story, Teller, parser_story

pytestmark = [pytest.mark.editors, pytest.mark.timeout(180)]


def count_readings(nvim: Neovim) -> None:
    """From now on `Readings` counts how often the plugin reads a list of sessions."""
    nvim.lua("""
      local client = require('sessiond.client')
      local request = client.request
      Readings = 0
      client.request = function(method, ...)
        Readings = Readings + (method == 'session/list' and 1 or 0)
        return request(method, ...)
      end
    """)


def until_titles(nvim: Neovim, *titles: str) -> None:
    """Wait until the lines of the buffer have these titles, in this order."""
    nvim.until(
        """(function(...)
             local lines, titles = vim.api.nvim_buf_get_lines(0, 0, -1, false), { ... }
             if #lines ~= #titles then return false end
             for place, title in ipairs(titles) do
               if not lines[place]:find(title, 1, true) then return false end
             end
             return true
           end)(...)""",
        *titles,
    )


def kill_daemon(teller: Teller) -> None:
    pid = teller.call("server/status")["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not runs(pid), BOUND)


def test_the_list_shows_sessions_that_are_created_renamed_and_deleted(teller: Teller, story: Story) -> None:
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command("Sessiond list")
        until_titles(nvim, "The last line")
        count_readings(nvim)
        parser_story(teller, "borealis-1", "Something else")
        until_titles(nvim, "Something else", "The last line")
        teller.append(story.id, user("One more."))
        until_titles(nvim, "The last line", "Something else")
        teller.call("session/rename", sessionId="borealis-1", title="A better title")
        until_titles(nvim, "A better title", "The last line")
        teller.call("session/delete", sessionId=story.id)
        until_titles(nvim, "A better title")
        nvim.see("atlas · 1")
        assert nvim.lua("return Readings") == 0


def test_the_cursor_stays_on_its_session_when_the_order_changes(teller: Teller, story: Story) -> None:
    parser_story(teller, "borealis-1", "Something else")
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command("Sessiond list")
        until_titles(nvim, "Something else", "The last line")
        nvim.keys("gg")
        teller.append(story.id, user("One more."))
        until_titles(nvim, "The last line", "Something else")
        nvim.until("vim.api.nvim_win_get_cursor(0)[1] == 2")
        nvim.keys("<CR>")
        nvim.see("Something else · ", "◀ leaf")


def test_a_list_has_the_sessions_of_a_project_or_of_all_and_those_with_given_words(
    teller: Teller, story: Story
) -> None:
    elsewhere = teller.folder / "zoo & co"
    elsewhere.mkdir()
    parser_story(Teller(teller.locations, elsewhere), "zoo-lion-1", "Feed the lion")
    with a_neovim(teller.locations, teller.folder, columns=250) as nvim:
        nvim.command("Sessiond list")
        until_titles(nvim, "The last line")
        nvim.command("Sessiond! list")
        until_titles(nvim, "Feed the lion", "The last line")
        nvim.see("All sessions · 2", str(elsewhere)[-15:])
        nvim.command("Sessiond! list lion")
        until_titles(nvim, "Feed the lion")
        nvim.command(f"cd {elsewhere}")
        nvim.command("Sessiond list")
        until_titles(nvim, "Feed the lion")
        nvim.command("Sessiond list elephant")
        nvim.see("There are no sessions.")


def test_the_project_is_that_of_the_repository_from_each_of_its_folders(teller: Teller, story: Story) -> None:
    project = teller.folder / "zoo"
    (project / ".git").mkdir(parents=True)
    (project / ".git/HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (project / "keepers").mkdir()
    parser_story(Teller(teller.locations, project), "zoo-lion-1", "Feed the lion")
    with a_neovim(teller.locations, project / "keepers", columns=250) as nvim:
        nvim.command("Sessiond list")
        until_titles(nvim, "Feed the lion")
        nvim.see(str(project)[-15:])  # it is not the current folder
        parser_story(Teller(teller.locations, project / "keepers"), "zoo-keeper-1", "Pay the keeper")
        until_titles(nvim, "Pay the keeper", "Feed the lion")
        nvim.command("Sessiond search failing test")
        nvim.until("#vim.fn.getqflist() == 2")
        nvim.command("Sessiond! search failing test")
        nvim.until("#vim.fn.getqflist() == 3")
        teller.call("session/delete", sessionId="zoo-keeper-1")
        nvim.command("Sessiond continue")
        nvim.see("Feed the lion · ", "◀ leaf")


def test_after_a_lost_connection_only_the_changed_rows_are_sent(teller: Teller, story: Story) -> None:
    parser_story(teller, "borealis-1", "Something else")
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command("Sessiond list")
        until_titles(nvim, "Something else", "The last line")
        count_readings(nvim)
        nvim.lua("""
            connect = require('sessiond.connect')
            attempt, connect.attempt = connect.attempt, function() end
            connect.state().rpc:close('a test')""")
        nvim.see("· away")
        teller.append(story.id, user("While you were away."))
        parser_story(teller, "cygnus-1", "Yet another")
        teller.call("session/delete", sessionId="borealis-1")
        until_titles(nvim, "Something else", "The last line")
        nvim.lua("connect.attempt = attempt; connect.attempt()")
        until_titles(nvim, "Yet another", "The last line")
        nvim.see_not("· away")
        assert nvim.lua("return Readings") == 0


def test_after_the_daemon_was_killed_the_list_is_read_again(teller: Teller, story: Story) -> None:
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command("Sessiond list")
        until_titles(nvim, "The last line")
        for number in (1, 2):  # the watch of the second daemon is lost as the first one was
            kill_daemon(teller)
            nvim.see("· away")
            parser_story(teller, f"borealis-{number}", f"Number {number}")
            nvim.until("vim.api.nvim_buf_line_count(0) == ...", number + 1)
            nvim.see(f"Number {number}")
            nvim.see_not("· away")


def test_a_list_does_not_start_a_daemon_that_was_stopped(shell: Shell, teller: Teller, story: Story) -> None:
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command("Sessiond list")
        until_titles(nvim, "The last line")
        shell("stop")
        nvim.see("· away")
        nvim.until("require('sessiond.connect').state().attempts >= 3")
        assert shell.run("status").code != 0


def test_a_watch_that_lapses_begins_again_with_the_whole_list(teller: Teller, story: Story) -> None:
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.lua("""
            local client = require('sessiond.client')
            local request = client.request
            client.request = function(method, params, callback, ...)
              return request(method, params, function(err, result)
                watch = method == 'server/watch' and result and result.watchId or watch
                callback(err, result)
              end, ...)
            end""")
        nvim.command("Sessiond list")
        until_titles(nvim, "The last line")
        first = nvim.lua("return watch")
        count_readings(nvim)
        nvim.lua("require('sessiond.client').notified('server/watchLapsed', { watchId = watch })")
        nvim.until("watch ~= ... and Readings == 1", first)
        parser_story(teller, "borealis-1", "Something else")
        until_titles(nvim, "Something else", "The last line")


def test_a_list_that_is_wiped_out_ends_its_watch(teller: Teller, story: Story) -> None:
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.lua("""
            local client = require('sessiond.client')
            local request = client.request
            client.request = function(method, params, callback, ...)
              return request(method, params, function(err, result)
                ended = method == 'server/unwatch' and result and result.wasWatching or ended
                if callback then callback(err, result) end
              end, ...)
            end""")
        nvim.command("Sessiond list")
        until_titles(nvim, "The last line")
        nvim.command("bwipeout")
        nvim.until("ended == true")
        assert nvim.lua("return require('sessiond.client').is_wanted()") is False


ROBINS, WRENS = (f"0199a213-81c0-7800-8aa1-bbab2a035a{number}" for number in (55, 56))


def test_automated_sessions_are_counted_in_the_last_line_and_shown_on_request(
    teller: Teller, story: Story
) -> None:
    teller.run_codex_exec(ROBINS, "count the robins")
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command("Sessiond list")
        until_titles(nvim, "The last line", "1 automated session hidden; `a` shows it")
        nvim.see("atlas · 1")
        teller.run_codex_exec(WRENS, "count the wrens")
        until_titles(nvim, "The last line", "2 automated sessions hidden; `a` shows them")
        nvim.keys("a")
        nvim.see("count the robins", "count the wrens", "(codex, automated)")
        nvim.see_not("automated sessions hidden")
        nvim.command("Sessiond automated")
        until_titles(nvim, "The last line", "2 automated sessions hidden")
        nvim.keys("G<CR>")
        nvim.see("count the robins", "count the wrens")
        nvim.command("Sessiond list wrens")
        until_titles(nvim, "count the wrens")


def test_a_list_of_hidden_sessions_only_says_so_and_an_option_shows_them(teller: Teller) -> None:
    teller.run_codex_exec(ROBINS, "count the robins")
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command("Sessiond list")
        until_titles(nvim, "1 automated session hidden; `a` shows it")
    with a_neovim(teller.locations, teller.folder, options={"automated": True}) as nvim:
        nvim.command("Sessiond list")
        until_titles(nvim, "count the robins")


def test_a_picker_counts_automated_sessions_and_its_last_choice_shows_them(
    teller: Teller, story: Story
) -> None:
    teller.run_codex_exec(ROBINS, "count the robins")
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.lua("""
            shown = {}
            vim.ui.select = function(items, options, chosen)
              local texts = vim.tbl_map(options.format_item, items)
              shown[#shown + 1] = texts
              for place, text in ipairs(texts) do
                if text:find('automated session hidden') or text:find('robins') then
                  chosen(items[place], place)
                end
              end
            end""")
        nvim.command("Sessiond sessions")
        nvim.see("count the robins · ", "◀ leaf")
        first, second = nvim.lua("return shown")
        assert first[-1] == "1 automated session hidden: show them"
        assert (len(first), len(second)) == (2, 2)
        nvim.command("Sessiond sessions robins")
        nvim.until("#shown == 3 and #shown[3] == 1 and shown[3][1]:find('robins')")
