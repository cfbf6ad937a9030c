"""A daemon of an older sessiond meets a newer program: it is replaced, or one sentence says what to do."""

import subprocess
from pathlib import Path

import pytest

import sessiond
from sessiond.client.blocking import connect as connect_blocking, connect_to_any
from sessiond.client.daemon import connect
from sessiond.client.daemon_socket import OlderDaemonError, VersionMismatchError, read_endpoint
from sessiond.client.replace import restart
from sessiond.protocol import versions
from support.commands import Ran, Shell
from support.every_command import COMMANDS, LASTING
from support.homes import a_home, environment, sessiond as command
from support.older_daemon import ANSWER, DELETED, QUESTION, SESSION, an_older_daemon
from support.patience import BOUND

OLDER = ["first-0.1.0.json", "last-0.1.0.json"]
ABOUT_THE_DAEMON = {"status", "doctor", "restart", "stop"}
WITHOUT_A_DAEMON = {"terminal", "setup", "install-service", "uninstall-service", "restore"}
FURTHER = (
    "watch {session}", "view {session} --no-open", "agents follow codex", "rpc session/list {{}}",
    "serve --detach", "top --once",
)  # fmt: skip


def words_of(line: str, folder: Path) -> list[str]:
    ids = {"session": SESSION, "other": DELETED, "question": QUESTION, "answer": ANSWER}
    return [word.format(**ids, file=folder / "none.jsonl") for word in line.split()]


def names_both(ran: Ran, pid: int) -> bool:
    return all(
        text in ran.err for text in (f"0.1.0, process {pid}", sessiond.__version__, "sessiond restart")
    )


@pytest.mark.parametrize(
    ("program", "than", "older"),
    [
        ("0.1.0", "0.2.0", True), ("0.2.0", "0.2.0", False), ("0.10.0", "0.9.9", False), ("0.9", "0.9.1", True),
        ("0.3.0.dev1", "0.3.0", False), ("", "0.2.0", False), ("unknown version", "0.2.0", False),
        ("1.0", "0.2.0", False),
    ],
)  # fmt: skip
def test_versions_of_programs_are_compared_by_their_numbers(program: str, than: str, older: bool) -> None:
    assert versions.is_older(program, than) is older


@pytest.mark.parametrize("recorded", OLDER)
def test_an_older_daemon_without_clients_is_replaced_and_its_sessions_are_there(
    tmp_path: Path, recorded: str
) -> None:
    with a_home() as locations, an_older_daemon(locations, recorded) as daemon:
        shell = Shell(locations, tmp_path)
        assert f"{SESSION[:8]}" in shell("list", "--all").out
        assert daemon.wait(BOUND) == 0
        assert read_endpoint(locations)["build"] == sessiond.__version__
        assert DELETED[:8] in shell("trash").out
        assert "A race in the cache." in shell("tree", SESSION).out
        assert shell("append", SESSION, "--user", "And now?").code == 0


@pytest.mark.parametrize("recorded", OLDER)
def test_every_command_says_that_an_older_daemon_with_clients_has_to_be_replaced(
    tmp_path: Path, recorded: str
) -> None:
    with a_home() as locations, an_older_daemon(locations, recorded) as daemon:
        shell = Shell(locations, tmp_path)
        with connect_to_any(locations) as other:
            for line in (*COMMANDS, *FURTHER):
                if line.split()[0] in ABOUT_THE_DAEMON | WITHOUT_A_DAEMON:
                    continue
                ran = shell.run(*words_of(line, tmp_path))
                assert (ran.code, names_both(ran, daemon.pid), ran.out) == (69, True, ""), (line, ran)
                assert len(ran.err.splitlines()) == 1, (line, ran)
            assert other.call("server/status")["pid"] == daemon.pid
        assert set(LASTING) <= {line.split()[0] for line in FURTHER}


@pytest.mark.parametrize("recorded", OLDER)
@pytest.mark.parametrize(
    "line", ["status", "status --json", "doctor", "doctor --json", "stop", "restart", "restart --json"]
)
def test_commands_about_the_daemon_itself_work_with_an_older_one(
    tmp_path: Path, recorded: str, line: str
) -> None:
    with a_home() as locations, an_older_daemon(locations, recorded) as daemon:
        with connect_to_any(locations):
            ran = Shell(locations, tmp_path).run(*line.split())
        name = line.split()[0]
        assert (ran.code, ran.err) == (1 if name == "doctor" else 0, ""), ran
        if name in ("stop", "restart"):
            assert daemon.wait(BOUND) == 0
        else:
            assert "0.1.0" in ran.out
            assert line != "status" or "sessiond restart" in ran.out
            assert "unresponsive" not in ran.out


@pytest.mark.parametrize("recorded", OLDER)
def test_a_restart_replaces_an_older_daemon_though_clients_are_attached(recorded: str) -> None:
    with (
        a_home() as locations,
        an_older_daemon(locations, recorded) as daemon,
        connect_to_any(locations) as other,
    ):
        before = restart(locations)
        assert before is not None
        assert before["pid"] == daemon.pid
        assert other.call("server/status")["version"] == sessiond.__version__


@pytest.mark.parametrize("recorded", OLDER)
async def test_the_typed_client_replaces_an_older_daemon_or_names_it(recorded: str) -> None:
    with a_home() as locations, an_older_daemon(locations, recorded):
        with connect_to_any(locations), pytest.raises(OlderDaemonError):
            async with connect(locations=locations):
                pass
        async with connect(locations=locations) as daemon:
            assert (await daemon.info(SESSION)).session.title == "Flaky test"


def test_a_program_that_may_not_start_a_daemon_leaves_an_older_one_alone() -> None:
    with a_home() as locations, an_older_daemon(locations, OLDER[0]) as daemon:
        with pytest.raises(OlderDaemonError):
            connect_blocking(locations=locations, autostart=False)
        assert daemon.poll() is None


def test_an_older_version_in_the_endpoint_file_is_not_believed_before_a_daemon_is_ended() -> None:
    with a_home() as locations:
        restart(locations)
        there = Path(locations.endpoint)
        text = there.read_text(encoding="utf-8")
        there.write_text(text.replace(sessiond.__version__, "0.1.0"), encoding="utf-8")
        epoch = read_endpoint(locations)["epoch"]
        with connect_to_any(locations) as other:
            assert other.call("server/status")["epoch"] == epoch
            with pytest.raises(VersionMismatchError):
                connect_blocking(locations=locations)
            assert other.call("server/status")["epoch"] == epoch


def test_attach_passes_the_messages_of_a_client_to_an_older_daemon_that_others_use() -> None:
    with a_home() as locations, an_older_daemon(locations, OLDER[1]), connect_to_any(locations):
        body = b'{"jsonrpc":"2.0","id":1,"method":"server/status"}'
        ran = subprocess.run(
            command("attach", "--stdio"), input=b"Content-Length: %d\r\n\r\n%b" % (len(body), body),
            env=environment(locations), capture_output=True, timeout=BOUND, check=False,
        )  # fmt: skip
        assert b'"version":"0.1.0"' in ran.stdout.replace(b" ", b"")


def test_a_hook_and_the_prompt_of_a_shell_are_silent_with_an_older_daemon(tmp_path: Path) -> None:
    with a_home() as locations, an_older_daemon(locations, OLDER[0]):
        shell = Shell(locations, tmp_path)
        for words in (["hook", "claude-code"], ["continue", "--prompt"]):
            ran = shell.run(*words, stdin='{"hook_event_name": "SessionStart"}')
            assert (ran.out, ran.err) == ("", ""), words
