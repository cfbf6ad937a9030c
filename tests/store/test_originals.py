"""Originals: a file of an agent is kept byte for byte, compressed, before it is removed, and comes back as it was."""

import contextlib
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from sessiond.store.files import originals
from sessiond.store.files.census import stamp_of
from sessiond.store.files.originals import NotKept, OriginalNote


def agent_file(folder: Path, content: bytes = b'{"type":"user"}\n' * 1_000, name: str = "a.jsonl") -> Path:
    path = folder / "agent" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, ns=(1_600_000_000_123_456_789, 1_600_000_000_123_456_789))
    return path


def kept_in(folder: Path) -> Path:
    return folder / "originals"


def take(path: Path, folder: Path) -> OriginalNote:
    """Pack a file, and take it away."""
    status = path.stat()
    packed = originals.pack(str(path), str(kept_in(folder)))
    note = OriginalNote(
        str(path),
        "claude-code",
        "s",
        packed.hash,
        packed.size,
        status.st_mode & 0o777,
        status.st_mtime_ns,
        "2026",
    )
    originals.take(str(path), stamp_of(status), note, str(kept_in(folder)))
    return note


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in kept_in(folder).iterdir())


def give_back(folder: Path) -> None:
    for path, note in list(originals.notes(kept_in(folder))):
        originals.put_back(note, path)


@settings(max_examples=30, deadline=None)
@given(
    st.one_of(st.binary(max_size=3_000), st.binary(min_size=1, max_size=40).map(lambda part: part * 40_000))
)
def test_any_content_comes_back_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    folder = tmp_path_factory.mktemp("kept")
    path = agent_file(folder, content)
    path.chmod(0o640)
    before = path.stat()
    take(path, folder)
    assert not path.exists()
    give_back(folder)
    after = path.stat()
    assert path.read_bytes() == content
    assert (after.st_mtime_ns, after.st_mode) == (before.st_mtime_ns, before.st_mode)
    assert names(folder) == []


def test_content_that_repeats_far_apart_is_stored_once(tmp_path: Path) -> None:
    part = random.Random(1).randbytes(3_000_000)
    path = agent_file(tmp_path, part * 5)
    packed = originals.pack(str(path), str(kept_in(tmp_path)))
    assert packed.size == 15_000_000
    assert packed.packed_size < 3_100_000


def test_two_files_with_the_same_content_have_one_original_and_two_notes(tmp_path: Path) -> None:
    first, second = agent_file(tmp_path), agent_file(tmp_path, name="b.jsonl")
    note = take(first, tmp_path)
    take(second, tmp_path)
    assert names(tmp_path) == [f"{note.hash}.1.json", f"{note.hash}.2.json", f"{note.hash}.zst"]
    [(path, one), _] = originals.notes(kept_in(tmp_path))
    originals.put_back(one, path)
    assert names(tmp_path) == [f"{note.hash}.2.json", f"{note.hash}.zst"]
    give_back(tmp_path)
    assert first.read_bytes() == second.read_bytes() != b""
    assert names(tmp_path) == []


def test_a_file_that_changed_since_it_was_packed_stays(tmp_path: Path) -> None:
    path = agent_file(tmp_path)
    status = path.stat()
    packed = originals.pack(str(path), str(kept_in(tmp_path)))
    with path.open("ab") as file:
        file.write(b"more\n")
    note = OriginalNote(str(path), "codex", "s", packed.hash, packed.size, 0o600, status.st_mtime_ns, "2026")
    with pytest.raises(NotKept):
        originals.take(str(path), stamp_of(status), note, str(kept_in(tmp_path)))
    assert path.read_bytes().endswith(b"more\n")
    assert names(tmp_path) == [f"{packed.hash}.zst"]


def test_a_file_at_the_place_is_never_replaced(tmp_path: Path) -> None:
    path = agent_file(tmp_path)
    take(path, tmp_path)
    path.write_bytes(b"new work\n")
    before = names(tmp_path)
    with pytest.raises(NotKept):
        give_back(tmp_path)
    assert path.read_bytes() == b"new work\n"
    assert names(tmp_path) == before


@pytest.mark.parametrize("place", [0, 10, 100, -5])
def test_a_damaged_original_gives_nothing_back_and_stays(tmp_path: Path, place: int) -> None:
    path = agent_file(tmp_path, random.Random(2).randbytes(500))
    note = take(path, tmp_path)
    kept = kept_in(tmp_path) / f"{note.hash}.zst"
    content = bytearray(kept.read_bytes())
    content[place] ^= 4
    kept.write_bytes(content)
    assert originals.damage_of(kept) is not None
    with pytest.raises(NotKept):
        give_back(tmp_path)
    assert not path.exists()
    assert [entry.name for entry in path.parent.iterdir()] == []
    assert len(names(tmp_path)) == 2


def test_a_damaged_original_is_replaced_when_the_same_content_is_packed_again(tmp_path: Path) -> None:
    path = agent_file(tmp_path)
    kept = kept_in(tmp_path) / f"{originals.pack(str(path), str(kept_in(tmp_path))).hash}.zst"
    kept.write_bytes(b"damaged")
    originals.pack(str(path), str(kept_in(tmp_path)))
    assert originals.damage_of(kept) is None


def test_a_crash_between_the_two_steps_of_a_removal_is_settled(tmp_path: Path) -> None:
    path = agent_file(tmp_path)
    content = path.read_bytes()
    note = take(path, tmp_path)
    path.with_name(path.name + originals.MOVED).write_bytes(content)  # as if it was not removed yet
    originals.settle(kept_in(tmp_path))
    assert path.read_bytes() == content
    assert names(tmp_path) == [f"{note.hash}.zst"]


KILLED = """
import os, sys
from pathlib import Path
from sessiond.store.files import originals
from sessiond.store.files.census import stamp_of
from sessiond.store.files.originals import OriginalNote
folder = Path(sys.argv[1])
print("begun", flush=True)
for path in sorted((folder / "agent").iterdir()):
    status = path.stat()
    packed = originals.pack(str(path), str(folder / "originals"))
    note = OriginalNote(
        str(path), "codex", "s", packed.hash, packed.size, status.st_mode & 0o777, status.st_mtime_ns, "2026"
    )
    originals.take(str(path), stamp_of(status), note, str(folder / "originals"))
"""


@pytest.mark.parametrize("round_", range(8))
def test_a_kill_at_any_moment_loses_nothing(tmp_path: Path, round_: int) -> None:
    contents = {
        agent_file(
            tmp_path, f"{number} line\n".encode() * 5_000, f"{number:02}.jsonl"
        ): f"{number} line\n".encode() * 5_000
        for number in range(40)
    }
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(random.Random(round_).uniform(0, 0.15))
        process.kill()
    originals.settle(kept_in(tmp_path))
    for path, note in list(originals.notes(kept_in(tmp_path))):
        with contextlib.suppress(NotKept):  # a note whose file was not removed yet
            originals.put_back(note, path)
    assert {path: path.read_bytes() for path in contents} == contents


def test_notes_that_cannot_be_read_are_left_out_and_stay(tmp_path: Path) -> None:
    kept_in(tmp_path).mkdir()
    (kept_in(tmp_path) / f"{'a' * 64}.1.json").write_bytes(b"{")
    assert list(originals.notes(kept_in(tmp_path))) == []
    assert len(names(tmp_path)) == 1
    assert list(originals.notes(tmp_path / "missing")) == []


def test_a_link_or_a_folder_is_not_packed(tmp_path: Path) -> None:
    path = agent_file(tmp_path)
    link = path.with_name("link.jsonl")
    link.symlink_to(path)
    for place in (link, path.parent):
        with pytest.raises(OSError, match=r"."):
            originals.pack(str(place), str(kept_in(tmp_path)))
    assert names(tmp_path) == []
