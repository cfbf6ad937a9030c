"""Finds the place where a path is cut so that its older part can be summarized. No call is separated from its result.

The input is one `CutPiece` for each entry that may add to a context (decision 0018).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Literal

from sessiond.session.compaction.tool_calls import NO_CALLS, MessageToolCalls
from sessiond.session.tree.steps import ROWS_A_STEP, Steps

CutRole = Literal["none", "system", "turnStart", "assistant", "other"]
"""The role of an entry for a cut: without a message, system message, start of a turn, assistant message, or other."""

_MAX_CUTS: Final = 2
"""The kept part may hold this many times `keep_tokens` if that avoids a cut within a run of tool calls."""


@dataclass(frozen=True, slots=True)
class CutPiece:
    """The properties of an entry that a cut depends on.

    Attributes:
        cut_role: The role of the entry for the cut.
        role: The role of the message in the line; "" for other entries.
        tokens: The estimated tokens of the entry's message in the context.
        calls: The tool calls in the line.
        context_calls: The tool calls in the context; an edit may have changed them.
        bound_to: The index of a piece from which no cut may separate this one, or None.

    """

    cut_role: CutRole
    role: str = ""
    tokens: int = 0
    calls: MessageToolCalls = NO_CALLS
    context_calls: MessageToolCalls = NO_CALLS
    bound_to: int | None = None

    @property
    def calls_tools(self) -> bool:
        """Whether the entry calls tools, in its line or in the context."""
        return bool(self.calls.call_ids or self.context_calls.call_ids)


@dataclass(frozen=True, slots=True)
class Cut:
    """A cut: the index of the first kept piece, and of the start of its turn if the cut is within a turn."""

    at: int
    turn: int | None = None


def find_cut(pieces: Sequence[CutPiece], keep_tokens: int) -> Steps[Cut | None]:
    """Find the cut that keeps about the newest `keep_tokens` tokens.

    Pieces are counted from the newest back until they hold `keep_tokens`. The cut is before the first piece from there
    on that may begin the kept part, or else before the last piece that may (pi). A piece may begin the kept part if it
    starts a turn or is an assistant message. A tool result and a piece between a call and its result may not.

    A cut before an assistant message with tool calls is allowed only within one long turn. So if the cut is at such a
    message, it moves back to the nearest piece that starts a turn or is an assistant message without calls, if at most
    twice `keep_tokens` are kept and something is left to summarize. Otherwise, the turn is cut there.

    Returns:
        The cut, or None if no cut leaves anything to summarize.

    """
    kept_tokens = list(accumulate((piece.tokens for piece in reversed(pieces)), initial=0))[::-1]
    yield
    newest_first = range(len(pieces) - 1, -1, -1)
    budget_reached = next(
        (at for at in newest_first if kept_tokens[at] >= keep_tokens and pieces[at].tokens), None
    )
    first_message = next(
        (at for at, piece in enumerate(pieces) if piece.cut_role not in ("none", "system")), 0
    )
    if budget_reached is None:
        return None
    yield
    allowed = yield from cut_points(pieces)
    yield
    starts = [at for at in allowed if pieces[at].cut_role in ("turnStart", "assistant")]
    at = next((at for at in starts if at >= budget_reached), starts[-1] if starts else first_message)
    yield
    if at <= first_message:
        return None
    if pieces[at].calls_tools:
        at = next(
            (
                earlier
                for earlier in reversed(starts)
                if first_message < earlier < at
                and not pieces[earlier].calls_tools
                and kept_tokens[earlier] <= _MAX_CUTS * keep_tokens
            ),
            at,
        )
    return Cut(at, _turn(pieces, at))


def cut_points(pieces: Sequence[CutPiece]) -> Steps[list[int]]:
    """Return the indexes before which a cut separates no call from its result.

    A result belongs to the nearest call above it with its id. If calls of the newest assistant message have no result
    yet, results may follow, so no index after that message is returned.
    """
    crossed = [0] * (len(pieces) + 2)
    bonds = yield from _bonds(pieces, [piece.calls for piece in pieces])
    yield
    if any(piece.calls != piece.context_calls for piece in pieces):
        bonds += yield from _bonds(pieces, [piece.context_calls for piece in pieces])
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
    called_at: dict[str | None, int] = {}
    newest, unanswered = 0, set[str | None]()
    for at, (call_ids, answered, awaits) in enumerate(calls):
        if answered in called_at:
            bonds.append((called_at[answered], at))
            unanswered.discard(answered)
        if pieces[at].role == "assistant":
            newest, unanswered = at, set(call_ids) if awaits else set()
            called_at.update(dict.fromkeys(call_ids, at))
        if at % ROWS_A_STEP == 0:
            yield
    return [*bonds, (newest, len(pieces))] if unanswered else bonds


def awaits_results(pieces: Sequence[CutPiece]) -> bool:
    """Return whether a path ends between a call and its result. No compaction is allowed there."""
    answered: set[str | None] = set()
    for piece in reversed(pieces):
        if piece.role == "toolResult":
            answered.add(piece.calls.result_of)
        elif piece.role:
            return piece.calls.awaits_results and not answered.issuperset(piece.calls.call_ids)
    return False


def _turn(pieces: Sequence[CutPiece], at: int) -> int | None:
    """Return the index where the turn begins that a cut is within; None if the cut is at the start of a turn."""
    if pieces[at].cut_role == "turnStart":
        return None
    return next((begin for begin in range(at - 1, -1, -1) if pieces[begin].cut_role == "turnStart"), None)
