"""Two Neovims and the command line on one daemon: a change by any of them appears in all."""

import os
import signal

import pytest

from support.commands import Shell
from support.homes import wait_until
from support.neovim import Neovim, a_neovim
from support.processes import runs
from support.stories import Story

pytestmark = [pytest.mark.editors, pytest.mark.timeout(240)]


def all_see(shell: Shell, session_id: str, *nvims: Neovim, text: str) -> None:
    """Wait until a text is on every screen; then all trees have the same lines, and the command line the same rows."""
    for nvim in nvims:
        nvim.see(text)
    rows = shell("tree", session_id, "--json").json["nodes"]
    assert any(text in f"[{row['label']}] {row['preview']}" for row in rows)
    for nvim in nvims:
        nvim.until("vim.api.nvim_buf_line_count(0) == ...", len(rows))
        nvim.until("vim.deep_equal(vim.api.nvim_buf_get_lines(0, 0, -1, false), ...)", nvims[0].lines())
        for line, row in zip(nvim.lines(), rows, strict=True):
            assert row["preview"] in line
            assert ("○" in line) == (not row["onPath"])


def kill_daemon(shell: Shell) -> None:
    pid = shell("status", "--json").json["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not runs(pid), 45)


def test_appends_forks_and_labels_of_one_client_appear_in_all(shell: Shell, story: Story) -> None:
    with (
        a_neovim(shell.locations, shell.folder, terminal="left") as left,
        a_neovim(shell.locations, shell.folder, terminal="right") as right,
    ):
        for nvim in (left, right):
            nvim.command(f"Sessiond tree {story.id}")
            nvim.see("◀ leaf")
        left.command("Sessiond append From the left.")
        all_see(shell, story.id, left, right, text="From the left.")
        right.command("Sessiond append From the right.")
        all_see(shell, story.id, left, right, text="From the right.")
        shell("append", story.id, "--user", "From the shell.")
        all_see(shell, story.id, left, right, text="From the shell.")

        left.keys("zR3GLleft<CR>")
        right.keys("zR")
        all_see(shell, story.id, left, right, text="[left]")
        right.keys("4GLright<CR>")
        all_see(shell, story.id, left, right, text="[right]")
        shell("label", story.id, story.why, "shell")
        all_see(shell, story.id, left, right, text="[shell]")

        left.keys("4GF")
        fork = left.until(f"vim.b.sessiond_session ~= '{story.id}' and vim.b.sessiond_session")
        right.command(f"Sessiond tree {fork}")
        all_see(shell, fork, left, right, text="Done: it counts.")
        shell("append", fork, "--user", "In the fork.")
        all_see(shell, fork, left, right, text="In the fork.")
        again = shell("fork", fork, "--at", story.because).lines[0]
        for nvim in (left, right):
            nvim.command(f"Sessiond tree {again}")
        all_see(shell, again, left, right, text="[the cause]")
        right.command("Sessiond branch " + story.why)
        right.until("require('sessiond.tree.view').of(0).canvas.rows.tip.id == ...", story.why)
        left.until("require('sessiond.tree.view').of(0).canvas.rows.tip.id == ...", story.why)


def test_all_clients_resume_after_the_daemon_was_killed(shell: Shell, story: Story) -> None:
    with (
        a_neovim(shell.locations, shell.folder, terminal="left") as left,
        a_neovim(shell.locations, shell.folder, terminal="right") as right,
    ):
        for nvim in (left, right):
            nvim.command(f"Sessiond tree {story.id}")
            nvim.see("◀ leaf")
        kill_daemon(shell)
        for nvim in (left, right):
            nvim.see("· away")
        shell("append", story.id, "--user", "While you were away.")  # starts the daemon
        all_see(shell, story.id, left, right, text="While you were away.")
        for nvim in (left, right):
            nvim.see_not("· away")
        # Again, and this time it is a Neovim that needs it first.
        kill_daemon(shell)
        left.see("· away")
        left.command("Sessiond append Here we are again.")
        all_see(shell, story.id, left, right, text="Here we are again.")
        assert left.lines().count("◉ user       Here we are again.") == 1
