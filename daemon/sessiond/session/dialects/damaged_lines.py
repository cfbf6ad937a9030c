"""Finds the complete records in a damaged line: between joined records, cut records and runs of NUL bytes.

A cut record may contain complete objects that are not records. So each attempt to read a record is checked
with the grammar of JSON up to its first error, and the next attempt begins where another record can begin. No byte is
read by more than a fixed number of attempts.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

_OPENING: Final = re.compile(rb'\{[ \t\r\n]*+"')
"""The beginning of a record. Inside a string, a quotation mark follows a backslash."""
_TOKEN: Final = re.compile(
    rb'[ \t\r\n]*+(?:("[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+")|([\[\]{}:,])|[-+.\w]++)', re.DOTALL
)
_BLANKS: Final = re.compile(rb"[ \t\r\n]*+")
_PADDING: Final = re.compile(rb"[ \t\r\n\0]*+")
_SEPARATOR: Final = re.compile(rb"[ \t\r\n]*+,?+[ \t\r\n]*+")
_SCALAR: Final = b"0"
_VALUE: Final = {b'"': "end", _SCALAR: "end", b"{": "open", b"[": "open"}
_EXPECTED: Final[dict[str, dict[bytes, str]]] = {
    "value": _VALUE,
    "first item": {**_VALUE, b"]": "close"},
    "end of item": {b",": "value", b"]": "close"},
    "first key": {b'"': "colon", b"}": "close"},
    "key": {b'"': "colon"},
    "colon": {b":": "value"},
    "end of member": {b",": "key", b"}": "close"},
}
"""By the state in an object: the first bytes of the allowed tokens, and the next state."""
_MAX_ENTERED: Final = 20
"""Limit of objects of a document in which others are searched, and which are so read again."""
_INSIDE: Final = b":,["
"""The bytes before an object that is part of another one."""


@dataclass(frozen=True, slots=True)
class Found:
    """An object in a damaged line.

    Attributes:
        start: The offset of its first byte.
        end: The offset after its last byte.
        is_sure: False if it may also be a part of a record that is cut directly before or after it.
    """

    start: int
    end: int
    is_sure: bool


@dataclass(slots=True)
class _Attempt:
    """The result of reading a record: where it ends, or where it is in error.

    Attributes:
        end: The offset after the record, or of the first error.
        is_whole: Whether it is a complete object.
        inner: The complete object inside that ends at the error.
        next: Where another record begins, if the error shows that: at the error, or at the end of a cut string.
    """

    end: int
    is_whole: bool
    inner: int | None = None
    next: int | None = None


def objects(line: bytes) -> Iterator[Found]:
    """Yield the complete objects that are not inside of another object, in order."""
    position, is_certain = 0, False
    while (opening := _OPENING.search(line, position)) is not None:
        start = opening.start()
        is_sure = is_certain or not _is_inside(line, start)
        attempt = _read(line, start)
        is_certain = False
        if attempt.is_whole:
            is_last = _ends_record(line, attempt.end)
            if is_sure or is_last:
                yield Found(start, attempt.end, is_sure=is_sure and is_last)
            position = attempt.end
            continue
        if attempt.inner is not None:
            yield Found(attempt.inner, line.rindex(b"}", attempt.inner, attempt.end) + 1, is_sure=False)
        is_certain = attempt.next is not None
        position = max(attempt.end, start + 1) if attempt.next is None else attempt.next


def items(data: bytes, start: int, items_in: Callable[[bytes, bool], int]) -> Iterator[slice]:
    """Yield the places of the complete objects in an array, which may be damaged, in order.

    Args:
        data: The bytes of a document.
        start: The offset after the opening bracket of the array.
        items_in: Returns how many items of the array a complete object seems to be. The second argument tells
            whether its place is that of an item. A cut item seems to contain the items after it.
    """
    position, is_in_step, entered = start, True, 0
    while (opening := _OPENING.search(data, position)) is not None:
        is_in_step = is_in_step and _SEPARATOR.fullmatch(data, position, opening.start()) is not None
        attempt = _read(data, opening.start())
        if attempt.is_whole:
            count = items_in(data[opening.start() : attempt.end], is_in_step)
            if count == 1:
                yield slice(opening.start(), attempt.end)
            is_in_step, may_contain_others, position = count == 1, count > 1, attempt.end
        else:
            is_in_step, may_contain_others = False, attempt.next is None
            position = attempt.next or max(attempt.end, opening.start() + 1)
        if may_contain_others and entered < _MAX_ENTERED:
            position, entered = opening.start() + 1, entered + 1


def _is_inside(line: bytes, start: int) -> bool:
    at = start - 1
    while at >= 0 and line[at] in b" \t\r\n":
        at -= 1
    return at >= 0 and line[at] in _INSIDE


def _ends_record(line: bytes, end: int) -> bool:
    """Return whether a record may end here: the line ends, another record begins, or NUL bytes follow."""
    found = _PADDING.match(line, end)
    after = end if found is None else found.end()
    return after == len(line) or line[after] == ord("{") or b"\0" in line[end:after]


def _read(line: bytes, start: int) -> _Attempt:
    """Read one object, whose first byte is at `start`, up to its end or its first error."""
    open_at: list[
        tuple[int, str]
    ] = []  # for each open object and array: its start, and the expected token after a value
    position, expected, closed, string = start, "value", None, b""
    while (found := _TOKEN.match(line, position)) is not None:
        string_token, sign = found.groups()
        step = _EXPECTED[expected].get(sign or (string_token or _SCALAR)[:1])
        if step is None:
            break
        position, string, closed = found.end(), string_token or b"", None
        if step == "open":
            open_at.append((position - 1, "end of member" if sign == b"{" else "end of item"))
            expected = "first key" if sign == b"{" else "first item"
            continue
        if step == "close":
            closed = open_at.pop()[0]
            if not open_at:
                return _Attempt(position, is_whole=True)
            if sign == b"]":
                closed = None
        expected = open_at[-1][1] if step in ("close", "end") else step
    blanks = _BLANKS.match(line, position)
    end = position if blanks is None else blanks.end()
    cut = string[:-1].rstrip(b" ")
    if len(cut) > 1 and cut.endswith(b"{"):
        return _Attempt(end, is_whole=False, next=position - len(string) + len(cut) - 1)
    return _Attempt(end, is_whole=False, inner=closed, next=end if line[end : end + 1] == b"{" else None)
