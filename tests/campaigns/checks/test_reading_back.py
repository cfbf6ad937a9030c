"""The campaigns' own reader of session files, on which their verdicts stand."""

from pathlib import Path

import pytest

from campaigns.campaign import Broken
from campaigns.log_on_disk import read_log, read_shared_log


def a_log(folder: Path, content: bytes) -> Path:
    path = folder / "log.jsonl"
    path.write_bytes(content)
    return path


def test_the_number_of_a_line_is_its_seq_and_what_lacks_a_newline_is_the_tail(tmp_path: Path) -> None:
    log = read_log(a_log(tmp_path, b'{"type":"session","id":"s"}\n{"id":"a"}\n{"id":"b"}\n{"id":'))

    assert log.seqs == {"a": 1, "b": 2}
    assert log.tail == b'{"id":'


@pytest.mark.parametrize("line", [b"", b'{"id":', b"\0\0\0", b"7", b'{"id":"a"}{"id":"b"}'])
def test_a_line_that_is_not_one_whole_object_breaks_a_promise(tmp_path: Path, line: bytes) -> None:
    with pytest.raises(Broken):
        read_log(a_log(tmp_path, b'{"type":"session"}\n' + line + b'\n{"id":"c"}\n'))


def test_an_entry_that_is_there_twice_breaks_a_promise(tmp_path: Path) -> None:
    log = read_log(a_log(tmp_path, b'{"type":"session"}\n{"id":"a"}\n{"id":"a"}\n'))

    with pytest.raises(Broken):
        _ = log.seqs


def test_in_a_file_with_half_lines_of_others_every_line_counts_and_only_entries_are_found(
    tmp_path: Path,
) -> None:
    lines = [
        b'{"type":"session","id":"s"}',
        b'{"type":"x","id":"a"}',
        b"",
        b'{"ha',
        b'{"id":"no type"}',
        b'{"type":"x","id":"b"}',
    ]
    log = read_shared_log(a_log(tmp_path, b"\n".join(lines) + b"\nlf"))

    assert (log.seqs, log.tail) == ({"a": 1, "b": 5}, b"lf")
