"""Makes the result of a recall: passages of bounded length without secrets, within a budget of tokens."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from sessiond.hub import clock
from sessiond.hub.recall.matters import RankedPassage
from sessiond.hub.recall.ranking import Neighbor, Passage
from sessiond.hub.redaction.redactor import Redactor
from sessiond.protocol import types as t

CHARS_PER_TOKEN: Final = 4
"""The estimate of decision 0017."""
_OVERHEAD: Final = 240
"""The characters of a passage in addition to its texts: ids, time, names of fields."""
_LEAD: Final = 120
"""The characters of an excerpt before the part that matches best."""
_EXCERPT: Final = 560
_SHORTEST_EXCERPT: Final = 120
_NEIGHBOR: Final = 160
_TITLE: Final = 120
_MARGIN: Final = 8_000
"""The characters around an excerpt in which secrets are looked for: longer than a private key."""
_MAX_MATCHED: Final = 32
_WELL: Final = 0.5
"""The share of the best score from which on a passage that does not fit is counted."""


def pack(
    found: Sequence[RankedPassage], params: t.RecallParams, redactor: Redactor
) -> tuple[list[t.RecallPassage], int, int]:
    """Return the passages that fit, their tokens, and the number of further ones that match well.

    Args:
        found: The passages, best first.
        params: The request.
        redactor: Removes secrets.
    """
    left = params.budget_tokens * CHARS_PER_TOKEN
    passages: list[t.RecallPassage] = []
    for passage in found[: params.limit]:
        made = _passage(passage, redactor, left)
        if made is None:
            break
        passages.append(made)
        left -= size_of(made)
    best = found[0].passage.score if found else 0.0
    well = sum(passage.passage.score >= best * _WELL for passage in found)
    tokens = params.budget_tokens - left // CHARS_PER_TOKEN
    return passages, tokens, max(0, well - len(passages))


def size_of(passage: t.RecallPassage) -> int:
    """Return the estimated size of a passage in characters."""
    texts = (
        passage.text,
        passage.title or passage.first_prompt or "",
        passage.cwd,
        passage.project,
        *passage.matched,
    )
    neighbor = 0 if passage.neighbor is None else len(passage.neighbor.text) + _TITLE // 2
    return _OVERHEAD + sum(map(len, texts)) + neighbor


def _passage(passage: RankedPassage, redactor: Redactor, left: int) -> t.RecallPassage | None:
    """Return a passage of at most `left` characters; None if even a short excerpt is longer."""
    found = passage.passage

    def cleaned(text: str) -> str:
        return redactor.text(text, None)

    def name(text: str | None) -> str | None:
        return None if text is None else _cut(cleaned(text), 0, _TITLE)

    session = found.session
    neighbor = None if found.neighbor is None else _neighbor(found.neighbor, cleaned)
    made = t.RecallPassage(
        session_id=session.session_id,
        entry_id=found.entry_id or None,
        title=name(session.title),
        cwd=cleaned(session.cwd),
        project=cleaned(found.project),
        type=found.type,
        role=found.role,
        timestamp=None if found.at is None else clock.iso(found.at * 1_000_000),
        text=_excerpt(found, cleaned, _EXCERPT),
        matched=list(found.matched)[:_MAX_MATCHED],
        score=round(min(found.score, 1.0), 4),
        newest=passage.newest is found,
        newer_entry_id=None
        if passage.newest is None or passage.newest is found
        else passage.newest.entry_id or None,
        on_path=found.on_path,
        neighbor=neighbor,
        origin=session.origin,
        first_prompt=name(session.first_prompt) if session.title is None else None,
    )
    if size_of(made) > left:
        made = msgspec.structs.replace(made, neighbor=None)
        length = len(made.text) - max(0, size_of(made) - left)
        if length < min(_SHORTEST_EXCERPT, len(made.text)):
            return None
        made = msgspec.structs.replace(made, text=_excerpt(found, cleaned, length))
    return made


def _neighbor(found: Neighbor, cleaned: Callable[[str], str]) -> t.RecallNeighbor:
    text = _cut(cleaned(found.text[:_MARGIN]), 0, _NEIGHBOR)
    return t.RecallNeighbor(entry_id=found.entry_id or None, role=found.role, text=text)


def _excerpt(found: Passage, cleaned: Callable[[str], str], length: int) -> str:
    """Return the part of a text that matches best, without secrets, in at most `length` characters.

    The text before the part is redacted apart from the rest, so that the place of the part is known afterwards. A
    secret that reaches over the border is found in the whole, and then the text is cut from its beginning.
    """
    first = max(0, found.start - _MARGIN)
    before, after = found.text[first : found.start], found.text[found.start : found.start + _MARGIN]
    whole = cleaned(before + after)
    lead = cleaned(before)
    start = len(lead) if whole.startswith(lead) else 0
    is_begin = first == 0 and start <= _LEAD
    text = _cut(whole, 0 if is_begin else max(0, start - _LEAD), length)
    is_end = found.start + _MARGIN >= len(found.text)
    return text if is_end or text.endswith("…") else text[: length - 1] + "…"


def _cut(text: str, start: int, length: int) -> str:
    """Return at most `length` characters of a text from about `start` on, cut between words if possible."""
    if start:
        gap = text.find(" ", start, start + 40)
        start = gap + 1 if gap >= 0 else start
    lead = "…" if start else ""
    if len(text) - start + len(lead) <= length:
        return lead + text[start:]
    end = start + length - len(lead) - 1
    gap = text.rfind(" ", end - 40, end)
    return lead + text[start : gap if gap > start else end] + "…"
