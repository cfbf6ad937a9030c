"""Every exit code that is documented, brought about for real; the guide has the same table."""

import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from sessiond.cli import exit_codes
from sessiond.cli.exit_codes import MEANINGS
from support.commands import Ran, Shell
from support.homes import sessiond

ROOT = Path(__file__).resolve().parents[2]


def test_help_guide_and_table_say_the_same() -> None:
    guide = (ROOT / "daemon/GUIDE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", guide, re.MULTILINE)
    assert {int(code): meaning for code, meaning in rows} == MEANINGS
    named = {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}
    assert named == MEANINGS.keys()


@pytest.mark.slow
def test_done_refused_and_misused(shell: Shell) -> None:
    assert shell.run("list").code == exit_codes.SUCCESS
    assert shell.run("show", "no-such-session").code == exit_codes.FAILURE
    assert shell.run("import", "/no/such/file").code == exit_codes.FAILURE
    assert shell.run("show", "--no-such-option").code == exit_codes.USAGE_ERROR
    assert shell.run("no-such-command").code == exit_codes.USAGE_ERROR


@pytest.mark.slow
def test_without_a_daemon(fresh: Shell) -> None:
    assert fresh.run("status").code == exit_codes.UNAVAILABLE
    assert fresh.run("list", SESSIOND_NO_AUTOSTART="1").code == exit_codes.UNAVAILABLE


@pytest.mark.slow
def test_with_a_configuration_that_cannot_be_used(fresh: Shell) -> None:
    folder = Path(fresh.locations.config)
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("no = 'such key'\n", encoding="utf-8")
    assert fresh.run("serve").code == exit_codes.CONFIG_ERROR
    assert fresh.run("list").code == exit_codes.UNAVAILABLE


@pytest.mark.slow
def test_with_a_folder_that_is_a_file(fresh: Shell) -> None:
    Path(fresh.locations.state).write_text("", encoding="utf-8")
    assert fresh.run("serve").code == exit_codes.CANNOT_CREATE


@pytest.mark.slow
def test_with_a_lock_that_is_a_folder(fresh: Shell) -> None:
    Path(fresh.locations.daemon_lock).mkdir(parents=True)
    Path(fresh.locations.state).chmod(0o700)
    assert fresh.run("serve").code == exit_codes.SYSTEM_ERROR


@pytest.mark.slow
def test_with_a_daemon_that_runs_already(shell: Shell) -> None:
    shell("list")
    assert shell.run("serve").code == exit_codes.TEMPORARY_FAILURE


@pytest.mark.slow
def test_with_an_answer_that_makes_no_sense(fresh: Shell) -> None:
    Path(fresh.locations.runtime).mkdir(mode=0o700, parents=True)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(fresh.locations.socket)
        listening.listen()
        listening.settimeout(60)
        with fresh.start("list") as command:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                assert command.wait(60) == exit_codes.INVALID_RESPONSE


@pytest.mark.slow
def test_ended_by_ctrl_c_or_by_its_reader(shell: Shell) -> None:
    session = shell("new").lines[0]
    with shell.start("watch", session) as subscriber:
        assert subscriber.stderr is not None
        try:
            assert subscriber.stderr.readline()
            subscriber.send_signal(signal.SIGINT)
            assert subscriber.wait(60) == exit_codes.INTERRUPTED
        finally:
            subscriber.kill()
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            sessiond("schema"), stdout=writing, env=shell.environment(), timeout=60, check=False
        )
    finally:
        os.close(writing)
    assert done.returncode == exit_codes.BROKEN_PIPE


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [("show", "nope"), ("tree", "nope"), ("lst",), ("show", "--jsn"), ("append", "--user", "x"), ("tag",),
     ("purge",), ("cleanup",), ("help", "tre"), ("restore", "nope"), ("state", "--because", "x"), ("append",)],
)  # fmt: skip
def test_a_failure_is_one_sentence_and_what_to_do_next(shell: Shell, words: tuple[str, ...]) -> None:
    assert_a_sentence(shell.run(*words))


@pytest.mark.slow
def test_a_daemon_that_is_missing_is_said_in_one_sentence(fresh: Shell) -> None:
    assert_a_sentence(fresh.run("status"))


def assert_a_sentence(ran: Ran) -> None:
    assert ran.code in MEANINGS
    assert ran.out == ""
    first = ran.err.splitlines()[0]
    assert first.startswith("sessiond: ")
    assert "sessiond " in ran.err.removeprefix("sessiond: ") or re.search(r"--\w+|Did you mean", ran.err)
