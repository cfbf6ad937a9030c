"""Orders turns as every provider requires: each call directly followed by its result.

Failed turns are removed with their results. A call without a result gets one that says so. A result without a call
becomes text. Requirements of single providers (alternating roles, other ids, images in some places only) are met by
`fitting` and by the provider modules.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from sessiond.session.formats.conversation import (
    MADE_ID,
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
class _Waiting:
    """A call and its result. `seen_turns` is the number of turns placed up to the call's own."""

    call: Call
    turn: int
    seen_turns: int
    failed: bool
    result: Result | None = None


@dataclass(slots=True)
class _Calls:
    """The calls of a conversation up to the current message."""

    by_turn: dict[int, list[_Waiting]] = field(default_factory=dict)
    latest: dict[str, list[_Waiting]] = field(default_factory=dict)
    """By id, the calls of the last turn that used this id: ids are reused."""
    last: list[_Waiting] = field(default_factory=list)

    def make(self, turn: Turn, seen_turns: int) -> None:
        made = [
            _Waiting(part, turn.source, seen_turns, turn.failed)
            for part in turn.parts
            if isinstance(part, Call)
        ]
        self.by_turn[turn.source] = self.last = made
        for waiting in made:
            known = self.latest.get(waiting.call.id)
            if known is None or known[0].turn != turn.source:
                self.latest[waiting.call.id] = known = []
            known.append(waiting)

    def of(self, result: Result) -> list[_Waiting]:
        """Return the calls that a result may belong to."""
        found = self.latest.get(result.call_id, [])
        if result.call_id.startswith(MADE_ID) and all(waiting.result is not None for waiting in found):
            # Without ids of the provider, results come in the order of the calls of their tool.
            return [it for it in self.last if it.call.name == result.name] or found
        return found


def legal(said: Sequence[Turn | Result | None], reasons: Reasons, keeps: KeepsThinking) -> Steps[list[Turn]]:
    """Return the turns in order, with each result directly after its call. The given turns are modified.

    Args:
        said: The turns and results, with None for a message that has neither.
        reasons: Receives the changes.
        keeps: Returns whether the thinking of a turn may be sent back.
    """
    calls, placed = _Calls(), list[Turn]()
    for number, each in enumerate(said):
        if isinstance(each, Result):
            placed += _take_result(each, calls, len(placed), reasons)
        elif each is not None:
            if each.role == "assistant":
                _clean(each, reasons, keeps)
                calls.make(each, len(placed) + (not each.failed))
            if each.failed:
                reasons[each.source] = "abortedTurn"
            elif not each.parts:
                reasons[each.source] = "empty"
            else:
                placed.append(each)
        if number % _TURNS_A_STEP == 0:
            yield
    turns = list[Turn]()
    for number, turn in enumerate(placed):
        turns.append(turn)
        if waiting := calls.by_turn.get(turn.source):
            turns.append(_results(turn, waiting, reasons))
        if number % _TURNS_A_STEP == 0:
            yield
    return turns


def _take_result(result: Result, calls: _Calls, seen_turns: int, reasons: Reasons) -> list[Turn]:
    """Assign a result to its call. If it has none, return the turn that it becomes."""
    candidates = calls.of(result)
    waiting = next((each for each in candidates if each.result is None), None)
    if waiting is not None:
        waiting.result = result
        if waiting.failed:
            reasons[result.source] = "resultOfAbortedTurn"
            return []
        if waiting.seen_turns != seen_turns:
            reasons.setdefault(result.source, "resultMoved")
        if not result.name:
            result.name = waiting.call.name
        return []
    if candidates:
        reasons[result.source] = "resultOfAbortedTurn" if candidates[0].failed else "duplicateResult"
        return []
    reasons[result.source] = "resultWithoutCall" if result.parts else "empty"
    of_tool = f" {result.name}" if result.name else ""
    opening = TextPart(f"The tool{of_tool} answered, to a call that is not in this conversation:")
    parts: list[Part] = [opening, *result.parts]
    return [Turn("user", result.source, parts)] if result.parts else []


def _results(turn: Turn, waiting: Sequence[_Waiting], reasons: Reasons) -> Turn:
    results: list[Result] = []
    for each in waiting:
        result = each.result
        if result is None:
            reasons[turn.source] = "callClosed"
            result = Result(turn.source, each.call.id, each.call.name, [TextPart(NO_RESULT)], is_error=True)
        result.call_id, result.name = each.call.id, each.call.name
        results.append(result)
    return Turn("results", turn.source, results=results)


def _clean(turn: Turn, reasons: Reasons, keeps: KeepsThinking) -> None:
    """Remove the parts of an assistant's turn that no provider accepts, and foreign thinking."""
    kept: list[Part] = []
    own = keeps(turn)
    turn.foreign = not own
    for part in turn.parts:
        if isinstance(part, Call):
            if not part.name:
                reasons.setdefault(turn.source, "callLeftOut")
                continue
            part.signature = part.signature if own else None
        elif isinstance(part, Thinking):
            if not own:
                reasons.setdefault(turn.source, "thinkingLeftOut")
                continue
        elif isinstance(part, TextPart) and not own:
            part.signature = None
        kept.append(part)
    turn.parts = kept
