"""Finds secrets in the columns of tables whose heading says that they are secret: Markdown, CSV, and results of SQL."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from sessiond.hub.redaction.assignments import assigned_secret
from sessiond.hub.redaction.spans import Span

_HEADING: Final = re.compile(r"[\w .#/-]{1,40}+")
_LINE: Final = re.compile(r"[^\r\n]{3,4000}+")
_RULE: Final = re.compile(r"[-+|:=\s│┃║┼├┤─━╪═╞╡]+")
_BARS: Final = re.compile(r"[|│┃║]")
_SEPARATORS: Final = (_BARS, re.compile(","), re.compile("\t"), re.compile(";"))
_CELLS: Final = re.compile(r"[\w .#/\"'`-]{0,200}+(?:[|│┃║,\t;][\w .#/\"'`-]{0,200}+)++")
"""A line of cells that may be headings. The first characters of most lines show that they are not."""
_LONGEST_HEADING: Final = 400
_HINT: Final = re.compile(
    r"(?i:pass|pwd|secret|token|credential|key|auth|salt)[^|│┃║,\t;]{0,40}(?:[|│┃║,\t;]|\Z)"
)
"""The beginning of the name of a secret in a cell of a table."""
_ROUND_VALUE: Final = " \t\"'`"


def in_tables(text: str) -> Iterator[Span]:
    """Yield the values below a heading such as `password` that look like a password."""
    heading: list[str] = []
    separator = _BARS
    for found in _LINE.finditer(text):
        line = found[0]
        if heading and _RULE.fullmatch(line):
            continue
        cells = _cells(line, separator) if heading else []
        if len(cells) == len(heading) > 1:
            for name, (start, end) in zip(heading, cells, strict=True):
                yield from _secret(text, name, found.start() + start, found.start() + end)
        else:
            heading = []
            if len(line) > _LONGEST_HEADING or not _CELLS.fullmatch(line) or not _HINT.search(line):
                continue
            for separator in _SEPARATORS:
                cells = _cells(line, separator)
                names = [line[start:end].strip(_ROUND_VALUE) for start, end in cells]
                if sum(map(bool, names)) > 1 and _are_headings(names):
                    heading = names
                    break


def _cells(line: str, separator: re.Pattern[str]) -> list[tuple[int, int]]:
    """Return the places of the cells of a row, without those outside of the border of a table."""
    ends = [0, *(match.end() for match in separator.finditer(line)), len(line) + 1]
    cells = [(start, end - 1) for start, end in pairwise(ends)]
    if separator is _BARS:
        cells = [
            cell
            for number, cell in enumerate(cells)
            if 0 < number < len(cells) - 1 or line[cell[0] : cell[1]].strip()
        ]
    return cells


def _are_headings(names: list[str]) -> bool:
    """Return whether the cells of a line are headings, one of them of secrets."""
    return all(not name or _HEADING.fullmatch(name) for name in names) and any(
        assigned_secret(name, "aB3$kk9xYq7w") for name in names if name
    )


def _secret(text: str, name: str, start: int, end: int) -> Iterator[Span]:
    value = text[start:end]
    start += len(value) - len(value.lstrip(_ROUND_VALUE))
    value = value.strip(_ROUND_VALUE)
    if (
        any(character.isdigit() for character in value)
        and name
        and (kind := assigned_secret(name, value)) is not None
    ):
        yield Span(start, start + len(value), kind)
