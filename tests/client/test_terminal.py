"""The identity of a terminal, and its first process. The cases of variables are in tests/data/clients."""

import os
import re
import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from sessiond.client.first_process import FirstProcess, ProcessStatus, device_name
from sessiond.client.terminal import identify

LEGAL = re.compile(r"[A-Za-z0-9._%@+:-]{1,128}")
TMUX = {"TMUX": "/tmp/tmux-1000/default,4711,0", "TMUX_PANE": "%5"}


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
