"""The identity of a terminal, over its facts: which variables name it, and which it has only inherited."""

import os
import re
import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from sessiond.client.first_process import FirstProcess, ProcessStatus, device_name
from sessiond.client.terminal import identify

LEGAL = re.compile(r"[A-Za-z0-9._%@+:-]{1,128}")
SERVER = 4711
TMUX = {"TMUX": "/tmp/tmux-1000/default,4711,0", "TMUX_PANE": "%5"}
SCREEN = {"STY": "4711.pts-0.host", "WINDOW": "1"}
KITTY = {"KITTY_WINDOW_ID": "1", "KITTY_PID": "4711"}
ZELLIJ = {"ZELLIJ_PANE_ID": "2", "ZELLIJ_SESSION_NAME": "work"}
WEZTERM = {"WEZTERM_PANE": "0", "WEZTERM_UNIX_SOCKET": "/run/s", "TERM_PROGRAM": "WezTerm"}
TTY = "tty:pts-3@81234"

EACH = [
    (TMUX, "tmux:%5@4711", "tmux"),
    (ZELLIJ, "zellij:2@work", "zellij"),
    (SCREEN, "screen:1@4711.pts-0.host", "screen"),
    ({"STY": "4711.pts-0.host"}, "screen:0@4711.pts-0.host", "screen"),
    ({"CMUX_SURFACE_ID": "ab-1"}, "cmux:ab-1", "cmux"),
    (KITTY, "kitty:1@4711", "kitty"),
    (WEZTERM, "wezterm:0@%2Frun%2Fs", "wezterm"),
    ({"TERM_SESSION_ID": "w0t0p0:AB-CD"}, "terminal:w0t0p0:AB-CD", "terminal"),
    ({"WT_SESSION": "guid"}, "windows-terminal:guid", "windows-terminal"),
]


def started(
    environ: dict[str, str], *, by: int = SERVER, having: dict[str, str] | None = None
) -> FirstProcess:
    """The first process of a terminal, started by the process `by` with `environ`; `having` is that one's own."""
    return FirstProcess(9, 81234, "pts-3", parent=by, environ=environ, parent_environ=having or {})


@pytest.mark.parametrize(("environ", "id", "kind"), [*EACH, ({}, TTY, "tty")])
def test_a_terminal_is_named_by_the_variables_that_its_program_has_set(
    environ: dict[str, str], id: str, kind: str
) -> None:
    assert identify(environ, started(environ), cwd="/w") == {
        "id": id, "kind": kind, "pid": 9, "startTime": 81234, "cwd": "/w",
    }  # fmt: skip


@pytest.mark.parametrize(("environ", "id", "kind"), EACH)
def test_a_terminal_that_has_inherited_all_of_its_variables_is_named_by_its_device(
    environ: dict[str, str], id: str, kind: str
) -> None:
    assert _id(environ, started(environ, by=12, having=environ)) == TTY


@pytest.mark.parametrize(
    ("outer", "inner", "id"),
    [
        (TMUX, WEZTERM, "wezterm:0@%2Frun%2Fs"),
        (TMUX, {"KITTY_WINDOW_ID": "1", "KITTY_PID": "77"}, "kitty:1@77"),
        (TMUX, {"STY": "77.pts-0.host", "WINDOW": "0"}, "screen:0@77.pts-0.host"),
        (TMUX, {"STY": "77.pts-0.host", "WINDOW": "1"}, "screen:1@77.pts-0.host"),
        (TMUX, {"TERM_PROGRAM": "vscode", "TERM": "xterm-256color"}, TTY),
        (TMUX, {"TERM_PROGRAM": "ghostty"}, TTY),
        (KITTY, {"ALACRITTY_WINDOW_ID": "5", "TERM": "alacritty"}, TTY),
        (KITTY, {"TMUX": "/tmp/s,77,0", "TMUX_PANE": "%0"}, "tmux:%0@77"),
        (TMUX, {"TMUX": "/tmp/other,77,0", "TMUX_PANE": "%5"}, "tmux:%5@77"),
        (SCREEN, {"TMUX": "/tmp/s,77,0", "TMUX_PANE": "%0", "TERM": "screen"}, "tmux:%0@77"),
        (ZELLIJ, {"ZELLIJ_PANE_ID": "2", "ZELLIJ_SESSION_NAME": "other"}, "zellij:2@other"),
    ],
)
def test_of_terminals_that_are_started_from_one_another_the_innermost_counts(
    outer: dict[str, str], inner: dict[str, str], id: str
) -> None:
    environ = outer | inner
    assert _id(environ, started(environ, by=77, having=outer)) == id


def test_a_process_is_named_by_what_its_terminal_was_given_and_not_by_what_it_was_given_itself() -> None:
    first = started(TMUX)
    assert _id({}, first) == _id(TMUX | KITTY, first) == "tmux:%5@4711"


def test_where_the_parents_environment_cannot_be_read_the_device_counts() -> None:
    first = FirstProcess(9, 81234, "pts-3", parent=12, environ=ZELLIJ)
    assert _id(ZELLIJ, first) == TTY


def test_the_terminal_that_the_user_names_comes_first_and_an_empty_name_counts_as_none() -> None:
    first = started(TMUX)
    assert _id(TMUX | {"SESSIOND_TERMINAL": "mine"}, first) == "mine"
    assert _id(TMUX | {"SESSIOND_TERMINAL": ""}, first) == "tmux:%5@4711"


def test_without_a_terminal_there_is_no_identity() -> None:
    assert identify({}, FirstProcess(9, 81234), cwd="/w") is None


@pytest.mark.parametrize(("environ", "id", "kind"), EACH)
def test_where_no_parent_can_be_seen_the_variables_count_by_themselves(
    environ: dict[str, str], id: str, kind: str
) -> None:
    assert _id(environ) == _id(environ, FirstProcess(9, 81234, "pts-3")) == id


@pytest.mark.parametrize(
    "environ",
    [
        TMUX | {"TERM_PROGRAM": "WezTerm", "TERM": "xterm-256color"},
        TMUX | {"TERM_PROGRAM": "vscode", "TERM": "xterm-256color"},
        TMUX | SCREEN | {"TERM_PROGRAM": "tmux", "TERM": "screen"},
        KITTY | {"WEZTERM_PANE": "0"},
        KITTY | {"TERM_PROGRAM": "ghostty"},
        TMUX | {"TERM": "xterm-256color", "NVIM": "/run/nvim.1"},
        TMUX | {"TERM": "xterm-256color", "INSIDE_EMACS": "29,vterm"},
        TMUX | {"TERM_PROGRAM": "tmux", "TERM": "tmux-256color", "VSCODE_PID": "1"},
    ],
)
def test_where_no_parent_can_be_seen_variables_that_may_be_inherited_do_not_count(
    environ: dict[str, str],
) -> None:
    assert identify(environ) is None
    assert _id(environ, FirstProcess(9, 81234, "pts-3")) == TTY


@pytest.mark.parametrize(
    "more",
    [
        {"TERM_PROGRAM": "tmux", "TERM_SESSION_ID": "w0t0p0:AB-CD"},
        {"TERM_PROGRAM": "iTerm.app", "TERM": "screen-256color", "TERM_SESSION_ID": "w0t0p0:AB-CD"},
        {"TERM_PROGRAM": "vscode", "TERM": "tmux-256color"},
    ],
)
def test_where_no_parent_can_be_seen_a_multiplexer_that_names_itself_counts(more: dict[str, str]) -> None:
    assert _id(TMUX | more) == "tmux:%5@4711"


def test_a_pane_is_known_also_to_a_program_whose_streams_are_all_redirected() -> None:
    assert identify(TMUX) == {"id": "tmux:%5@4711", "kind": "tmux"}


def test_a_tty_that_is_given_out_again_is_another_terminal() -> None:
    assert identify({}, FirstProcess(9, 1, "pts-3")) != identify({}, FirstProcess(9, 2, "pts-3"))


def test_without_proc_the_session_leader_tells_two_uses_of_a_tty_apart() -> None:
    assert _id({}, FirstProcess(9, None, "ttys003")) == "tty:ttys003@pid9"


@given(st.text(min_size=1, max_size=400))
def test_any_value_of_a_variable_gives_an_id_that_the_daemon_takes(value: str) -> None:
    found = identify({"SESSIOND_TERMINAL": value})
    assert found is not None
    assert LEGAL.fullmatch(str(found["id"]))
    assert not str(found["id"]).startswith(".")


def test_long_names_that_differ_at_the_end_stay_different() -> None:
    assert _id({"SESSIOND_TERMINAL": "x" * 200 + "a"}) != _id({"SESSIOND_TERMINAL": "x" * 200 + "b"})


def test_the_fields_of_a_process_are_found_behind_any_command_name() -> None:
    fields = " ".join(["S", "1", "9", "8", str(os.makedev(136, 3)), *["0"] * 14, "81234", "0"])
    found = ProcessStatus(9, f"9 (a) b (c) {fields}".encode())
    assert (found.parent, found.session, device_name(found.device), found.start_time) == (
        1,
        8,
        "pts-3",
        81234,
    )


def test_a_device_that_is_no_pseudo_terminal_is_named_by_its_numbers() -> None:
    assert (device_name(os.makedev(4, 1)), device_name(os.makedev(136, 300))) == ("4-1", "pts-300")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_when_the_session_leader_is_gone_the_oldest_ancestor_of_the_session_keeps_the_terminal() -> None:
    """The leader starts a shell and ends; the shell asks, in a child of its own, who keeps the terminal."""
    asked = f"{sys.executable} -c 'from sessiond.client.first_process import first_process; print(first_process().pid)'"
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


def _id(environ: dict[str, str], first: FirstProcess | None = None) -> object:
    found = identify(environ, first)
    return found and found["id"]
