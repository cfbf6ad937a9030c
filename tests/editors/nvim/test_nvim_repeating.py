"""Requests whose daemon ended before it responded: a change takes effect once."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sessiond.protocol.methods import METHODS
from support.columns import entries_of
from support.commands import Shell
from support.daemons import user
from support.homes import wait_until
from support.lossy_way import a_lossy_way
from support.neovim import Neovim, a_neovim
from support.patience import BOUND
from support.processes import runs
from support.stories import Story, Teller

pytestmark = [pytest.mark.editors, pytest.mark.timeout(180)]

TAKING = [name for name, method in METHODS.items() if "command_id" in method.params.__struct_fields__]


@contextmanager
def killed_before_it_reads(teller: Teller) -> Iterator[None]:
    """The requests of the block are in flight when the daemon dies."""
    pid = teller.call("server/status")["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not runs(pid), BOUND)


def named(nvim: Neovim, method: str, params: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    found = nvim.lua("return { require('sessiond.repeating').repeatable_params(...) }", method, params)
    return found[0], found[1]


def ask(nvim: Neovim, method: str, params: dict[str, Any]) -> None:
    """Ask, and go on; what comes of it is in the global `told`."""
    nvim.lua(
        "local method, params = ...\n"
        "told = nil\n"
        "require('sessiond').request(method, params, function(err, result) told = { err = err, result = result } end)",
        method,
        params,
    )


def answer(nvim: Neovim) -> Any:
    found = nvim.until("told")
    assert "err" not in found, found
    return found["result"]


def refusal(nvim: Neovim) -> str:
    return str(nvim.until("told and told.err.data.kind"))


def sessions(teller: Teller) -> list[str]:
    return sorted(
        session["sessionId"] for session in teller.call("session/list", includeDrafts=True)["sessions"]
    )


def entries(teller: Teller, story: Story) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = entries_of(teller.call("session/entries", sessionId=story.id))
    return found


def test_a_request_that_writes_gets_a_command_id_unless_it_has_one(shell: Shell) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        ids = [named(nvim, method, {"x": 1})[0]["commandId"] for method in (*TAKING, *TAKING)]
        assert len(set(ids)) == len(ids) == 2 * len(TAKING)


def test_a_request_that_reads_gets_no_command_id_and_is_not_repeated(shell: Shell) -> None:
    reading = set(METHODS) - set(TAKING) - {"session/append"}
    with a_neovim(shell.locations, shell.folder) as nvim:
        for method in reading:
            assert named(nvim, method, {"sessionId": "s"}) == ({"sessionId": "s"}, False)


def test_a_label_a_fork_and_a_message_take_effect_once_if_the_daemon_is_killed_before_it_responds(
    shell: Shell, teller: Teller, story: Story
) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        with killed_before_it_reads(teller):
            nvim.keys("3GLleft<CR>")
            nvim.until("vim.api.nvim_get_mode().mode == 'n'")
        nvim.see("[left]")
        assert [entry.get("label") for entry in entries(teller, story)].count("left") == 1
        before = len(entries(teller, story))
        with killed_before_it_reads(teller):
            nvim.command("Sessiond append Once only.")
        nvim.see("Once only.")
        assert len(entries(teller, story)) == before + 1
        with killed_before_it_reads(teller):
            nvim.keys("3GF")
            nvim.until("vim.api.nvim_get_mode().mode == 'n'")
        fork = nvim.until(f"vim.b.sessiond_session ~= '{story.id}' and vim.b.sessiond_session")
        assert sessions(teller) == sorted([story.id, fork])


def test_requests_that_a_draining_daemon_refuses_are_sent_to_the_next_daemon(
    shell: Shell, teller: Teller, story: Story
) -> None:
    before = teller.call("server/status")
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.lua("require('sessiond').request('server/drain', {})")
        ask(nvim, "session/rename", {"sessionId": story.id, "title": "By the next"})
        answer(nvim)
        after = teller.call("server/status")
        assert (before["serverId"], before["epoch"] == after["epoch"]) == (after["serverId"], False)
        assert [entry.get("name") for entry in entries(teller, story)].count("By the next") == 1


def test_renames_take_effect_in_the_order_of_the_requests(shell: Shell, teller: Teller, story: Story) -> None:
    titles = [f"Title {number}" for number in range(5)]
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        with killed_before_it_reads(teller):
            for title in titles:
                ask(nvim, "session/rename", {"sessionId": story.id, "title": title})
        answer(nvim)
        wait_until(
            lambda: (
                [entry["name"] for entry in entries(teller, story) if entry.get("name") in titles] == titles
            ),
            BOUND,
        )


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/fork", {"sessionId": "atlas-parser"}),
        ("session/create", {"title": "A new one"}),
    ],
)
def test_a_session_is_created_once_if_the_daemon_dies_after_creating_it(
    shell: Shell, teller: Teller, story: Story, method: str, params: dict[str, Any]
) -> None:
    pid = teller.call("server/status")["pid"]
    with a_lossy_way(shell.locations) as way, a_neovim(shell.locations, shell.folder) as nvim:
        assert nvim.lua("return require('sessiond').call('server/status', {})")["pid"] == pid
        way.lose_answer(lambda: os.kill(pid, signal.SIGKILL))
        ask(nvim, method, {"cwd": str(shell.folder), **params})
        made = answer(nvim)
        assert made["duplicate"]
        assert sessions(teller) == sorted([story.id, made["session"]["sessionId"]])


def test_an_entry_is_stored_once_if_the_daemon_dies_after_storing_it(
    shell: Shell, teller: Teller, story: Story
) -> None:
    pid = teller.call("server/status")["pid"]
    before = len(entries(teller, story))
    with a_lossy_way(shell.locations) as way, a_neovim(shell.locations, shell.folder) as nvim:
        assert nvim.lua("return require('sessiond').call('server/status', {})")["pid"] == pid
        way.lose_answer(lambda: os.kill(pid, signal.SIGKILL))
        ask(nvim, "session/append", {"sessionId": story.id, "entries": [user("Once only.")]})
        assert [entry["status"] for entry in answer(nvim)["entries"]] == ["duplicate"]
        assert len(entries(teller, story)) == before + 1


def test_a_request_that_reads_fails_if_the_connection_ends(
    shell: Shell, teller: Teller, story: Story
) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        with killed_before_it_reads(teller):
            ask(nvim, "session/info", {"sessionId": story.id})
        assert refusal(nvim) == "disconnected"


def test_a_change_fails_if_no_daemon_is_back_in_time(shell: Shell, teller: Teller, story: Story) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        nvim.lua("require('sessiond').setup({ autostart = false })")
        nvim.lua("require('sessiond.repeating').RECONNECT_TIMEOUT = 300")
        with killed_before_it_reads(teller):
            ask(nvim, "session/rename", {"sessionId": story.id, "title": "Never"})
        assert refusal(nvim) == "disconnected"
    assert teller.call("session/info", sessionId=story.id)["session"]["title"] == "The last line"
