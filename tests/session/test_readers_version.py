"""The version of the readers of other programs' files, which tells recorded imports from outdated ones."""

import hashlib

import msgspec

from sessiond.agents import known
from sessiond.session.dialects.source import Source
from support.dialect_files import FILES
from support.dialects import jsonl

DIGESTS = {
    1: "032df877d6292e68",
    2: "deacf02b0006e26d",
    3: "a45ba2c517905545",
    4: "bcef0c115c819524",
    5: "02db1e66d9dfad2c",
    6: "02db1e66d9dfad2c",
    7: "2559f4ae529448b3",
    8: "2559f4ae529448b3",
    9: "08aada76b1822ee0",
    10: "0a677ccd7cee1d33",
    11: "948159aeab47424c",
    12: "b0ea69bf7cdfcc56",
    13: "a86c78bc376ac2e0",
    14: "3d5cb50464adc5ec",
    15: "3d5cb50464adc5ec",
}
"""The digest of what each version of the readers gives for the files of all dialects."""


def output_of(dialect: str, *, growing: bool) -> list[object]:
    data = jsonl(*FILES[dialect])
    read = known.DIALECTS[dialect].read(
        Source(name="file.jsonl", data=data, modified="2026-01-01T00:00:00.000Z", growing=growing)
    )
    report = read.report
    return [
        read.dialect, read.source_id, read.timestamp, read.cwd, read.title, read.tags, read.parent_source, read.leaf,
        [entry.line for entry in read.entries], report.converted, report.preserved, report.held_back_count,
        [(problem.line, problem.message) for problem in report.problems],
    ]  # fmt: skip


def test_a_change_of_what_a_reader_gives_has_a_new_version() -> None:
    # If this fails, files that were imported before give another result: increase READERS_VERSION, so that the next
    # import reads them again, and record the new digest.
    outputs = [output_of(dialect, growing=growing) for dialect in sorted(FILES) for growing in (False, True)]
    digest = hashlib.sha256(msgspec.json.encode(outputs, order="sorted")).hexdigest()[:16]
    assert {known.READERS_VERSION: digest} == dict(list(DIGESTS.items())[-1:])
