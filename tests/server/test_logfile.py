import logging
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessiond.server.process import daemon_log
from sessiond.server.process.daemon_log import DaemonLogFile, logging_to

log = logging.getLogger("sessiond.test")


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    level = logging.getLogger().level
    yield tmp_path / "sessiond.log"
    logging.getLogger().setLevel(level)


def test_the_log_is_for_its_owner_only(path: Path) -> None:
    with logging_to(str(path)):
        log.info("hallo")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text(encoding="utf-8").endswith("INFO sessiond.test: hallo\n")


def test_a_record_is_one_line_whatever_is_in_it(path: Path) -> None:
    with logging_to(str(path)):
        log.info("client %s", "x\nforged\x1b[31m\x9b")
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1
    assert lines[0].endswith(r"client x\x0aforged\x1b[31m\x9b")


def test_a_stack_stays_below_its_record_and_the_end_of_a_long_error_is_left_out(path: Path) -> None:
    with logging_to(str(path)):
        try:
            raise ValueError("a body\x1b " * 100)
        except ValueError:
            log.exception("it failed")
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[1].startswith("Traceback")
    assert max(map(len, lines)) < 900
    assert "\x1b" not in "".join(lines)


def test_ten_of_a_kind_a_minute_are_enough(path: Path) -> None:
    with logging_to(str(path)):
        for n in range(1000):
            log.warning("refused %d", n)
        log.warning("something else")
    assert path.read_text(encoding="utf-8").count("refused") == 10
    assert "something else" in path.read_text(encoding="utf-8")


def test_the_next_minute_tells_how_many_were_left_out(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with logging_to(str(path)):
        for _ in range(25):
            log.warning("refused")
        now += 61
        log.warning("refused")
    assert path.read_text(encoding="utf-8").count("refused") == 11
    assert "15 more of these" in path.read_text(encoding="utf-8")


def test_after_the_file_was_moved_away_a_new_one_is_begun(path: Path) -> None:
    with logging_to(str(path)) as file:
        log.info("before")
        path.rename(path.with_suffix(".old"))
        assert file is not None
        file.reopen()
        log.info("after")
    assert "after" in path.read_text(encoding="utf-8")
    assert "before" not in path.read_text(encoding="utf-8")


def test_a_full_file_makes_room_and_only_five_are_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon_log, "MAX_BYTES", 100)
    file = DaemonLogFile(str(path))
    for n in range(50):
        file.emit(logging.makeLogRecord({"msg": f"{n} " + "x" * 90, "levelno": logging.INFO}))
    file.close()
    assert len(list(path.parent.iterdir())) == 5


def test_where_there_can_be_no_file_standard_error_has_to_do(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path.mkdir(parents=True)
    with logging_to(str(path)) as file:
        log.info("served all the same")
    assert file is None
    assert "served all the same" in capsys.readouterr().err
