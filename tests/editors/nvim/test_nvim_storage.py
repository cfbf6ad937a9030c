"""The report on storage in a buffer: what takes space, what agents will delete, and the largest sessions."""

import os

import pytest

from support.commands import Shell
from support.daemons import assistant, user
from support.neovim import Neovim, a_neovim
from support.stories import Story, Teller
from support.writing_agents import WritingClaude

pytestmark = [pytest.mark.editors, pytest.mark.timeout(180)]


def shown_storage(nvim: Neovim) -> list[str]:
    """The lines of the report when the folders of agents were measured, too."""
    nvim.command("Sessiond storage")
    nvim.until("vim.fn.search('by kind', 'nw') > 0 and vim.fn.search('measuring', 'nw') == 0")
    return nvim.lines()


def test_the_space_of_sessions_is_shown_with_bars(shell: Shell, story: Story) -> None:
    with a_neovim(shell.locations, shell.folder, columns=120, lines=60) as nvim:
        lines = shown_storage(nvim)
        assert " in all, " in lines[0]
        assert lines[0].endswith(" free")
        [sessions] = [line for line in lines if line.startswith("  sessions ")]
        assert "█" in sessions
        assert sessions.endswith(" 1 file")
        assert "by project" in lines


def test_a_large_session_is_opened_from_its_line(shell: Shell, teller: Teller, story: Story) -> None:
    teller.create("huge-session", user("Count."), assistant("z" * 50_000), title="A\nhuge one")
    with a_neovim(shell.locations, shell.folder, columns=120, lines=60) as nvim:
        lines = shown_storage(nvim)
        first = lines.index("largest sessions") + 1
        assert lines[first].endswith("A huge one")
        nvim.lua("vim.api.nvim_win_set_cursor(0, { ..., 0 })", first + 1)
        nvim.keys("<CR>")
        nvim.until("(vim.b.sessiond_title or ''):find('A huge one') ~= nil")


def test_a_session_that_grows_is_in_the_report_that_is_read_again(
    shell: Shell, teller: Teller, story: Story
) -> None:
    with a_neovim(shell.locations, shell.folder, columns=120, lines=60) as nvim:
        shown_storage(nvim)
        teller.append(story.id, user("w" * 5_000_000))
        nvim.until("vim.fn.search('5.0 MB', 'nw') == 0")
        nvim.keys("R")
        nvim.until("vim.fn.search('5.0 MB', 'nw') > 0")


def test_a_deletion_by_an_agent_is_told_with_the_way_to_keep_the_files(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = shell.folder / "person"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    claude = WritingClaude(home)
    claude.asks("hello")
    claude.says("good day")
    os.utime(claude.path, (1_000_000_000, 1_000_000_000))
    with a_neovim(shell.locations, shell.folder, columns=120, lines=60) as nvim:
        lines = shown_storage(nvim)
        [told] = [line for line in lines if line.startswith("Claude Code deletes session files")]
        assert told.endswith("To keep them: sessiond agents follow claude-code")
        assert f"  {claude.path}" in lines
