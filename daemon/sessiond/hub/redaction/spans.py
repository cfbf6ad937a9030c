"""Spans of a text that contain a secret, and merging of overlapping ones."""

from collections.abc import Iterable
from typing import NamedTuple


class Span(NamedTuple):
    """Characters `start` to `end` (exclusive) of a text are a secret of this `kind`."""

    start: int
    end: int
    kind: str


def without_overlaps(spans: Iterable[Span]) -> list[Span]:
    """Return the spans sorted by position, with overlapping ones merged.

    Args:
        spans: The spans in order of preference: a known format before a guess from context. A merged span has the
            kind of the preferred one.
    """
    ranked = sorted(enumerate(spans), key=lambda span: (span[1].start, span[0]))
    merged: list[tuple[int, Span]] = []
    for rank, span in ranked:
        if merged and span.start < merged[-1][1].end:
            best, last = merged[-1]
            kind = span.kind if rank < best else last.kind
            merged[-1] = min(best, rank), Span(last.start, max(last.end, span.end), kind)
        else:
            merged.append((rank, span))
    return [span for _, span in merged]
