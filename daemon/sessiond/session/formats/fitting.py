"""Ids of calls, names of tools and images such as a provider takes them, and turns without what it refuses."""

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
    """What a provider takes: which ids of calls, names of tools, and images in turns of which role.

    Ids that begin with `unwritten` are not told to the provider, so they may be used again.
    """

    fits_as_id: Callable[[str], object]
    legal_name: Callable[[str], str]
    shows: Callable[[Image, Role], bool]
    unwritten: str | None = None


def fit(turns: Sequence[Turn], taken: Taken, reasons: Reasons) -> Steps[None]:
    """Make ids, names and images such as a provider takes them, in the calls and in their results alike."""
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
    """The turns without some parts, and without the turns that then say nothing."""
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
    """Ids of calls that a provider takes. Each is given once.

    One that does not fit, or was given before, becomes another: always the same for the same conversation up to
    there, so that a prompt that a provider has cached stays the same.
    """

    taken: Taken
    given: set[str] = field(default_factory=set)

    def take(self, call_id: str) -> str:
        """The id for a call whose own is `call_id`."""
        name, again, unwritten = call_id, 0, self.taken.unwritten
        if unwritten is not None and call_id.startswith(unwritten):
            return call_id
        while name in self.given or not self.taken.fits_as_id(name):
            digest = sha256(f"{again} {call_id}".encode("utf-8", "surrogatepass")).hexdigest()
            name, again = f"call_{digest[:24]}", again + 1
        self.given.add(name)
        return name
