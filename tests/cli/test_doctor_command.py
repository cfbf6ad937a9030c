"""The command doctor, with a daemon, without one, and with one that does not answer; and others then."""

import json  # noqa: TID251 - what a daemon tells of itself
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.commands import Ran, Shell, a_shell
from support.homes import wait_until
from support.processes import runs

MACHINE = {
    "lowDiskSpace", "volatileDisk", "networkDisk", "lowWatchLimit", "lowDescriptorLimit", "openElsewhere",
    "warningsLogged",
    "noLingering", "wrongClock",
}  # fmt: skip
"""Findings that the machine of the tests may have by itself."""


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with a_shell(tmp_path) as shell:
        yield shell


def kinds(ran: Ran) -> set[str]:
    return {finding["kind"] for finding in ran.json["findings"]} - MACHINE


def of(ran: Ran, kind: str) -> dict[str, Any]:
    [found] = [finding for finding in ran.json["findings"] if finding["kind"] == kind]
    return dict(found)


def a_session(shell: Shell) -> Path:
    session = shell("new").lines[0]
    shell("append", session, "--user", "Hello.", "--assistant", "Hello!")
    return Path(shell("show", session, "--json").json["session"]["path"])


def endpoint(shell: Shell) -> dict[str, Any]:
    told = json.loads(Path(shell.locations.endpoint).read_bytes())
    assert isinstance(told, dict)
    return told


def tear(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b'{"type":"mess')


def test_without_a_daemon_everything_is_looked_at_and_none_is_started(shell: Shell) -> None:
    path = a_session(shell)
    shell("stop")
    assert kinds(shell.run("doctor", "--json")) == {"notRunning"}
    tear(path)
    ran = shell.run("doctor", "--json")
    assert ran.code == 1
    assert kinds(ran) == {"notRunning", "tornLine"}
    assert not Path(shell.locations.endpoint).exists()


def test_fix_starts_a_daemon_mends_and_has_nothing_to_do_again(shell: Shell) -> None:
    path = a_session(shell)
    shell("stop")
    tear(path)
    ran = shell.run("doctor", "--fix")
    assert "fixed" in ran.out
    assert f"{path}.torn-3" in ran.out
    assert Path(f"{path}.torn-3").read_bytes() == b'{"type":"mess'
    assert "fixed" not in shell.run("doctor", "--fix").out


def test_findings_of_one_kind_are_printed_up_to_five_and_counted(shell: Shell) -> None:
    folder = a_session(shell).parent
    for number in range(8):
        (folder / f"strange-{number}").write_bytes(b"")
        (folder / f"strange-{number}").chmod(0o600)
    for _ in range(2):  # with a daemon, and without
        ran = shell.run("doctor")
        assert ran.out.count("ls -ld") == 5
        assert "and 3 more findings of kind unknownFile" in ran.out
        [row] = [
            count for count in shell.run("doctor", "--json").json["counts"] if count["kind"] == "unknownFile"
        ]
        assert row["count"] == 8
        shell("stop")


def test_an_id_or_a_file_or_a_folder_may_be_named(shell: Shell) -> None:
    path = a_session(shell)
    session = shell("show", "--json").json["session"]["sessionId"]
    for word in (session, str(path), str(path.parent)):
        assert shell("doctor", word, "--json").json["examined"]["sessionCount"] == 1
    assert shell.run("doctor", "/nowhere/at-all.jsonl").code == 2


def test_a_configuration_that_no_daemon_takes_is_told(shell: Shell) -> None:
    config = Path(shell.locations.config_file)
    config.parent.mkdir(parents=True)
    config.write_text("[listen]\nidle = 3\n", encoding="utf-8")
    ran = shell.run("doctor", "--fix", "--json")
    assert ran.code == 1
    assert "invalidConfig" in kinds(ran)


def test_a_configuration_that_others_may_write_is_told_and_starts_no_daemon(shell: Shell) -> None:
    config = Path(shell.locations.config_file)
    config.parent.mkdir(parents=True)
    config.write_text('[summarizer]\ncommand = ["true"]\n', encoding="utf-8")
    config.chmod(0o666)
    assert "unsafeConfig" in kinds(shell.run("doctor", "--json"))
    ran = shell.run("new")
    assert ran.code != 0
    assert str(config) in ran.err
    assert config.stat().st_mode & 0o777 == 0o666


def test_a_configuration_in_the_wrong_place_is_pointed_out(shell: Shell) -> None:
    misplaced = Path(shell.locations.config_file).parent.parent / "config.toml"
    misplaced.parent.mkdir(parents=True, exist_ok=True)
    misplaced.write_text("[listen]\n", encoding="utf-8")
    found = of(shell.run("doctor", "--json"), "misplacedConfig")
    assert found["location"]["path"] == str(misplaced)
    assert shell.locations.config_file in found["message"]


def test_a_socket_that_was_removed_comes_back(shell: Shell) -> None:
    a_session(shell)
    Path(endpoint(shell)["socket"]).unlink()
    assert "unreachable" in kinds(shell.run("doctor", "--json"))
    assert of(shell.run("doctor", "--fix", "--json"), "unreachable")["fixed"] is True
    assert "unreachable" not in kinds(shell.run("doctor", "--json"))


def test_an_endpoint_that_cannot_be_read_is_written_anew(shell: Shell) -> None:
    a_session(shell)
    Path(shell.locations.endpoint).write_text("{", encoding="utf-8")
    assert "damagedEndpoint" in kinds(shell.run("doctor", "--json"))
    shell.run("doctor", "--fix")
    assert "damagedEndpoint" not in kinds(shell.run("doctor", "--json"))


def test_leftovers_of_a_killed_daemon_are_only_worth_a_note(shell: Shell) -> None:
    a_session(shell)
    daemon = endpoint(shell)["pid"]
    os.kill(daemon, signal.SIGKILL)
    wait_until(lambda: not runs(daemon), 30)
    assert kinds(shell.run("doctor", "--json")) == {"notRunning", "staleSocket", "staleEndpoint"}


def test_a_lock_file_that_was_replaced_under_a_daemon_is_told(shell: Shell) -> None:
    a_session(shell)
    lock = Path(shell.locations.daemon_lock)
    lock.rename(f"{lock}.old")
    lock.touch(0o600)
    assert "lockLost" in kinds(shell.run("doctor", "--json"))


def test_escape_sequences_in_names_do_not_reach_the_terminal(shell: Shell) -> None:
    path = a_session(shell)
    path.with_name("\x1b]0;owned\x07\x1b[31m.jsonl.txt").write_bytes(b"")
    assert "\x1b" not in shell.run("doctor").out


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_every_command_ends_with_a_sentence_when_the_daemon_does_not_answer(shell: Shell) -> None:
    path = a_session(shell)
    tear(path)
    daemon = endpoint(shell)["pid"]
    os.kill(daemon, signal.SIGSTOP)
    try:
        words = [["status"], ["clients"], ["stop"], ["list"], ["append", "--user", "x"], ["doctor"]]
        running = [shell.start(*word) for word in words]
        ended = [process.communicate(timeout=120) for process in running]
        codes = [process.returncode for process in running]
        assert codes == [75] * 5 + [1]
        for out, err in ended:
            assert f"process {daemon}" in out + err
        assert f"kill -CONT {daemon}" in ended[-1][0]
        assert "the last line is torn" in ended[-1][0]  # what lies on disk is looked at all the same
    finally:
        os.kill(daemon, signal.SIGCONT)
    # It was asked to stop, and now it does.
    wait_until(lambda: not runs(daemon), 30)


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_socket_of_somebody_who_only_listens_is_told_as_silence(shell: Shell) -> None:
    """As a daemon whose loop hangs: the kernel takes the connection, and nobody ever reads it."""
    run = Path(shell.locations.runtime)
    run.mkdir(parents=True, mode=0o700)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(shell.locations.socket)
        listening.listen(16)
        status = shell.start("status")
        _, err = status.communicate(timeout=120)
        assert status.returncode == 75
        assert "has not responded" in err


def test_the_command_never_loads_the_server(shell: Shell) -> None:
    program = (
        "import sys; from sessiond.cli.main import run; run(['doctor'])\n"
        "print([it for it in sys.modules if it.startswith('sessiond.server')], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        encoding="utf-8",
        env=shell.environment(),
        cwd=shell.folder,
    )
    assert done.stderr.splitlines()[-1] == "[]"


SECRET = "q8)r$m0|Zt4x"


@pytest.mark.parametrize("has_daemon", [True, False])
def test_secrets_are_listed_by_session_entry_and_kind_and_never_shown(shell: Shell, has_daemon: bool) -> None:
    session = shell("new", "--title", "Harmless").lines[0]
    shell("append", session, "--user", "Hello.")
    shell("append", session, "--user", f"DB_PASS={SECRET}\nDB_HOST=db\nSMTP_PASS={SECRET}")
    path = Path(shell("show", session, "--json").json["session"]["path"])
    before = path.read_bytes()
    if not has_daemon:
        shell("stop")
    ran = shell.run("doctor", "--secrets", "--json")
    found, of_prompt = ran.json["findings"]
    lines = before.splitlines()
    [number] = [number for number, line in enumerate(lines, 1) if SECRET.encode() in line]
    assert (ran.code, found["kind"], found["message"]) == (1, "secretFound", "Password, 2 times")
    assert found["location"] == {
        "path": str(path), "sessionId": session, "line": number, "entryId": json.loads(lines[number - 1])["id"],
        "byteOffset": None, "blob": None,
    }  # fmt: skip
    prompt = next(line.split()[0] for line in shell("history").lines if "SMTP_PASS" in line)
    assert f"Password, 2 times in prompt {prompt}" in of_prompt["message"]
    assert of_prompt["location"]["path"] == shell.locations.history
    shown = shell.run("doctor", "--secrets", str(path))
    assert f"in entry {found['location']['entryId']} of session {session}" in shown.out
    assert SECRET not in ran.out + shown.out
    assert path.read_bytes() == before


def test_secrets_in_a_line_that_is_damaged_are_listed_too(shell: Shell) -> None:
    path = a_session(shell)
    shell("stop")
    with path.open("ab") as file:
        file.write(f'{{"type":"mess","text":"API_TOKEN={SECRET * 2}'.encode())
    found = of(shell.run("doctor", "--secrets", "--json"), "secretFound")
    assert found["location"]["line"] == len(path.read_bytes().splitlines())
    assert "entryId" not in found["location"]


def test_where_no_secrets_are_the_exit_status_says_so(shell: Shell) -> None:
    a_session(shell)
    ran = shell.run("doctor", "--secrets")
    assert (ran.code, "No problems" in ran.out) == (0, True)
    assert shell.run("doctor", "--secrets", "--fix").code == 2


def test_a_secret_in_a_session_without_a_file_is_listed_by_session_and_entry(shell: Shell) -> None:
    session = shell("new", "--ephemeral").lines[0]
    entry = shell("append", session, "--user", f"DB_PASS={SECRET}").lines[0]
    shown = shell.run("doctor", "--secrets")
    assert (shown.code, f"Password in entry {entry} of session {session}" in shown.out) == (1, True)
    assert SECRET not in shown.out
