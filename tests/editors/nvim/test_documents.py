"""The help of the plugin is complete, and `:checkhealth` finds the problems of a setup."""

import re
import shutil
from pathlib import Path

import pytest

from support.commands import Shell
from support.neovim import PLUGIN, Neovim, a_neovim
from support.stories import Teller

pytestmark = [pytest.mark.editors, pytest.mark.timeout(180)]

HELP = (PLUGIN / "doc/sessiond.txt").read_text(encoding="utf-8")


def test_the_help_has_tags_and_every_link_leads_somewhere(shell: Shell, tmp_path: Path) -> None:
    shutil.copytree(PLUGIN / "doc", tmp_path / "doc", ignore=shutil.ignore_patterns("tags", "*.png"))
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.command(f"helptags {tmp_path / 'doc'}")
        nvim.command(f"set rtp+={tmp_path}")
        links = sorted(set(re.findall(r"(?<!\S)\|([^|\s]+)\|", HELP)))
        assert len(links) > 15
        known = nvim.lua(
            "return vim.tbl_filter(function(it) return #vim.fn.getcompletion(it, 'help') > 0 end, ...)", links
        )
        assert sorted({*links} - {*known}) == []
        nvim.command("help :Sessiond-fork")
        nvim.see("Copy the path to an entry into a new session")


def test_the_help_documents_all_commands_keys_events_and_options(shell: Shell) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        subcommands = nvim.lua("return vim.tbl_keys(require('sessiond.commands').SUBCOMMANDS)")
        assert [subcommand for subcommand in subcommands if f"*:Sessiond-{subcommand}*" not in HELP] == []
        actions = nvim.lua("return vim.tbl_keys(require('sessiond.tree.keys').ACTIONS)")
        assert [
            action for action in actions if not re.search(rf"^    .* {action} ", HELP, re.MULTILINE)
        ] == []
        keys = nvim.lua(
            "local keys = {} for _, group in ipairs(require('sessiond.tree.keys').DEFAULTS) do"
            " for _, pair in ipairs(group) do table.insert(keys, pair) end end return keys"
        )
        for key, action in keys:
            assert re.search(rf"^    (.* )?{re.escape(key)} .*{action} ", HELP, re.MULTILINE), key
        groups = nvim.lua("return vim.tbl_keys(require('sessiond.tree.marks').GROUPS)")
        assert [group for group in groups if group not in HELP] == []
        events = nvim.lua("return vim.tbl_values(require('sessiond.client').EVENTS)")
        assert [event for event in events if f"*{event}*" not in HELP] == []
        options = nvim.lua(
            "local defaults = require('sessiond.config').DEFAULTS\n"
            "return vim.list_extend(vim.tbl_keys(defaults), vim.tbl_keys(defaults.tree))"
        )
        assert [option for option in options if f" {option} = " not in HELP] == []


def health(nvim: Neovim) -> str:
    nvim.command("checkhealth sessiond")
    nvim.until("vim.fn.search('Optional', 'nw') > 0")
    return "\n".join(nvim.lines())


def test_health_finds_no_error_in_a_working_setup(shell: Shell, teller: Teller) -> None:
    teller.call("server/status")  # there already, since health waits less long for a start than tests do
    with a_neovim(shell.locations, shell.folder, columns=160) as nvim:
        said = health(nvim)
        assert "ERROR" not in said
        assert "connected to sessiond" in said
        assert "the configuration is valid" in said


def test_health_reports_invalid_options_and_a_missing_command(shell: Shell) -> None:
    options = {
        "command": ["/nowhere/sessiond"],
        "picker": "dmenu",
        "tree": {"keys": {"x": "dance"}, "wide": 3, "page": 2000},
    }
    with a_neovim(shell.locations, shell.folder, options=options, columns=160) as nvim:
        said = health(nvim)
        assert "`picker` must be" in said
        assert "unknown option `tree.wide`" in said
        assert "`tree.page` is not used any more" in said
        assert "x has the unknown action" in said
        assert "not an executable program" in said


def test_an_invalid_option_has_its_default_value(shell: Shell) -> None:
    with a_neovim(shell.locations, shell.folder, options={"tree": {"width": "wide", "ascii": True}}) as nvim:
        chosen = nvim.lua("return require('sessiond.config').get().tree")
        assert chosen["width"] == 60
        assert chosen["ascii"] is True
        assert nvim.lua("require('sessiond').setup({ tree = { width = 70 } }) "
                        "return require('sessiond.config').get().tree.width") == 70  # fmt: skip
