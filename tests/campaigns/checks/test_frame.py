"""How a campaign is run: what counts as a failure, and what is said of it."""

import subprocess
import sys
from pathlib import Path

import pytest

from campaigns import __main__ as frame, known
from campaigns.campaign import Broken, Campaign, Figures, Ground

TESTS = Path(__file__).parents[2]


def run(monkeypatch: pytest.MonkeyPatch, what: object, *words: str) -> int:
    def fights(ground: Ground) -> Figures:
        if isinstance(what, Exception):
            raise what
        if what == "cannot":
            ground.cannot("no loop devices")
        if what == "left out":
            ground.leave_out("strace")
        return Figures(3, checked=7)

    campaign = Campaign("mine", "It holds.", "by trying", fights)
    monkeypatch.setattr(known, "NAMES", ("mine",))
    monkeypatch.setattr(known, "campaign", lambda name: campaign)
    monkeypatch.setattr(frame, "limit_time", lambda seconds: None)  # the alarm is that of the test itself
    monkeypatch.setattr(sys, "argv", ["campaign", "mine", *words])
    return frame.main()


def test_a_campaign_that_comes_back_has_held(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "fine", "--seed", "5") == 0
    assert "held: 3 rounds, 7 checked" in capsys.readouterr().out


def test_a_broken_promise_comes_with_the_command_that_repeats_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, Broken("an entry is lost"), "--seed", "5", "--rounds", "9") == 1
    assert "scripts/campaign mine --rounds 9 --seed 5" in capsys.readouterr().out


def test_a_part_that_the_machine_does_not_allow_is_named_and_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "cannot", "--whole") == 0
    assert "CANNOT BE DONE HERE: no loop devices" in capsys.readouterr().out


def test_a_missing_program_is_a_failure_only_where_everything_must_be_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run(monkeypatch, "left out") == 0
    assert run(monkeypatch, "left out", "--whole") == 1


def test_rounds_are_as_many_as_asked_for_else_as_the_scale_wants(tmp_path: Path) -> None:
    def rounds(**more: object) -> int:
        ground = Ground("mine", 1, "long", tmp_path, **more)  # type: ignore[arg-type]
        return len(list(ground.each_round(short=2, long=5)))

    assert rounds() == 5
    assert rounds(rounds=3) == 3
    assert rounds(minutes=0) == 1


def test_the_chance_of_a_round_depends_on_the_seed_and_its_number_only(tmp_path: Path) -> None:
    one, other = (Ground("mine", 1, "short", tmp_path) for _ in range(2))
    other.dice.random()

    assert one.chance(4).random() == other.chance(4).random()
    assert one.chance(4).random() != one.chance(5).random()


def test_the_campaigns_can_be_listed() -> None:
    listed = subprocess.run(
        [sys.executable, "-m", "campaigns", "--list"],
        cwd=TESTS,
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout

    assert [line.partition(":")[0] for line in listed.splitlines()[::2]] == list(known.NAMES)
