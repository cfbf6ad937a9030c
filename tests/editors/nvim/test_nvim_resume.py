"""`:Sessiond resume` and `:Sessiond recall`: an agent in a terminal of Neovim, and passages of earlier sessions."""

from pathlib import Path

import pytest

from support.commands import Shell
from support.daemons import assistant, user
from support.neovim import a_neovim
from support.stories import Story, Teller

pytestmark = [pytest.mark.editors, pytest.mark.timeout(180)]


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the place of Claude Code, which says how it was called, and the folder of its sessions."""
    home, programs = tmp_path / "claude", tmp_path / "bin"
    programs.mkdir()
    program = programs / "claude"
    program.write_text('#!/bin/sh\necho "resumed $* in $(pwd)"\nsleep 60\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{Path('/usr/bin')}:{Path('/bin')}")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home))
    return home


def test_a_session_goes_on_in_an_agent_in_a_terminal(shell: Shell, story: Story, claude: Path) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        assert nvim.rpc.call("getcompletion", "Sessiond resume cl", "cmdline") == ["claude-code"]
        nvim.lua("vim.fn.confirm = function(question) asked = question; return 1 end")
        nvim.command("Sessiond resume claude-code")
        nvim.see("resumed --resume")
        [written] = claude.rglob("*.jsonl")
        assert written.stem in "\n".join(nvim.screen())
        assert nvim.lua("return vim.bo.buftype") == "terminal"


def test_nothing_is_run_if_the_user_does_not_want_the_losses(
    shell: Shell, teller: Teller, claude: Path
) -> None:
    teller.create(
        "atlas-odd", user("Why?"), assistant("So."), {"type": "custom", "customType": "x", "data": {"a": 1}}
    )
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.command("Sessiond tree atlas-odd")
        nvim.see("Why?")
        nvim.lua("vim.fn.confirm = function(question) asked = question; return 2 end")
        nvim.command("Sessiond resume claude-code")
        nvim.until("asked ~= nil")
        assert "cannot hold all of the session" in nvim.lua("return asked")
        assert "terminal" not in nvim.lua(
            "return vim.tbl_map(function(it) return vim.bo[it].buftype end, vim.api.nvim_list_bufs())"
        )


def test_a_passage_of_an_earlier_session_is_chosen_and_shown(
    shell: Shell, teller: Teller, story: Story
) -> None:
    teller.create("atlas-geese", user("Where do the geese spend the winter?"), assistant("In the south."))
    shell("search", "geese", "--wait", "--all")
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.lua("""vim.ui.select = function(items, options, chosen)
            offered = vim.tbl_map(options.format_item, items)
            chosen(items[1])
        end""")
        nvim.command("Sessiond! recall where do geese go in winter")
        nvim.see("Where do the geese spend the winter?", "In the south.")
        assert any("geese" in item for item in nvim.lua("return offered"))
        assert nvim.lua("return vim.bo.filetype") == "sessiond-tree"
