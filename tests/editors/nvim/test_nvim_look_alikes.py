"""Rows of Neovim's lists and pickers that look the same: the rule of protocol.md."""

import re
from typing import Any

import pytest

from support.daemons import assistant, user
from support.look_alikes import CASES
from support.neovim import Neovim, a_neovim
from support.stories import Story, Teller

pytestmark = [pytest.mark.editors, pytest.mark.timeout(180)]

_OF = """
local rows = ...
vim.env.TZ = 'UTC'
local distinctions = require('sessiond.distinctions')
return distinctions.of(vim.tbl_map(function(row)
  local origin = row.agent and { agent = row.agent }
  local session = vim.tbl_extend('force', row, { origin = origin })
  local facts = distinctions.session_facts(session)
  facts[#facts + 1] = require('sessiond.text').one_line(row.lastWords)
  return { shown = row.shown, facts = facts, id = row.sessionId }
end, rows))
"""

_SAME_SESSION = re.compile(r"The same · ((?:same-one|same-two|\d\d:\d\d)\b)")
"""A row of one of the sessions. If a minute began between the two, that is what differs."""


def without_nulls(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def test_rows_that_look_the_same_show_what_differs(teller: Teller, story: Story) -> None:
    with a_neovim(teller.locations, teller.folder) as nvim:
        found = {case["name"]: nvim.lua(_OF, [without_nulls(row) for row in case["rows"]]) for case in CASES}
    assert found == {case["name"]: [row["added"] for row in case["rows"]] for case in CASES}


def two_sessions(teller: Teller) -> None:
    for name in ("same-one-of-two", "same-two-of-two"):
        teller.create(name, user("Why the heron?"), assistant("hi"), title="The same")


def seen_ends(nvim: Neovim, *texts: str) -> list[str]:
    lines = nvim.see(*texts)
    return [found[1] for line in lines if (found := _SAME_SESSION.search(line))]


def test_a_list_and_a_picker_tell_sessions_with_the_same_row_apart(teller: Teller, story: Story) -> None:
    two_sessions(teller)
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command("Sessiond list")
        assert len(set(seen_ends(nvim, "The same", "The last line"))) == 2
        assert not any("The last line ·" in line for line in nvim.screen())
        nvim.rpc.command("Sessiond sessions", async_=True)
        assert len(set(seen_ends(nvim, "Sessions of this project", "The last line"))) == 2
        nvim.keys("<CR>")


def test_hits_of_sessions_with_the_same_row_are_told_apart_in_the_quickfix_list(
    teller: Teller, story: Story
) -> None:
    two_sessions(teller)
    with a_neovim(teller.locations, teller.folder) as nvim:
        nvim.command("Sessiond search heron")
        modules = nvim.until(
            "(function() local q = vim.tbl_map(function(it) return it.module end, vim.fn.getqflist())"
            " return #q == 2 and q end)()"
        )
        assert all(module.startswith("The same · ") for module in modules)
        assert len(set(modules)) == 2
