"""Finds the place where a path is cut so that its older part can be summarized. No call is separated from its result.

The input is one `CutPiece` for each entry that may add to a context (decision 0018).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Literal

from sessiond.session.compaction.tool_calls import NO_CALLS, MessageToolCalls
from sessiond.session.tree.steps import ROWS_A_STEP, Steps

Voice = Literal["silent", "system", "asks", "answers", "other"]
"""The role of an entry for a cut: no message, a system message, the start of a turn, an assistant message, other."""

_MAX_CUTS: Final = 2
"""The kept part may hold this many times `keep_tokens` if that avoids a cut within a run of tool calls."""


@dataclass(frozen=True, slots=True)
class CutPiece:
    """The properties of an entry that a cut depends on.

    Attributes:
        voice: The role of the entry's message for the cut.
        role: The role of the message in the line; "" for other entries.
        tokens: The estimated tokens of the entry's message in the context.
        calls: The tool calls in the line.
        said_calls: The tool calls in the context; an edit may have changed them.
        bound_to: The index of a piece from which no cut may separate this one, or None.

    """

    voice: Voice
    role: str = ""
    tokens: int = 0
    calls: MessageToolCalls = NO_CALLS
    said_calls: MessageToolCalls = NO_CALLS
    bound_to: int | None = None

    @property
    def calls_tools(self) -> bool:
        """Whether the entry calls tools, in its line or in the context."""
        return bool(self.calls.made or self.said_calls.made)


@dataclass(frozen=True, slots=True)
class Cut:
    """A cut: the index of the first kept piece, and of the start of its turn if the cut is within a turn."""

    at: int
    turn: int | None = None


def find_cut(pieces: Sequence[CutPiece], keep_tokens: int) -> Steps[Cut | None]:
    """Find the cut that keeps about the newest `keep_tokens` tokens.

    Pieces are counted from the newest back until they hold `keep_tokens`. The cut is before the first piece from there
    on that may begin the kept part, or else before the last piece that may (pi). A piece may begin the kept part if it
    starts a turn or is an assistant message. A tool result may not, and neither may a piece between a call and its
    result.

    A cut before an assistant message with tool calls is allowed only within one long turn. So if the cut is at such a
    message, it moves back to the nearest piece that starts a turn or is an assistant message without calls, if at most
    twice `keep_tokens` are kept and something is left to summarize. Otherwise, the turn is cut there.

    Returns:
        The cut, or None if no cut leaves anything to summarize.

    """
    kept = list(accumulate((piece.tokens for piece in reversed(pieces)), initial=0))[::-1]
    yield
    newest_first = range(len(pieces) - 1, -1, -1)
    full = next((at for at in newest_first if kept[at] >= keep_tokens and pieces[at].tokens), None)
    first_said = next((at for at, piece in enumerate(pieces) if piece.voice not in ("silent", "system")), 0)
    if full is None:
        return None
    yield
    allowed = yield from places(pieces)
    yield
    may_begin = [at for at in allowed if pieces[at].voice in ("asks", "answers")]
    at = next((at for at in may_begin if at >= full), may_begin[-1] if may_begin else first_said)
    yield
    if at <= first_said:
        return None
    if pieces[at].calls_tools:
        at = next(
            (
                earlier
                for earlier in reversed(may_begin)
                if first_said < earlier < at
                and not pieces[earlier].calls_tools
                and kept[earlier] <= _MAX_CUTS * keep_tokens
            ),
            at,
        )
    return Cut(at, _turn(pieces, at))


def places(pieces: Sequence[CutPiece]) -> Steps[list[int]]:
    """Return the indexes before which a cut separates no call from its result.

    A result belongs to the nearest call above it with its id. If calls of the newest assistant message have no result
    yet, results may follow, so no index after that message is returned.
    """
    crossed = [0] * (len(pieces) + 2)
    bonds = yield from _bonds(pieces, [piece.calls for piece in pieces])
    yield
    if any(piece.calls != piece.said_calls for piece in pieces):
        bonds += yield from _bonds(pieces, [piece.said_calls for piece in pieces])
    yield
    bonds += [(piece.bound_to, at) for at, piece in enumerate(pieces) if piece.bound_to is not None]
    for first, last in bonds:
        crossed[first + 1] += 1
        crossed[last + 1] -= 1
    yield
    return [at for at, count in enumerate(accumulate(crossed[: len(pieces)])) if not count]


def _bonds(pieces: Sequence[CutPiece], calls: Sequence[MessageToolCalls]) -> Steps[list[tuple[int, int]]]:
    """Return the index pairs of calls and results.

    If results of the newest assistant message are missing, a pair of its index and the end is included.
    """
    bonds: list[tuple[int, int]] = []
    made_at: dict[str | None, int] = {}
    newest, unanswered = 0, set[str | None]()
    for at, (made, answered, awaited) in enumerate(calls):
        if answered in made_at:
            bonds.append((made_at[answered], at))
            unanswered.discard(answered)
        if pieces[at].role == "assistant":
            newest, unanswered = at, set(made) if awaited else set()
            made_at.update(dict.fromkeys(made, at))
        if at % ROWS_A_STEP == 0:
            yield
    return [*bonds, (newest, len(pieces))] if unanswered else bonds


def awaits_results(pieces: Sequence[CutPiece]) -> bool:
    """Return whether a path ends between a call and its result, where no compaction is allowed."""
    answered: set[str | None] = set()
    for piece in reversed(pieces):
        if piece.role == "toolResult":
            answered.add(piece.calls.answered)
        elif piece.role:
            return piece.calls.awaited and not answered.issuperset(piece.calls.made)
    return False


def _turn(pieces: Sequence[CutPiece], at: int) -> int | None:
    """Return the index where the turn begins that a cut is within; None if the cut is at the start of a turn."""
    if pieces[at].voice == "asks":
        return None
    return next((begin for begin in range(at - 1, -1, -1) if pieces[begin].voice == "asks"), None)
