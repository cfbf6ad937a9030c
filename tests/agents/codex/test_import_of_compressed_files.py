"""Rollouts that Codex compressed are imported like others; damaged ones are refused with the reason."""

import os
from pathlib import Path

import pytest
import zstandard

from sessiond.hub.transfer import compressed
from support.daemons import Running
from support.dialect_files import bytes_of

OLD = 1_700_000_000


def packed(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    os.utime(path, (OLD, OLD))
    return path


async def test_a_compressed_rollout_is_the_same_session(memory: Running, tmp_path: Path) -> None:
    rollout = bytes_of("codex-legacy.jsonl")
    plain = written(tmp_path / "rollout-a.jsonl", rollout)
    zipped = written(tmp_path / "rollout-a.jsonl.zst", packed(rollout[:5000]) + packed(rollout[5000:]))
    peer = await memory.attach()
    [first] = (await peer.call("session/import", path=str(zipped)))["sessions"]
    [again] = (await peer.call("session/import", path=str(plain)))["sessions"]
    assert first["addedCount"] > 20
    assert (again["sessionId"], again["addedCount"]) == (first["sessionId"], 0)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"no frame at all", "a compressed frame is damaged"),
        (packed(b'{"a": 1}\n' * 99)[:-9], "ends in the middle of a line"),
        (packed(b'{"a": 1}'), "ends in the middle of a line"),
        (b"", "ends in the middle of a line"),
    ],
)
async def test_a_damaged_file_is_refused_with_its_reason(
    memory: Running, tmp_path: Path, data: bytes, reason: str
) -> None:
    peer = await memory.attach()
    result = await peer.call("session/import", path=str(written(tmp_path / "rollout-a.jsonl.zst", data)))
    [skipped] = result["skipped"]
    assert reason in skipped["message"]


def test_the_content_has_a_limit() -> None:
    bomb = packed(b"\n" * 10_000_000)
    assert len(bomb) < 10_000
    with pytest.raises(compressed.BadFrame, match="more than 1,000,000 bytes"):
        compressed.decompressed(bomb, 1_000_000)
