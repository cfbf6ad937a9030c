"""The load client of scripts/bench, and what it reads of processes, against real processes."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from scripts.benchmarks.disk_limit import Workers, appends_per_second
from scripts.benchmarks.drafts import appends, new_session
from scripts.benchmarks.load import Requests, drive, latencies
from scripts.benchmarks.processes import Process, echo, minimal, sessiond
from scripts.benchmarks.results import ROOT


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # as scripts/bench does


def requests(count: int) -> Requests:
    return Requests(
        [
            msgspec.json.encode({"id": measured, "method": "it", "params": {}})
            for measured in range(1, count + 1)
        ]
    )


@contextmanager
def python(code: str) -> Iterator[tuple[Process, subprocess.Popen[str]]]:
    """A Python that runs this code, and then waits for a line."""
    command = [sys.executable, "-c", f"{code}\nprint('ready', flush=True)\ninput()"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield Process(process.pid, ""), process
        process.communicate("\n")


def test_every_client_sends_all_requests(tmp_path: Path) -> None:
    with echo(tmp_path, 90) as server:
        outcome = drive(server, requests(100), clients=3, depth=7)
        assert outcome.rate > 0
        assert 0 < outcome.main_cpu <= outcome.cpu + 1e-12  # the same clock ticks, divided in another order
        assert outcome.settled == 0


def test_clients_may_send_requests_of_their_own(tmp_path: Path) -> None:
    with sessiond(tmp_path / "home") as daemon:
        sessions = [new_session(daemon) for _ in range(2)]
        loads = [appends(sessions[0], "written", 3), appends(sessions[1], "synced", 2, entries=5)]
        drive(daemon, loads, clients=2, depth=2)
        counts = [
            daemon.call("session/info", sessionId=measured)["session"]["entryCount"] for measured in sessions
        ]
        assert counts == [1 + 3, 1 + 2 * 5]


def test_a_refused_request_is_an_error(tmp_path: Path) -> None:
    with sessiond(tmp_path / "home") as daemon, pytest.raises(RuntimeError):
        drive(daemon, appends("no-such-session", "written", 1), clients=1, depth=1)


def test_each_request_has_a_latency(tmp_path: Path) -> None:
    with echo(tmp_path, 90) as server:
        times = latencies(server, requests(5))
        assert len(times) == 5
        assert min(times) > 0


def test_processor_time_includes_threads_that_have_ended() -> None:
    burn = "import threading, time\ndef burn():\n  while time.thread_time() < 0.2: pass\n"
    with python(f"{burn}it = threading.Thread(target=burn)\nit.start()\nit.join()") as (process, _):
        assert process.cpu() >= 0.2


def test_processor_time_of_the_main_thread_excludes_other_threads() -> None:
    burn = "import threading, time\ndef burn():\n  while time.thread_time() < 0.2: pass\n"
    with python(f"{burn}it = threading.Thread(target=burn)\nit.start()\nit.join()") as (process, _):
        assert 0 < process.main_thread_cpu() <= process.cpu() - 0.2


def test_processor_time_settles_after_the_work_that_is_left() -> None:
    work = "import threading, time\ndef burn():\n  while time.thread_time() < 0.3: pass\n"
    with python(f"{work}threading.Thread(target=burn).start()") as (process, _):
        assert process.settled_cpu() >= 0.3


@pytest.mark.parametrize("workers", get_args(Workers))
def test_the_limit_of_the_disk_is_measured_with_a_file_for_each_writer(
    tmp_path: Path, workers: Workers
) -> None:
    assert appends_per_second(tmp_path, workers, writers=3, count=2, line_bytes=100) > 0
    assert list(tmp_path.iterdir()) == []


def test_the_server_without_layers_writes_a_line_for_each_entry(tmp_path: Path) -> None:
    with minimal(tmp_path) as server:
        drive(server, appends("s", "written", 5, entries=2), clients=3, depth=2)
        lines = [msgspec.json.decode(line) for line in (tmp_path / "minimal.jsonl").read_bytes().splitlines()]
    ids = [line["id"] for line in lines]
    assert len(set(ids)) == 3 * 5 * 2
    assert [line["parentId"] for line in lines] == ["", *ids[:-1]]
