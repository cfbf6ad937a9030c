"""The identity chain of a terminal, over its facts."""

import os
import re
import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from sessiond.client.terminal import identify, leader_facts

LEGAL = re.compile(r"[A-Za-z0-9._%@+:-]{1,128}")
PTS = ("pts/3", "81234")
TMUX = {"TMUX": "/tmp/tmux-1000/default,4711,0", "TMUX_PANE": "%5"}


@pytest.mark.parametrize(
    ("environ", "id", "kind"),
    [
        (TMUX, "tmux:%5@4711", "tmux"),
        ({"ZELLIJ_PANE_ID": "2", "ZELLIJ_SESSION_NAME": "work"}, "zellij:2@work", "zellij"),
        ({"STY": "99.pts-0.host", "WINDOW": "1"}, "screen:1@99.pts-0.host", "screen"),
        ({"CMUX_SURFACE_ID": "ab-1"}, "cmux:ab-1", "cmux"),
        ({"KITTY_WINDOW_ID": "1", "KITTY_PID": "77"}, "kitty:1@77", "kitty"),
        ({"WEZTERM_PANE": "0", "WEZTERM_UNIX_SOCKET": "/run/s"}, "wezterm:0@%2Frun%2Fs", "wezterm"),
        ({"TERM_SESSION_ID": "w0t0p0:AB-CD"}, "terminal:w0t0p0:AB-CD", "terminal"),
        ({"WT_SESSION": "guid"}, "windows-terminal:guid", "windows-terminal"),
        ({}, "tty:pts-3@81234", "tty"),
    ],
)
def test_each_place_has_its_identity(environ: dict[str, str], id: str, kind: str) -> None:
    assert identify(environ, tty=PTS, leader=4, cwd="/w") == {"id": id, "kind": kind, "pid": 4, "cwd": "/w"}


def test_a_pane_comes_before_the_program_that_shows_it_and_the_program_before_the_tty() -> None:
    kitty = {"KITTY_WINDOW_ID": "1", "KITTY_PID": "77"}
    assert _id(TMUX | kitty) == "tmux:%5@4711"
    assert _id(kitty) == "kitty:1@77"


def test_what_the_user_says_comes_first_and_an_empty_word_says_nothing() -> None:
    assert _id(TMUX | {"SESSIOND_TERMINAL": "mine"}) == "mine"
    assert _id(TMUX | {"SESSIOND_TERMINAL": ""}) == "tmux:%5@4711"


def test_without_a_terminal_there_is_no_identity() -> None:
    assert identify({}, leader=4, cwd="/w") is None


@pytest.mark.parametrize(
    "mark", [{"TERM_PROGRAM": "vscode"}, {"NVIM": "/run/nvim.1"}, {"INSIDE_EMACS": "29,vterm"}]
)
def test_the_terminals_inside_an_editor_are_not_the_one_it_was_started_from(mark: dict[str, str]) -> None:
    assert _id(TMUX | {"TERM": "xterm-256color"} | mark) == "tty:pts-3@81234"


def test_a_multiplexer_inside_an_editors_terminal_names_its_panes() -> None:
    assert _id(TMUX | {"TERM_PROGRAM": "vscode", "TERM": "tmux-256color"}) == "tmux:%5@4711"


def test_a_pane_is_known_also_to_a_program_whose_streams_are_all_redirected() -> None:
    assert identify(TMUX) == {"id": "tmux:%5@4711", "kind": "tmux"}


def test_a_tty_that_is_given_out_again_is_another_terminal() -> None:
    assert identify({}, tty=("pts/3", "1")) != identify({}, tty=("pts/3", "2"))


@given(st.text(min_size=1, max_size=400))
def test_whatever_a_variable_holds_the_id_is_one_the_daemon_takes(value: str) -> None:
    found = identify({"SESSIOND_TERMINAL": value})
    assert found is not None
    assert LEGAL.fullmatch(str(found["id"]))
    assert not str(found["id"]).startswith(".")


def test_long_names_that_differ_at_the_end_stay_different() -> None:
    assert _id({"SESSIOND_TERMINAL": "x" * 200 + "a"}) != _id({"SESSIOND_TERMINAL": "x" * 200 + "b"})


def test_the_facts_of_a_session_leader_are_found_behind_any_command_name() -> None:
    fields = " ".join(["S", "1", "9", "9", str(os.makedev(136, 3)), *["0"] * 14, "81234", "0"])
    assert leader_facts(f"9 (a) b (c) {fields}".encode()) == ("pts/3", "81234")
    assert leader_facts(f"9 (sh) {fields}".replace(str(os.makedev(136, 3)), "0").encode()) == (None, "81234")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_when_the_session_leader_is_gone_the_oldest_ancestor_of_the_session_keeps_the_terminal() -> None:
    """The leader starts a shell and ends; the shell asks, in a child of its own, who keeps the terminal."""
    asked = f"{sys.executable} -c 'from sessiond.client.terminal import leader; print(leader())'"
    shell = f'while kill -0 "$1" 2>/dev/null; do :; done; echo $$; {asked}; true'
    leader = "import os, sys; me = str(os.getpid()); os.fork() or os.execlp('sh', *sys.argv[1:], me)"
    with subprocess.Popen(
        [sys.executable, "-c", leader, "sh", "-c", shell, "sh"],
        start_new_session=True,
        stdout=subprocess.PIPE,
    ) as process:
        process.wait()
        assert process.stdout is not None
        shell_pid, keeper = process.stdout.read().split()
    assert keeper == shell_pid


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_process_on_a_pseudo_terminal_finds_it_even_with_its_streams_elsewhere() -> None:
    master, slave = os.openpty()
    try:
        child = (
            "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); out = os.dup(1)\n"
            "from sessiond.client.terminal import here\n"
            "first = here(); null = os.open('/dev/null', 2); [os.dup2(null, fd) for fd in (0, 2)]\n"
            "os.write(out, repr((first, here(), os.ttyname(int(sys.argv[1])))).encode())"
        )
        done = subprocess.run(
            [sys.executable, "-c", child, str(slave)],
            stdin=slave,
            stdout=subprocess.PIPE,
            env={},
            pass_fds=(slave,),
            start_new_session=True,
            check=True,
        )
    finally:
        os.close(master)
        os.close(slave)
    first, redirected, name = eval(done.stdout)
    assert first == redirected
    assert first["id"].startswith(f"tty:{name.removeprefix('/dev/').replace('/', '-')}@")


def _id(environ: dict[str, str]) -> object:
    found = identify(environ, tty=PTS)
    return found and found["id"]
