"""The connection of Neovim to its daemon, and its reconnection."""

import json  # noqa: TID251 - the endpoint as a reader has it
import os
import shlex
import signal
import socket
from pathlib import Path

import pytest

from sessiond.client import terminal
from sessiond.paths import find_locations
from support.commands import Shell
from support.daemons import user
from support.homes import wait_until
from support.installed_editors import installed
from support.neovim import PLUGIN, Neovim, a_neovim
from support.panes import some_panes
from support.patience import BOUND
from support.processes import runs
from support.stories import Story, Teller

pytestmark = [pytest.mark.editors, pytest.mark.timeout(180)]


def kill(teller: Teller) -> None:
    pid = teller.call("server/status")["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not runs(pid), BOUND)


def online(nvim: Neovim) -> None:
    nvim.until("require('sessiond.connect').state().status == 'online'")


def test_nothing_is_started_before_it_is_used(shell: Shell) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        assert nvim.lua("return package.loaded['sessiond.connect'] == nil")
        assert nvim.lua("return require('sessiond').status()") == ""
    assert not Path(shell.locations.endpoint).exists()


def test_the_first_command_starts_the_daemon_and_a_session(shell: Shell, teller: Teller) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.command("Sessiond new A new beginning")
        nvim.see("A new beginning · 0", "There are no messages yet.")
        (client,) = [
            client for client in teller.call("server/clients")["clients"] if client["name"] == "Neovim"
        ]
        assert client["terminal"]["id"] == "one"
        nvim.command("Sessiond append Hello.")
        nvim.see("◉ user       Hello.")


def test_without_autostart_a_missing_daemon_is_an_error(shell: Shell) -> None:
    with a_neovim(shell.locations, shell.folder, columns=250, options={"autostart": False}) as nvim:
        nvim.keys(":Sessiond sessions<CR>")
        nvim.until("vim.fn.execute('messages'):find('sessiond is not running') ~= nil")


def test_a_missing_command_is_an_error_that_says_what_to_do(shell: Shell) -> None:
    with a_neovim(
        shell.locations, shell.folder, columns=250, options={"command": ["/nowhere/sessiond"]}
    ) as nvim:
        nvim.keys(":Sessiond sessions<CR>")
        nvim.until("vim.fn.execute('messages'):find('not an executable program') ~= nil")


def test_an_outage_is_notified_once_and_the_tree_resumes(shell: Shell, teller: Teller, story: Story) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.lua("""
            told = {}
            vim.notify = function(text) table.insert(told, text) end
            heard = {}
            for _, name in ipairs({ 'SessiondAttach', 'SessiondDetach', 'SessiondAppended' }) do
              vim.api.nvim_create_autocmd('User', { pattern = name, callback = function(event)
                table.insert(heard, event.match)
              end })
            end""")
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        kill(teller)
        nvim.see("· away")
        assert nvim.lua("return require('sessiond').status()").endswith("(away)")
        teller.append(story.id, user("One."), user("Two."))
        nvim.see("One.", "Two.", "The last line · 8 of 11")
        assert nvim.lua("return #told") == 2
        assert nvim.lua("return heard")[:4] == [
            "SessiondAttach",
            "SessiondDetach",
            "SessiondAttach",
            "SessiondAppended",
        ]


def test_a_reconnection_does_not_start_the_daemon_and_a_request_does(
    shell: Shell, teller: Teller, story: Story
) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        shell("stop")
        nvim.see("· away")
        nvim.until("require('sessiond.connect').state().attempts >= 3")
        assert shell.run("status").code != 0
        nvim.keys("L<C-u>back<CR>")
        nvim.see("[back]")


def test_a_draft_session_of_neovim_survives_the_end_of_the_daemon(shell: Shell, teller: Teller) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.command("Sessiond new")
        nvim.see("There are no messages yet.")
        nvim.command("Sessiond append Only a question.")
        nvim.see("Only a question.")
        kill(teller)
        nvim.see("· away")
        teller.call("server/status")
        nvim.see_not("· away")
        teller.append(nvim.lua("return vim.b.sessiond_session"), user("And another."))
        nvim.see("Only a question.", "And another.")


def test_restart_replaces_the_daemon(shell: Shell, teller: Teller, story: Story) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        before = teller.call("server/status")["epoch"]
        nvim.command("Sessiond! restart")
        nvim.until("(require('sessiond.connect').state().handshake or { epoch = ... }).epoch ~= ...", before)
        teller.append(story.id, user("After the restart."))
        nvim.see("After the restart.")


def test_a_socket_in_a_folder_that_others_may_write_to_is_not_used(shell: Shell, story: Story) -> None:
    Path(shell.locations.runtime).chmod(0o777)
    try:
        with a_neovim(shell.locations, shell.folder, columns=250) as nvim:
            nvim.keys(f":Sessiond tree {story.id}<CR>")
            nvim.until("(require('sessiond.connect').state().problem or ''):find('others may write') ~= nil")
    finally:
        Path(shell.locations.runtime).chmod(0o700)


def test_a_listener_that_does_not_respond_to_the_handshake_is_disconnected(shell: Shell) -> None:
    Path(shell.locations.runtime).mkdir(parents=True, mode=0o700)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(shell.locations.socket)
        listening.listen()
        with a_neovim(shell.locations, shell.folder, columns=250) as nvim:
            nvim.lua("require('sessiond.connect').HANDSHAKE_TIMEOUT = 200")
            nvim.keys(":Sessiond sessions<CR>")
            nvim.until(
                "(require('sessiond.connect').state().problem or ''):find('no response to the handshake') ~= nil"
            )


LONG = "/tmp/" + "long-name/" * 12

ENVIRONMENTS = {
    "home": {"SESSIOND_HOME": "/tmp/somewhere/else/"},
    "a home that is too long for a socket": {"SESSIOND_HOME": LONG},
    "the usual": {"HOME": "/home/ada"},
    "XDG": {"XDG_STATE_HOME": "/tmp/state", "XDG_CONFIG_HOME": "/tmp/config"},
    "relative XDG": {"XDG_STATE_HOME": "state"},
    "a runtime folder": {"XDG_RUNTIME_DIR": "{private}"},
    "a runtime folder that others can read": {"XDG_RUNTIME_DIR": "{open}"},
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_locations_are_those_of_the_daemon(shell: Shell, name: str, tmp_path: Path) -> None:
    for folder, mode in (("private", 0o700), ("open", 0o755)):
        (tmp_path / folder).mkdir(mode=mode)
    ours = ("SESSIOND_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR")
    given = {
        variable: value.format(private=tmp_path / "private", open=tmp_path / "open")
        for variable, value in ENVIRONMENTS[name].items()
    }
    environ = {**{key: value for key, value in os.environ.items() if key not in ours}, **given}
    wanted = find_locations(environ)
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.lua(
            "local given, ours = ...\n"
            "for _, name in ipairs(ours) do vim.uv.os_unsetenv(name) end\n"
            "for name, value in pairs(given) do vim.uv.os_setenv(name, value) end",
            given,
            [*ours],
        )
        found = nvim.lua("return require('sessiond.locations').find()")
    assert found == {
        "state": wanted.state,
        "endpoint": wanted.endpoint,
        "socket": wanted.socket,
        "log": wanted.log,
        "config": wanted.config_file,
    }


TERMINALS: list[dict[str, str]] = [
    {"SESSIOND_TERMINAL": "a name / with things"},
    {"TMUX": "/tmp/tmux-0/default,4711,0", "TMUX_PANE": "%5", "KITTY_WINDOW_ID": "3"},
    {"ZELLIJ_PANE_ID": "2", "ZELLIJ_SESSION_NAME": "work"},
    {"STY": "123.pts-0.host", "WINDOW": "4"},
    {"KITTY_WINDOW_ID": "3", "KITTY_PID": "99"},
    {"WEZTERM_PANE": "7"},
    {"TERM_SESSION_ID": "w0t1p0:ABC"},
    {"TMUX": "/tmp/s,4711,0", "TMUX_PANE": "%5", "TERM_PROGRAM": "WezTerm", "TERM": "xterm-256color"},
    {"TMUX": "/tmp/s,4711,0", "TMUX_PANE": "%5", "TERM_PROGRAM": "tmux", "VSCODE_PID": "1"},
    {"TMUX": "/tmp/s,4711,0", "TMUX_PANE": "%5", "STY": "1.x", "TERM": "screen"},
    {"SESSIOND_TERMINAL": ".ä" + "x" * 200},
    {},
]


def test_a_terminal_has_the_name_that_the_command_line_gives_it(shell: Shell) -> None:
    known = sorted({variable for environ in TERMINALS for variable in environ})
    with a_neovim(shell.locations, shell.folder) as nvim:
        for environ in TERMINALS:
            nvim.lua(
                "local given, known = ...\n"
                "for _, name in ipairs(known) do vim.uv.os_unsetenv(name) end\n"
                "for name, value in pairs(given) do vim.uv.os_setenv(name, value) end",
                environ or {"SESSIOND_UNUSED": "1"},
                known,
            )
            wanted = terminal.identify(environ)
            found = nvim.lua(
                "local found = require('sessiond.terminal').here(); return found and found.id or ''"
            )
            assert found == (wanted["id"] if wanted else "")


@pytest.mark.parametrize("how", ["--headless", ""])
def test_the_terminal_identity_of_neovim_is_that_of_its_pane(shell: Shell, how: str) -> None:
    with some_panes(shell) as panes:
        pane = panes.new()
        told, over = panes.folder / "told", panes.folder / "over"
        lua = f"vim.fn.writefile({{vim.json.encode(require('sessiond.terminal').here())}}, '{told}')"
        words = [
            installed("nvim-0.11"),
            *how.split(),
            "--clean",
            "-n",
            "-i",
            "NONE",
            "--cmd",
            f"set rtp^={PLUGIN}",
        ]
        # Until it has ended, what is typed goes to Neovim.
        pane.type(f"{shlex.join([*words, '-c', f'lua {lua}', '-c', 'qall!'])}; touch {over}")
        wait_until(over.exists)
        found = json.loads(told.read_text(encoding="utf-8"))
        wanted = pane("terminal", "--json").json
        assert {**found, "cwd": ""} == {**wanted, "cwd": ""}


def test_a_wrong_endpoint_file_is_ignored(shell: Shell, teller: Teller, story: Story) -> None:
    endpoint = Path(shell.locations.endpoint)
    told = json.loads(endpoint.read_text(encoding="utf-8"))
    endpoint.write_text(json.dumps({**told, "socket": "/nowhere/sessiond.sock"}), encoding="utf-8")
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        online(nvim)
