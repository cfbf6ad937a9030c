"""A hook starts the daemon, so that a session which its agent deletes later is here."""

import json  # noqa: TID251 - an event as an agent writes it
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessiond.client.blocking import connect
from sessiond.client.daemon_socket import DaemonNotRunningError
from sessiond.paths import Locations
from support.homes import a_home, environment, sessiond
from support.patience import BOUND
from support.writing_agents import WritingClaude

pytestmark = pytest.mark.slow

PATIENT = """\
import sys
from sessiond.cli.commands import hook
hook.READ_SECONDS = hook.LAST_SECONDS = 60.0
hook.run("claude-code")
"""


@pytest.fixture
def locations() -> Iterator[Locations]:
    with a_home() as found:
        yield found


def run_hook(locations: Locations, home: Path, path: Path, **more: str) -> None:
    """Run a hook of Claude Code. Its limits of time are those of a busy machine."""
    event = json.dumps({"hook_event_name": "Stop", "transcript_path": str(path)}).encode()
    done = subprocess.run(
        [sys.executable, "-c", PATIENT], input=event, capture_output=True, check=False, timeout=BOUND,
        env={**environment(locations), "HOME": str(home), **more},
    )  # fmt: skip
    # With the pipes closed: nothing that the hook started keeps them open.
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def follow(locations: Locations, agent: str = "claude-code") -> None:
    file = Path(locations.config_file)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.write_text(f'[agents]\nfollow = ["{agent}"]\n', encoding="utf-8")


def until(happens: Any) -> None:
    limit = time.monotonic() + BOUND
    while not happens():
        assert time.monotonic() < limit
        time.sleep(0.01)


def runs(locations: Locations) -> bool:
    try:
        connect(locations=locations, autostart=False).close()
    except DaemonNotRunningError:
        return False
    return True


def test_a_session_that_its_agent_deletes_after_a_hook_is_still_here(
    locations: Locations, tmp_path: Path
) -> None:
    claude = WritingClaude(tmp_path)
    claude.asks("hello")
    claude.says("good day")
    follow(locations)
    run_hook(locations, tmp_path, claude.path)
    until(lambda: runs(locations))

    def listed() -> list[str]:
        with connect(locations=locations, autostart=False) as daemon:
            return [session["firstPrompt"] for session in daemon.call("session/list", {})["sessions"]]

    until(listed)
    claude.path.unlink()
    with connect(locations=locations, autostart=False) as daemon:
        daemon.call("agent/wake", {"agent": "claude-code", "path": str(claude.path)})
    assert listed() == ["hello"]


@pytest.mark.parametrize("reason", ["no autostart", "not followed", "failed just now"])
def test_a_hook_starts_no_daemon_if_it_must_not_or_nothing_is_to_do(
    reason: str, locations: Locations, tmp_path: Path
) -> None:
    follow(locations, "codex" if reason == "not followed" else "claude-code")
    if reason == "failed just now":
        Path(locations.state).mkdir(parents=True, mode=0o700)
        lock = Path(locations.start_lock)
        lock.touch()
        os.utime(lock, (time.time() + 60, time.time() + 60))
    more = {"SESSIOND_NO_AUTOSTART": "1"} if reason == "no autostart" else {}
    run_hook(locations, tmp_path, tmp_path / "x.jsonl", **more)
    assert not Path(locations.log).exists()
    assert not runs(locations)


def test_a_daemon_that_cannot_start_is_not_tried_again_at_each_hook(
    locations: Locations, tmp_path: Path
) -> None:
    follow(locations)
    with Path(locations.config_file).open("a", encoding="utf-8") as file:
        file.write("nonsense = true\n")
    run_hook(locations, tmp_path, tmp_path / "x.jsonl")
    lock = Path(locations.start_lock)
    until(lambda: lock.exists() and lock.stat().st_mtime > time.time())
    assert not runs(locations)
    # A person who starts it gets the reason.
    done = subprocess.run(sessiond("list"), env=environment(locations), capture_output=True, check=False)
    assert done.returncode != 0
    assert b"nonsense" in done.stderr
