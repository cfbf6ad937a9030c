"""The scrub: blobs and compressed logs that change on the disk are named in the log, and nothing is repaired."""

import hashlib
import logging
import time
from pathlib import Path

import pytest

from sessiond.hub.verification import scrubbing
from sessiond.hub.verification.scrubbing import Scrub, ScrubRecord
from sessiond.paths import find_locations
from sessiond.server import server
from sessiond.store.files.seekable import compressed
from support.daemons import running
from support.waiting import until


def blob(data: Path, content: bytes) -> Path:
    path = data / "blobs" / hashlib.sha256(content).hexdigest()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def archived(data: Path, content: bytes) -> Path:
    plain = data / "plain"
    plain.parent.mkdir(parents=True, exist_ok=True)
    plain.write_bytes(content)
    path = data / "sessions/--w--/2026-01-01T00-00-00-000Z_old-1.jsonl.zst"
    path.parent.mkdir(parents=True, exist_ok=True)
    with plain.open("rb") as file:
        path.write_bytes(b"".join(compressed(file.fileno(), len(content))))
    return path


def flip(path: Path, place: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def scrub(home: Path) -> Scrub:
    (home / "state").mkdir(parents=True, exist_ok=True)
    return Scrub(str(home / "data"), str(home / "state/scrub.json"), lambda: False)


def whole_pass(made: Scrub) -> None:
    for _ in range(100):
        if not made.read_part():
            return
    raise AssertionError("the pass does not end")


def named(caplog: pytest.LogCaptureFixture) -> set[str]:
    found = [record for record in caplog.records if record.levelno == logging.ERROR]
    return {
        Path(record.getMessage().partition(" has changed")[0]).name
        for record in found
        if "/" in record.getMessage()
    }


def test_intact_files_are_not_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    blob(tmp_path / "data", b"picture")
    archived(tmp_path / "data", b'{"type":"session"}\n' * 1_000)
    whole_pass(scrub(tmp_path))
    assert named(caplog) == set()


def test_a_changed_blob_and_a_changed_frame_are_named_and_stay_as_they_are(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    damaged = [
        blob(tmp_path / "data", b"picture"),
        archived(tmp_path / "data", b'{"type":"session"}\n' * 1_000),
    ]
    blob(tmp_path / "data", b"another")
    for path in damaged:
        flip(path, path.stat().st_size // 3)
    before = [path.read_bytes() for path in damaged]
    whole_pass(scrub(tmp_path))
    assert named(caplog) == {path.name for path in damaged}
    assert [path.read_bytes() for path in damaged] == before


def test_other_files_are_not_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    blob(tmp_path / "data", b"picture").with_name(".spool.tmp").write_bytes(b"half")
    (tmp_path / "data/blobs/link").symlink_to("/dev/zero")
    whole_pass(scrub(tmp_path))
    assert named(caplog) == set()


def test_a_pass_goes_on_after_a_restart_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(scrubbing, "PART_BYTES", 1)
    paths = sorted(blob(tmp_path / "data", bytes([number])) for number in range(6))
    first = scrub(tmp_path)
    for _ in range(3):
        assert first.read_part()
    for path in paths:
        flip(path)
    whole_pass(scrub(tmp_path))  # what was read before counts as read in this pass
    assert named(caplog) == {path.name for path in paths[3:]}


def test_the_next_pass_begins_a_month_after_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = blob(tmp_path / "data", b"picture")
    whole_pass(scrub(tmp_path))
    flip(path)
    whole_pass(scrub(tmp_path))
    assert named(caplog) == set()
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + scrubbing.PASS_SECONDS)
    whole_pass(scrub(tmp_path))
    assert named(caplog) == {path.name}


def test_a_clock_that_goes_back_does_not_end_the_scrub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = blob(tmp_path / "data", b"picture")
    whole_pass(scrub(tmp_path))
    flip(path)
    monkeypatch.setattr(time, "time", lambda: 1_000_000_000.0)
    whole_pass(scrub(tmp_path))
    assert named(caplog) == {path.name}


@pytest.mark.parametrize("content", [b"", b"[]", b'{"beganAt": "soon"}', b"\xff", b"{" * 10_000])
def test_a_damaged_record_begins_a_new_pass(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    path = blob(tmp_path / "data", b"picture")
    flip(path)
    (tmp_path / "state").mkdir()
    (tmp_path / "state/scrub.json").write_bytes(content)
    whole_pass(scrub(tmp_path))
    assert named(caplog) == {path.name}


def test_a_store_without_files_and_a_state_folder_that_is_gone_are_no_errors(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole_pass(Scrub(str(tmp_path / "none"), str(tmp_path / "gone/scrub.json"), lambda: False))
    assert named(caplog) == set()
    assert ScrubRecord().is_over


async def test_the_daemon_scrubs_and_the_doctor_knows_its_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server, "SCRUB_START_SECONDS", 0.0)
    monkeypatch.setattr(scrubbing, "PAUSE_SECONDS", 0.01)
    path = blob(tmp_path / "data", b"picture")
    flip(path)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        record = Path(find_locations({"SESSIOND_HOME": str(tmp_path)}).scrub)
        await until(lambda: record.exists() and named(caplog) == {path.name})
        found = (await peer.call("server/doctor"))["findings"]
    kinds = {finding["kind"] for finding in found}
    assert "damagedBlob" in kinds
    assert "unknownFile" not in kinds
    assert record.stat().st_mode & 0o077 == 0
