"""Adapts call ids, tool names and images to a provider's limits, and removes parts that it refuses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from sessiond.session.formats.agent import IMAGE_LEFT_OUT
from sessiond.session.formats.conversation import Call, Image, Part, Reasons, Result, Role, TextPart, Turn
from sessiond.session.tree.steps import Steps

_TURNS_A_STEP: Final = 200


@dataclass(frozen=True, slots=True)
class Taken:
    """The limits of a provider: valid call ids, tool names, and images by the role of the turn.

    Ids that begin with `unwritten` are not sent to the provider, so they may be repeated.
    """

    fits_as_id: Callable[[str], object]
    legal_name: Callable[[str], str]
    shows: Callable[[Image, Role], bool]
    unwritten: str | None = None


def fit(turns: Sequence[Turn], taken: Taken, reasons: Reasons) -> Steps[None]:
    """Change ids, names and images in calls and results to those that a provider accepts."""
    ids, given = _Ids(taken), list[str]()
    for number, turn in enumerate(turns):
        if turn.role == "assistant":
            given = []
            for part in turn.parts:
                if isinstance(part, Call):
                    given.append(ids.take(part.id))
                    name = taken.legal_name(part.name)
                    if given[-1] != part.id or name != part.name:
                        reasons.setdefault(turn.source, "nameChanged")
                    part.id, part.name = given[-1], name
        elif turn.role == "results":
            for result, call_id in zip(turn.results, given, strict=True):
                name = taken.legal_name(result.name)
                if (result.call_id != call_id or name != result.name) and result.source != turn.source:
                    reasons.setdefault(result.source, "nameChanged")
                result.call_id, result.name = call_id, name
        _fit_images(turn, turn.role, taken, reasons)
        for result in turn.results:
            _fit_images(result, turn.role, taken, reasons)
        if number % _TURNS_A_STEP == 0:
            yield


def without(turns: Sequence[Turn], unwanted: Callable[[Part], bool], reasons: Reasons) -> Steps[list[Turn]]:
    """Return the turns without unwanted parts, and without turns that are empty after that."""
    kept: list[Turn] = []
    for number, turn in enumerate(turns):
        parts = [part for part in turn.parts if not unwanted(part)]
        if len(parts) < len(turn.parts):
            reasons.setdefault(turn.source, "thinkingLeftOut")
            turn.parts = parts
        if parts or turn.results:
            kept.append(turn)
        else:
            reasons[turn.source] = "empty"
        if number % _TURNS_A_STEP == 0:
            yield
    return kept


def _fit_images(said: Turn | Result, role: Role, taken: Taken, reasons: Reasons) -> None:
    for at, part in enumerate(said.parts):
        if isinstance(part, Image) and not taken.shows(part, role):
            said.parts[at] = TextPart(IMAGE_LEFT_OUT)
    if any(isinstance(part, TextPart) and part.text is IMAGE_LEFT_OUT for part in said.parts):
        reasons.setdefault(said.source, "imageLeftOut")


@dataclass(slots=True)
class _Ids:
    """Call ids that a provider accepts. Each is used once.

    An id that is invalid or was used before is replaced. The replacement depends only on the conversation up to that
    call, so a prompt that a provider has cached is unchanged.
    """

    taken: Taken
    given: set[str] = field(default_factory=set)

    def take(self, call_id: str) -> str:
        """Return the id for a call whose own id is `call_id`."""
        name, again, unwritten = call_id, 0, self.taken.unwritten
        if unwritten is not None and call_id.startswith(unwritten):
            return call_id
        while name in self.given or not self.taken.fits_as_id(name):
            digest = sha256(f"{again} {call_id}".encode("utf-8", "surrogatepass")).hexdigest()
            name, again = f"call_{digest[:24]}", again + 1
        self.given.add(name)
        return name
