"""Orders turns as every provider requires: each call directly followed by its result.

Failed turns are removed with their results. A call without a result gets the result `NO_RESULT`. A result without a
call becomes text. Calls that were stored as messages of their own, one directly after the other, are one turn.
Requirements of single providers (alternating roles, other ids, images in some places only) are met by `fitting` and by
the provider modules.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from sessiond.session.formats.conversation import (
    GENERATED_ID_PREFIX,
    Call,
    Part,
    Reasons,
    Result,
    TextPart,
    Thinking,
    Turn,
)
from sessiond.session.tree.steps import Steps

NO_RESULT: Final = "No result was recorded for this call."

KeepsThinking: TypeAlias = Callable[[Turn], bool]
"""Returns whether a provider accepts the thinking and the signatures of a turn."""

_TURNS_A_STEP: Final = 200


@dataclass(slots=True)
class _PendingCall:
    """A call and its result. `turns_before` is the number of turns placed up to the call's own."""

    call: Call
    turn: int
    turns_before: int
    failed: bool
    result: Result | None = None


@dataclass(slots=True)
class _Calls:
    """The calls of a conversation up to the current message."""

    by_turn: dict[int, list[_PendingCall]] = field(default_factory=dict)
    latest: dict[str, list[_PendingCall]] = field(default_factory=dict)
    """By id, the calls of the last turn that used this id: ids are reused."""
    last: list[_PendingCall] = field(default_factory=list)
    unanswered: Turn | None = None
    """The last turn, if it has calls without results only."""

    def add_turn(self, turn: Turn, turns_before: int) -> None:
        self.by_turn[turn.source] = self.last = []
        self._add(turn, turn.parts, turns_before)
        self.unanswered = turn if self.last and not turn.failed else None

    def join_turn(self, turn: Turn, further: Turn, turns_before: int) -> None:
        """Make the calls of a further turn part of `turn`, the last one."""
        for part in further.parts:
            if isinstance(part, Call):
                part.source = further.source
        turn.parts += further.parts
        self._add(turn, further.parts, turns_before)

    def _add(self, turn: Turn, parts: Sequence[Part], turns_before: int) -> None:
        new_calls = [
            _PendingCall(part, turn.source, turns_before, turn.failed)
            for part in parts
            if isinstance(part, Call)
        ]
        self.last += new_calls
        for pending in new_calls:
            known = self.latest.get(pending.call.id)
            if known is None or known[0].turn != turn.source:
                self.latest[pending.call.id] = known = []
            known.append(pending)

    def candidates_for(self, result: Result) -> list[_PendingCall]:
        """Return the calls that a result may belong to."""
        found = self.latest.get(result.call_id, [])
        if result.call_id.startswith(GENERATED_ID_PREFIX) and all(
            pending.result is not None for pending in found
        ):
            # Without ids of the provider, results come in the order of the calls of their tool.
            return [call for call in self.last if call.call.name == result.name] or found
        return found


def legal(items: Sequence[Turn | Result | None], reasons: Reasons, keeps: KeepsThinking) -> Steps[list[Turn]]:
    """Return the turns in order, with each result directly after its call. The given turns are modified.

    Args:
        items: The turns and results, with None for a message that has neither.
        reasons: Receives the changes.
        keeps: Returns whether the thinking of a turn may be sent back.
    """
    calls, placed = _Calls(), list[Turn]()
    for number, item in enumerate(items):
        if isinstance(item, Result):
            placed += _take_result(item, calls, len(placed), reasons)
        elif item is not None:
            if item.role == "assistant":
                _clean(item, reasons, keeps)
                if _is_continued(calls.unanswered, placed, item):
                    calls.join_turn(placed[-1], item, len(placed))
                else:
                    calls.add_turn(item, len(placed) + (not item.failed))
                    _place(item, placed, reasons)
            else:
                _place(item, placed, reasons)
        if number % _TURNS_A_STEP == 0:
            yield
    turns = list[Turn]()
    for number, turn in enumerate(placed):
        turns.append(turn)
        if pending := calls.by_turn.get(turn.source):
            turns.append(_results(turn, pending, reasons))
        if number % _TURNS_A_STEP == 0:
            yield
    return turns


def _place(turn: Turn, placed: list[Turn], reasons: Reasons) -> None:
    if turn.failed:
        reasons[turn.source] = "abortedTurn"
    elif not turn.parts:
        reasons[turn.source] = "empty"
    else:
        placed.append(turn)


def _is_continued(before: Turn | None, placed: Sequence[Turn], item: Turn) -> bool:
    """Return whether a turn is a further part of the turn before it: calls that the same model made together."""
    return (
        before is not None
        and bool(placed)
        and placed[-1] is before
        and (before.api, before.provider, before.foreign) == (item.api, item.provider, item.foreign)
        and not item.failed
        and bool(item.parts)
        and all(isinstance(part, Call) for part in item.parts)
    )


def _take_result(result: Result, calls: _Calls, turns_before: int, reasons: Reasons) -> list[Turn]:
    """Assign a result to its call. If it has none, return the turn that it becomes."""
    candidates = calls.candidates_for(result)
    pending = next((item for item in candidates if item.result is None), None)
    if pending is not None:
        pending.result = result
        calls.unanswered = None
        if pending.failed:
            reasons[result.source] = "resultOfAbortedTurn"
            return []
        if pending.turns_before != turns_before:
            reasons.setdefault(result.source, "resultMoved")
        if not result.name:
            result.name = pending.call.name
        return []
    if candidates:
        reasons[result.source] = "resultOfAbortedTurn" if candidates[0].failed else "duplicateResult"
        return []
    reasons[result.source] = "resultWithoutCall" if result.parts else "empty"
    of_tool = f" {result.name}" if result.name else ""
    opening = TextPart(f"Result of the tool{of_tool}, whose call is not in this conversation:")
    parts: list[Part] = [opening, *result.parts]
    return [Turn("user", result.source, parts)] if result.parts else []


def _results(turn: Turn, pending: Sequence[_PendingCall], reasons: Reasons) -> Turn:
    results: list[Result] = []
    for item in pending:
        result = item.result
        if result is None:
            source = turn.source if item.call.source is None else item.call.source
            reasons[source] = "callClosed"
            result = Result(source, item.call.id, item.call.name, [TextPart(NO_RESULT)], is_error=True)
        result.call_id, result.name = item.call.id, item.call.name
        results.append(result)
    return Turn("results", turn.source, results=results)


def _clean(turn: Turn, reasons: Reasons, keeps: KeepsThinking) -> None:
    """Remove the parts of an assistant's turn that no provider accepts, and foreign thinking."""
    remaining: list[Part] = []
    accepted = keeps(turn)
    turn.foreign = not accepted
    for part in turn.parts:
        if isinstance(part, Call):
            if not part.name:
                reasons.setdefault(turn.source, "callLeftOut")
                continue
            part.signature = part.signature if accepted else None
        elif isinstance(part, Thinking):
            if not accepted:
                reasons.setdefault(turn.source, "thinkingLeftOut")
                continue
        elif isinstance(part, TextPart) and not accepted:
            part.signature = None
        remaining.append(part)
    turn.parts = remaining
