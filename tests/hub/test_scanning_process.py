"""Kingfisher runs in a process that may end at any time, and is started again."""

import os
import signal
from pathlib import Path

import pytest

from sessiond.hub.errors import ChildFailed
from sessiond.hub.redaction import scanning_process
from sessiond.hub.redaction.scanning_process import CACHE_VARIABLE, FoundKey, OwnScanner, ScanningProcess

KEY = b"the key dapi" + b"0a1b2c3d" * 4 + b" of a workspace"


def children() -> set[int]:
    """The processes that this one has started."""
    listed = (path.read_text(encoding="ascii") for path in Path("/proc/self/task").glob("*/children"))
    return {int(pid) for text in listed for pid in text.split()}


def test_a_process_finds_what_this_one_finds() -> None:
    other, here = ScanningProcess(os.environ[CACHE_VARIABLE]), OwnScanner(os.environ[CACHE_VARIABLE])
    for data in (b"", b"nothing", KEY, KEY * 2_000, "schlüssel \ud800".encode("utf-8", "replace") + KEY):
        assert other.scan(data) == here.scan(data)
    assert all(isinstance(key, FoundKey) for key in other.scan(KEY))
    other.close()


def test_a_process_that_was_killed_is_started_again() -> None:
    before = children()
    scanner = ScanningProcess(os.environ[CACHE_VARIABLE])
    found = scanner.scan(KEY)
    for _ in range(2):
        [pid] = children() - before
        os.kill(pid, signal.SIGKILL)
        assert scanner.scan(KEY) == found
    scanner.close()
    assert children() <= before  # others of this process may end, too


def test_a_process_that_ends_each_time_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning_process, "COMMAND", ("false",))
    with pytest.raises(ChildFailed, match="ended with status 1"):
        ScanningProcess(None).scan(KEY)


def test_the_process_ends_with_the_object_that_started_it() -> None:
    before = children()
    scanner = ScanningProcess(os.environ[CACHE_VARIABLE])
    scanner.scan(KEY)
    assert len(children() - before) == 1
    del scanner
    assert children() <= before  # others of this process may end, too
