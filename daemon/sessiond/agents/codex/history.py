"""Finds the history that a fork of Codex does not repeat. The header of the rollout names the thread with it.

Versions before 0.171 copied the lines of the source into the fork. Since then, the header has a `history_base`: the
thread, and the ordinal of its first line that the fork does not have. The ordinals continue those of the
source.
"""

from typing import Any, Final, NamedTuple

import msgspec

from sessiond.session.content import fields
from sessiond.session.dialects.source import parts_of

_HEADER: Final = "session_meta"


class HistoryBase(NamedTuple):
    """The part of another thread with which a fork begins: its lines before the one with the ordinal `end`.

    `size` is the number of their bytes, as the header has it; 0 if the header does not have it.
    """

    thread: str
    end: int
    size: int


class _Ordinal(msgspec.Struct):
    ordinal: int | str | None = None


_ordinal = msgspec.json.Decoder(_Ordinal)


def base_in(header: dict[str, Any]) -> HistoryBase | None:
    """Return what the payload of a header names; None if the rollout has its whole history."""
    found = fields.mapping(header.get("history_base"))
    thread, end = fields.text(found.get("thread_id")), ordinal_of(found.get("end_ordinal_exclusive"))
    if thread is None or end is None:
        return None
    return HistoryBase(thread, end, ordinal_of(found.get("end_byte_offset")) or 0)


def base_of(data: bytes) -> HistoryBase | None:
    """Return what the first line of a rollout names; None if the rollout has its whole history."""
    first = data[: end if (end := data.find(b"\n")) >= 0 else None]
    if b'"history_base"' not in first:
        return None
    value = parts_of(1, first, lambda _value: False)[0].value or {}
    return base_in(fields.mapping(value.get("payload"))) if value.get("type") == _HEADER else None


def before(data: bytes, end: int) -> bytes:
    """Return the lines of a rollout before the first one with this ordinal or a later one.

    Lines without an ordinal, such as damaged ones, belong to the line before.
    """
    position = 0
    while (after := data.find(b"\n", position)) >= 0:
        try:
            ordinal = ordinal_of(_ordinal.decode(data[position:after]).ordinal)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            ordinal = None
        if ordinal is not None and ordinal >= end:
            break
        position = after + 1
    return data[:position]


def ordinal_of(value: object) -> int | None:
    """Return an ordinal, which some versions write as text; None for anything else."""
    found = int(value) if isinstance(value, str) and value.isdecimal() else value
    return found if isinstance(found, int) and not isinstance(found, bool) else None
