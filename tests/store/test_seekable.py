"""A seekable file gives its log byte for byte, as a whole and in ranges; damage costs the lines of one frame."""

import os
import random
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import pyzstd
import zstandard
from hypothesis import given, settings, strategies as st

from sessiond.store.files import seekable
from sessiond.store.files.seekable import NoSeekTable, SeekTable

lines = st.one_of(
    st.binary(min_size=1, max_size=200).map(lambda data: b"{" + data.replace(b"\n", b" ") + b"}\n"),
    st.sampled_from([b"\n", b"  \n", b"\r\n", b"x\n"]),
    st.integers(1, 300).map(lambda kib: b'{"x":"' + random.Random(kib).randbytes(kib * 1024).hex().encode() + b'"}\n'),
)  # fmt: skip
logs = st.builds(
    lambda parts, repeated, tail: b"".join(parts) * repeated + tail,
    st.lists(lines, max_size=8), st.integers(1, 4), st.sampled_from([b"", b'{"torn'])
)  # fmt: skip


@contextmanager
def opened(content: bytes) -> Iterator[int]:
    """A descriptor of a file with this content, which has no name."""
    fd = os.memfd_create("log") if hasattr(os, "memfd_create") else os.open("/tmp", os.O_TMPFILE | os.O_RDWR)
    try:
        os.write(fd, content) if content else None
        while os.fstat(fd).st_size < len(content):
            os.write(fd, content[os.fstat(fd).st_size :])
        yield fd
    finally:
        os.close(fd)


def packed(log: bytes) -> bytes:
    with opened(log) as fd:
        return b"".join(seekable.compressed(fd, len(log)))


def a_log(count: int = 3000, seed: int = 1) -> bytes:
    """A log of lines of some hundred bytes that compress less well than real ones."""
    chance = random.Random(seed)
    return b"".join(
        b'{"id":"%d","x":"%s"}\n' % (n, chance.randbytes(300).hex().encode()) for n in range(count)
    )


@settings(max_examples=60, deadline=None)
@given(log=logs, start=st.integers(0, 2_000_000), length=st.integers(0, 600_000))
def test_every_range_is_that_of_the_plain_log(log: bytes, start: int, length: int) -> None:
    with opened(packed(log)) as fd:
        table = SeekTable(fd)
        assert table.size == len(log)
        assert table.read(fd, start, start + length) == log[start : start + length]
        slices = list(table.slices(fd, 0, table.size))
        assert b"".join(slices) == log
        assert all(len(part) <= 64 * 1024 for part in slices)
        assert table.check(fd) == []


@settings(max_examples=30, deadline=None)
@given(log=logs)
def test_programs_of_others_read_the_file(log: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("log") / "log.jsonl.zst"
    file.write_bytes(packed(log))
    assert pyzstd.decompress(file.read_bytes()) == log
    with pyzstd.SeekableZstdFile(file) as seekable_file:
        seekable_file.seek(len(log) // 2)
        assert seekable_file.read() == log[len(log) // 2 :]


def test_a_file_that_another_program_wrote_is_read(tmp_path: Path) -> None:
    log, file = a_log(), tmp_path / "log.jsonl.zst"
    with pyzstd.SeekableZstdFile(file, "w", max_frame_content_size=100_000) as other:
        other.write(log)
    with file.open("rb") as opened_file:
        table = SeekTable(opened_file.fileno())
        assert table.read(opened_file.fileno(), 150_000, 950_000) == log[150_000:950_000]


def test_frames_end_at_the_ends_of_lines_and_a_longer_line_has_its_own() -> None:
    long_line = b'{"long":"' + bytes(seekable.FRAME * 9).hex().encode() + b'"}\n'
    log = a_log(1000) + long_line + a_log(1000)
    data = packed(log)
    begins = [place for place in range(len(data)) if data.startswith(zstandard.FRAME_HEADER, place)]
    contents = [
        pyzstd.decompress(data[start:end])
        for start, end in zip(begins, [*begins[1:], len(data)], strict=True)
    ]
    assert long_line in contents
    assert all(content.endswith(b"\n") for content in contents)
    assert all(len(content) <= seekable.FRAME for content in contents if content != long_line)


def test_memory_does_not_depend_on_the_length_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb") as file:
        file.write(b'{"long":"')
        for number in range(60):
            file.write(random.Random(number).randbytes(500_000).hex().encode())
        file.write(b'"}\n')
    with path.open("rb") as log, (tmp_path / "packed").open("w+b") as file:
        tracemalloc.start()
        try:
            file.writelines(seekable.compressed(log.fileno(), path.stat().st_size))
            file.flush()
            table = SeekTable(file.fileno())
            size = sum(map(len, table.slices(file.fileno(), 0, table.size)))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert size == path.stat().st_size
    assert peak < 16 * 1024 * 1024


# --- damage ---------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(data=st.data(), long_lines=st.booleans())
def test_damage_costs_the_lines_that_it_names_or_the_file_is_refused(
    data: st.DataObject, long_lines: bool
) -> None:
    log = (
        a_log(2000)
        + (b'{"long":"' + random.Random(2).randbytes(900_000).hex().encode() + b'"}\n') * long_lines
        + a_log(500, 3)
    )
    file = bytearray(packed(log))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(file) - 1) | st.integers(max(0, len(file) - 120), len(file) - 1))
        file[place] ^= data.draw(st.integers(1, 255))
    with opened(bytes(file)) as fd:
        try:
            table = SeekTable(fd)
        except NoSeekTable:
            return
        assert table.size == len(log)
        damages = table.check(fd)
        read = table.read(fd, 0, table.size)
        assert len(read) == len(log)
        expected = log
        for damage in damages:
            part = read[damage.start : damage.end]
            expected = expected[: damage.start] + part + expected[damage.end :]
            assert set(part) <= {*b"?\n"}
            if damage.first_line is not None:
                assert log[: damage.start].count(b"\n") == damage.first_line
                assert log[: damage.end].count(b"\n") - 1 == damage.last_line
                assert part.count(b"\n") == log[damage.start : damage.end].count(b"\n")
        assert read == expected


@settings(max_examples=100, deadline=None)
@given(
    file=st.binary(max_size=400)
    | st.binary(max_size=100).map(lambda data: packed(a_log(3))[: -len(data) or None] + data)
)
def test_no_file_makes_a_reader_fail_otherwise(file: bytes) -> None:
    with opened(file) as fd:
        unreadable: list[str] = []
        list(seekable.salvaged(fd, unreadable))
        try:
            table = SeekTable(fd)
        except NoSeekTable:
            return
        assert len(table.read(fd, 0, min(table.size, 1_000_000))) == min(table.size, 1_000_000)


@pytest.mark.parametrize("cut", [1, 9, 100, 100_000])
def test_a_file_that_was_cut_off_is_refused_and_its_whole_frames_are_salvaged(cut: int) -> None:
    log = a_log()
    with opened(packed(log)[:-cut]) as fd:
        with pytest.raises(NoSeekTable):
            SeekTable(fd)
        unreadable: list[str] = []
        found = b"".join(seekable.salvaged(fd, unreadable))
    assert log.startswith(found)
    assert found.endswith(b"\n")
    assert bool(unreadable) == (cut == 100_000)
    assert len(found) > len(log) - seekable.FRAME * 2


def test_frames_behind_a_damaged_one_are_salvaged_without_the_table() -> None:
    log = a_log()
    file = bytearray(packed(log)[:-1])
    begin = file.index(zstandard.FRAME_HEADER, 1)
    file[begin : begin + 1000] = bytes(1000)
    with opened(bytes(file)) as fd:
        unreadable: list[str] = []
        found = b"".join(seekable.salvaged(fd, unreadable))
    assert len(unreadable) == 1
    assert log.startswith(found[:100_000])
    assert log.endswith(found[-1_000_000:])
    assert len(log) - seekable.FRAME <= len(found) < len(log)


def test_damage_is_said_in_a_sentence() -> None:
    log = a_log()
    file = bytearray(packed(log))
    file[1000] ^= 1
    with opened(bytes(file)) as fd:
        (damage,) = SeekTable(fd).check(fd)
    assert damage.first_line == 0
    assert str(damage).startswith(
        f"lines 0 to {damage.last_line} (bytes 0 to {damage.end:,}) cannot be read: "
    )


def test_a_table_that_claims_much_content_takes_no_memory() -> None:
    with opened(packed(b'{"a": 1}\n')) as fd:
        one = os.pread(fd, 1000, 0)
    content = one[: one.index(b"sessiond") - 8]
    row = len(content).to_bytes(4, "little") + b"\xff\xff\xff\xff" + content[-4:]
    table = b"\x5e\x2a\x4d\x18" + (len(row) + 9).to_bytes(4, "little") + row + b"\1\0\0\0\x80\xb1\xea\x92\x8f"
    with opened(content + table) as fd, pytest.raises(NoSeekTable):
        SeekTable(fd)


def test_a_frame_that_claims_much_content_takes_no_memory() -> None:
    with opened(b"{}\n" * 10) as fd:
        header = next(seekable.compressed(fd, 30))[:4] + b"\xc4\x00" + (1 << 31).to_bytes(8, "little")
    content = header + b"\x01\0\0" + b"\1\2\3\4"
    row = len(content).to_bytes(4, "little") + (1 << 31).to_bytes(4, "little") + content[-4:]
    table = b"\x5e\x2a\x4d\x18" + (len(row) + 9).to_bytes(4, "little") + row + b"\1\0\0\0\x80\xb1\xea\x92\x8f"
    with opened(content + table) as fd:
        tracemalloc.start()
        try:
            lying = SeekTable(fd)
            assert lying.size == 1 << 31
            assert lying.read(fd, 0, 10) == b"?" * 10
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 3_000_000
    assert len(lying.damages) == 1
