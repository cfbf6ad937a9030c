"""Buffers of entries, code actions in them and in trees, and the language server in session files."""

import pytest

from support.commands import Shell
from support.daemons import assistant, user
from support.neovim import a_neovim
from support.stories import Story, Teller

pytestmark = [pytest.mark.editors, pytest.mark.timeout(180)]


def test_an_entry_opens_beside_the_tree_and_leads_back_to_it(shell: Shell, story: Story) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        nvim.keys("3G<CR>")
        nvim.see("# User", f"- Entry: {story.fix}", "◀ leaf")
        lines = nvim.lines()
        assert lines.index("Fix it.") < lines.index("---") < lines.index(f"- Entry: {story.fix}")
        assert nvim.lua("return { vim.bo.filetype, vim.bo.modifiable, vim.bo.buftype }") == [
            "markdown",
            False,
            "nofile",
        ]
        nvim.keys("-")
        nvim.until("vim.bo.filetype == 'sessiond-tree'")
        nvim.keys("zR4Gp")
        nvim.see(f"- Entry: {story.fixed}")
        assert nvim.lua("return vim.bo.filetype") == "sessiond-tree"
        nvim.keys("3GK")
        nvim.until("#vim.tbl_filter(function(it) return vim.api.nvim_win_get_config(it).relative ~= '' end,"
                   " vim.api.nvim_list_wins()) == 1")  # fmt: skip


def test_an_entry_is_edited_by_its_address_even_while_the_daemon_is_away(shell: Shell, story: Story) -> None:
    shell("stop")
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.command(f"edit sessiond://session/{story.id}/entry/{story.tested}.md")
        nvim.see("# Assistant", "It fails, as it should.")
        nvim.command(f"edit sessiond://session/{story.id}/tree")
        nvim.see("◀ leaf")
        nvim.command("edit sessiond://session/nobody-here/entry/x.md")
        nvim.see("There is no session")


def test_modelines_and_file_types_in_transcripts_have_no_effect(shell: Shell, teller: Teller) -> None:
    said = "vim: set ft=python tabstop=3 foldmethod=expr foldexpr=system('touch-it'):"
    entry, _ = teller.create("atlas-modeline", user(f"{said}\n\n# {said}\n/* {said} */"), assistant("No."))
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.command("set modeline modelines=50")
        nvim.command(f"edit sessiond://session/atlas-modeline/entry/{entry}.md")
        nvim.see("touch-it")
        assert nvim.lua("return { vim.bo.filetype, vim.bo.modeline }") == ["markdown", False]
        assert nvim.lua("return vim.bo.tabstop") != 3
        assert nvim.lua("return vim.wo.foldmethod") != "expr"


def test_code_actions_do_what_the_keys_do(shell: Shell, teller: Teller, story: Story) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        nvim.lua("""vim.ui.select = function(items, options, chosen)
            offered = vim.tbl_map(options.format_item, items)
            chosen(items[1])
        end""")
        nvim.keys("zR4G")
        nvim.lua("vim.lsp.buf.code_action()")
        nvim.see("◉ assistant  Done: it counts.")
        assert "Fork the path to here into a new session" in "\n".join(nvim.lua("return offered"))
        nvim.command(f"edit sessiond://session/{story.id}/entry/{story.because}.md")
        nvim.see("- Entry: " + story.because)
        nvim.lua("vim.lsp.buf.code_action()")
        nvim.until("require('sessiond').call('session/info', { sessionId = ... }).session.leafId == select(2, ...)",
                   story.id, story.because)  # fmt: skip


def test_the_outline_of_a_tree_has_user_messages_and_labels(shell: Shell, story: Story) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        nvim.lua("vim.lsp.buf.document_symbol()")
        nvim.until("#vim.fn.getloclist(0) == 4")


def test_a_session_file_stays_attached_after_a_restart_of_the_daemon(
    shell: Shell, teller: Teller, story: Story
) -> None:
    path = teller.call("session/info", sessionId=story.id)["session"]["path"]
    other = shell.folder / "rows.jsonl"
    other.write_text('{"type": "row"}\n', encoding="utf-8")
    attached = "#vim.lsp.get_clients({ bufnr = 0, name = 'sessiond' }) == 1"
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.command(f"edit {other}")
        assert nvim.lua("return package.loaded['sessiond.connect'] == nil")
        nvim.command(f"edit {path}")
        nvim.until(attached)
        nvim.lua("vim.lsp.buf.document_symbol()")
        nvim.until("#vim.fn.getloclist(0) > 0")
        nvim.command("lclose")
        nvim.command("Sessiond! restart")
        nvim.until("require('sessiond.connect').state().outages == 1")
        nvim.until(attached)


def test_the_configuration_of_vim_lsp_config_is_used(shell: Shell, teller: Teller, story: Story) -> None:
    path = teller.call("session/info", sessionId=story.id)["session"]["path"]
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.lua("""
            vim.lsp.config('sessiond', { handlers = { ['session/appended'] = function() handled = true end },
                                         on_attach = function() was_attached = true end })
            vim.lsp.enable('sessiond')""")
        nvim.command(f"edit {path}")
        nvim.until("was_attached")
        assert nvim.lua("return #vim.lsp.get_clients({ name = 'sessiond' })") == 1
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        teller.append(story.id, user("Hear, hear."))
        nvim.until("handled")
