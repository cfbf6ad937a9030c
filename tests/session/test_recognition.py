"""Each file is recognized by one format alone, so that no answer depends on the order in which formats are asked."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessiond.agents import known
from sessiond.session.dialects.documents import value_of
from sessiond.session.dialects.source import first_objects
from support.dialect_files import DATA, FILES
from support.dialects import jsonl, samples

WHOLE = {
    **{path.name: path.read_bytes() for path in sorted(DATA.iterdir()) if path.suffix in (".json", ".jsonl")},
    **{
        path.name: path.read_bytes()
        for path in sorted((DATA.parent / "agents").glob("*.jsonl"))
    },
    **{name: Path(path).read_bytes() for name, path in samples().items()},
}  # fmt: skip


def accepting(data: bytes) -> list[str]:
    """The formats that recognize a file, each asked by itself."""
    first, whole = first_objects(data), value_of(data)
    return [
        dialect.name
        for dialect in known.DIALECTS.values()
        if dialect.detect(first)
        or (
            isinstance(whole, dict) and dialect.detect_document is not None and dialect.detect_document(whole)
        )
        or (isinstance(whole, list) and dialect.detect_array is not None and dialect.detect_array(whole))
    ]


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_is_recognized_by_exactly_one_format(name: str) -> None:
    assert accepting(WHOLE[name]) == [known.detect_whole(WHOLE[name])]


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_which_lines_are_missing_is_recognized_by_no_other_format(name: str) -> None:
    for part in _parts(FILES[name]):
        assert accepting(jsonl(*part)) in ([name], [])


def _parts(lines: list[Any]) -> Iterator[list[Any]]:
    for place in range(len(lines)):
        yield lines[: place + 1]
        yield lines[place:]
        yield lines[:place] + lines[place + 1 :]
