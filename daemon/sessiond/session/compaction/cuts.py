"""Finds the place where a path is cut so that its older part can be summarized. No call is separated from its result.

The input is one `CutPiece` for each entry that adds to a context (decision 0018).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Literal

from sessiond.session.compaction.tool_calls import NO_CALLS, MessageToolCalls
from sessiond.session.tree.steps import ROWS_A_STEP, Steps

Voice = Literal["silent", "system", "asks", "answers", "other"]
"""What an entry is in the context: nothing, a system message, the begin of a turn, an assistant's words, else."""

_MAX_CUTS: Final = 2
"""How many times what is to be kept may be kept, so that a run of tools need not be cut."""


@dataclass(frozen=True, slots=True)
class CutPiece:
    """An entry as far as a cut goes: what it says in the context, and what its line says of calls.

    `role` is that of a message's line, "" of other entries. `calls` are those in the line, `said_calls` those in
    the context: an edit may have changed them. No cut may come between the piece at `bound_to` and this one.
    """

    voice: Voice
    role: str = ""
    tokens: int = 0
    calls: MessageToolCalls = NO_CALLS
    said_calls: MessageToolCalls = NO_CALLS
    bound_to: int | None = None

    @property
    def calls_tools(self) -> bool:
        return bool(self.calls.made or self.said_calls.made)


@dataclass(frozen=True, slots=True)
class Cut:
    """Places in the pieces: of the first one kept, and of where its turn begins if that is cut in its middle."""

    at: int
    turn: int | None = None


def find_cut(pieces: Sequence[CutPiece], keep_tokens: int) -> Steps[Cut | None]:
    """The cut that keeps about the newest `keep_tokens`; None when there is none that leaves anything behind.

    From the newest piece back, until they hold that many tokens: the cut is before the first piece from there on
    that may begin what is kept, else before the last one that may (pi). That may: what begins a turn, and an
    assistant's words; never a tool result, and nothing that stands between a call and its result.

    Before words that call tools a cut is taken only inside one long turn. So if it came to stand there, it moves
    back to the nearest place before what begins a turn, or before words without calls, as long as at most twice
    `keep_tokens` stay and something is left to be summarized. Otherwise the turn is cut there.
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
    """The places before which a cut parts no call from its result.

    A result belongs to the nearest call of its id above it. Calls of an assistant's newest words that have no
    result yet may still get one, so nothing below those words is such a place.
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
    """Calls with their results, and the newest words with the end when they wait for one."""
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
    """Whether a path ends between a call and its result, where no compaction may stand."""
    answered: set[str | None] = set()
    for piece in reversed(pieces):
        if piece.role == "toolResult":
            answered.add(piece.calls.answered)
        elif piece.role:
            return piece.calls.awaited and not answered.issuperset(piece.calls.made)
    return False


def _turn(pieces: Sequence[CutPiece], at: int) -> int | None:
    """Where the turn begins that a cut goes through; None when the cut is at its beginning."""
    if pieces[at].voice == "asks":
        return None
    return next((begin for begin in range(at - 1, -1, -1) if pieces[begin].voice == "asks"), None)
