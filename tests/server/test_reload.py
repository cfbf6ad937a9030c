"""SIGHUP: the log is opened anew, and the configuration followed as far as that goes."""

import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessiond.client.blocking import connect
from sessiond.paths import Locations, make_private
from support.homes import a_home, environment, sessiond, wait_until
from support.patience import BOUND


@pytest.fixture
def daemon() -> Iterator[tuple[Locations, "subprocess.Popen[bytes]"]]:
    with (
        a_home() as locations,
        subprocess.Popen(
            sessiond("serve"), env=environment(locations), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process,
    ):
        try:
            wait_until(Path(locations.endpoint).exists, BOUND)
            yield locations, process
        finally:
            process.kill()


def configured(locations: Locations, text: str) -> None:
    make_private(locations.config)
    Path(locations.config_file).write_text(text, encoding="utf-8")


def logged(locations: Locations, words: str) -> bool:
    log = Path(locations.log)
    return log.exists() and words in log.read_text(encoding="utf-8")


def test_a_log_that_was_moved_away_is_followed_by_a_new_one_for_the_owner_only(
    daemon: tuple[Locations, "subprocess.Popen[bytes]"],
) -> None:
    locations, process = daemon
    old = Path(f"{locations.log}-20261122")
    Path(locations.log).rename(old)
    process.send_signal(signal.SIGHUP)
    wait_until(lambda: logged(locations, "Configuration reloaded"), BOUND)
    assert stat.S_IMODE(Path(locations.log).stat().st_mode) == 0o600
    assert "Configuration reloaded" not in old.read_text(encoding="utf-8")


def test_settings_that_can_change_while_sessions_are_open_change_at_once(
    daemon: tuple[Locations, "subprocess.Popen[bytes]"],
) -> None:
    locations, process = daemon
    with connect(autostart=False, locations=locations) as client:
        client.call("session/create", {"cwd": "/w", "id": "atlas-one"})
        configured(locations, "[compaction]\ncontext_window = 50_000\n[history]\nenabled = false\n")
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: logged(locations, "Configuration reloaded"), BOUND)
        settings = client.call("session/configure", {"sessionId": "atlas-one"})["autoCompact"]
        assert settings["contextWindow"] == 50_000
        assert client.call("session/prepareCompaction", {"sessionId": "atlas-one"}) is not None
        client.call("history/add", {"prompt": "nothing is kept", "cwd": "/w"})
        assert client.call("history/list")["prompts"] == []


def test_the_time_until_the_end_can_be_changed_while_it_runs(
    daemon: tuple[Locations, "subprocess.Popen[bytes]"],
) -> None:
    locations, process = daemon
    with connect(autostart=False, locations=locations) as client:
        client.call("server/status")
        configured(locations, '[listen]\nidle_exit = "1s"\n')
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: logged(locations, "Configuration reloaded"), BOUND)
    assert process.wait(BOUND) == 0
    assert logged(locations, "no client for 1 seconds")


def test_a_configuration_that_cannot_be_used_changes_nothing_and_is_told(
    daemon: tuple[Locations, "subprocess.Popen[bytes]"],
) -> None:
    locations, process = daemon
    configured(locations, '[listen]\nidle_exitt = "1s"\n')
    process.send_signal(signal.SIGHUP)
    wait_until(lambda: logged(locations, "idle_exit is probably meant"), BOUND)
    with connect(autostart=False, locations=locations) as client:
        assert client.call("server/status")["pid"] == process.pid


def test_settings_that_need_a_new_daemon_are_named(
    daemon: tuple[Locations, "subprocess.Popen[bytes]"],
) -> None:
    locations, process = daemon
    configured(locations, f'[roots]\nfolders = ["{locations.home}/pi"]\n')
    process.send_signal(signal.SIGHUP)
    wait_until(lambda: logged(locations, "roots take effect after: sessiond restart"), BOUND)


def test_a_log_that_cannot_be_opened_again_harms_nobody(
    daemon: tuple[Locations, "subprocess.Popen[bytes]"],
) -> None:
    locations, process = daemon
    Path(locations.log).unlink()
    Path(locations.log).mkdir()
    process.send_signal(signal.SIGHUP)
    with connect(autostart=False, locations=locations) as client:
        assert client.call("server/status")["pid"] == process.pid
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(BOUND) == 0
