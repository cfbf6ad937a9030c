"""The real peers as references of scripts/bench."""

from pathlib import Path

import pytest
from scripts.benchmarks.peer_timing import NAMES, PeerTimes, Task
from scripts.benchmarks.report import Row
from scripts.benchmarks.session_files import session_name, write_session

from support import peers

ENTRIES, SESSIONS = 30, 4


def test_without_peers_a_row_says_so_and_has_no_ratio(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SESSIOND_PEERS", str(tmp_path))
    times = PeerTimes("open")
    times.round(tmp_path)
    (row,) = times.rows([0.1], must_beat=["omp"])
    assert "not installed" in row.measured
    assert (row.ratio, row.bar, row.verdict, row.samples) == ("", "", "", None)


@pytest.mark.parametrize(("ours", "verdict"), [(0.4, "met"), (0.6, "missed")])
def test_a_peer_that_must_be_beaten_is_a_bar(
    monkeypatch: pytest.MonkeyPatch, ours: float, verdict: str
) -> None:
    monkeypatch.setattr(peers, "available", lambda: True)
    monkeypatch.setattr(peers, "run_program", lambda *_, **__: '{"times": [100, 500, 900], "size": 7}')
    times = PeerTimes("list")
    times.round(Path("it"), size=7)
    pi, omp = times.rows([ours], must_beat=["omp"])
    assert (pi.bar, pi.verdict) == ("", "")
    assert (omp.measured, omp.bar, omp.verdict) == ("500 ms", "<= 1 x", verdict)
    assert omp.ratio == f"ours {ours / 0.5:.2f} x"


def test_a_peer_that_found_something_else_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "available", lambda: True)
    monkeypatch.setattr(peers, "run_program", lambda *_, **__: '{"times": [1], "size": 6}')
    with pytest.raises(RuntimeError):
        PeerTimes("open").round(Path("it"), size=7)


@pytest.mark.interop
@pytest.mark.parametrize(
    ("task", "size"), [("open", ENTRIES), ("list", SESSIONS), ("tree", 1), ("append", None)]
)
def test_the_real_peers_do_each_task(tmp_path: Path, task: Task, size: int | None) -> None:
    for number in range(SESSIONS):
        write_session(tmp_path / session_name(f"it-{number}"), f"it-{number}", ENTRIES, branch_every=10)
    times = PeerTimes(task)
    times.round(tmp_path if task == "list" else next(tmp_path.iterdir()), size=size, repeated=3)
    rows: list[Row] = list(times.rows([1.0]))
    assert [row.what.split()[0] for row in rows] == list(NAMES.values())
    assert all(row.samples is not None and row.samples.low > 0 for row in rows)
