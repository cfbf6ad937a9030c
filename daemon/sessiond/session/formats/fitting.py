"""Adapts call ids, tool names and images to a provider's limits, and removes parts that it refuses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from sessiond.session.formats.agent import OMITTED_IMAGE
from sessiond.session.formats.conversation import Call, Image, Part, Reasons, Result, Role, TextPart, Turn
from sessiond.session.tree.steps import Steps

_TURNS_A_STEP: Final = 200


@dataclass(frozen=True, slots=True)
class ProviderLimits:
    """The limits of a provider: valid call ids, tool names, and images by the role of the turn.

    Ids that begin with `unsent_prefix` are not sent to the provider, so they may be repeated. `own_id` returns the
    part of a stored call id that the provider knows.
    """

    fits_as_id: Callable[[str], object]
    legal_name: Callable[[str], str]
    accepts_image: Callable[[Image, Role], bool]
    unsent_prefix: str | None = None
    own_id: Callable[[str], str] = str


def fit(turns: Sequence[Turn], limits: ProviderLimits, reasons: Reasons) -> Steps[None]:
    """Change ids, names and images in calls and results to those that a provider accepts."""
    ids, call_ids = _Ids(limits), list[str]()
    for number, turn in enumerate(turns):
        if turn.role == "assistant":
            call_ids = []
            for part in turn.parts:
                if isinstance(part, Call):
                    call_ids.append(ids.assign(limits.own_id(part.id)))
                    name = limits.legal_name(part.name)
                    if call_ids[-1] != part.id or name != part.name:
                        reasons.setdefault(turn.source if part.source is None else part.source, "nameChanged")
                    part.id, part.name = call_ids[-1], name
        elif turn.role == "results":
            for result, call_id in zip(turn.results, call_ids, strict=True):
                name = limits.legal_name(result.name)
                if (result.call_id != call_id or name != result.name) and result.source != turn.source:
                    reasons.setdefault(result.source, "nameChanged")
                result.call_id, result.name = call_id, name
        _fit_images(turn, turn.role, limits, reasons)
        for result in turn.results:
            _fit_images(result, turn.role, limits, reasons)
        if number % _TURNS_A_STEP == 0:
            yield


def without(
    turns: Sequence[Turn], is_rejected: Callable[[Part], bool], reasons: Reasons
) -> Steps[list[Turn]]:
    """Return the turns without unwanted parts, and without turns that are empty after that."""
    remaining: list[Turn] = []
    for number, turn in enumerate(turns):
        parts = [part for part in turn.parts if not is_rejected(part)]
        if len(parts) < len(turn.parts):
            reasons.setdefault(turn.source, "thinkingLeftOut")
            turn.parts = parts
        if parts or turn.results:
            remaining.append(turn)
        else:
            reasons[turn.source] = "empty"
        if number % _TURNS_A_STEP == 0:
            yield
    return remaining


def _fit_images(item: Turn | Result, role: Role, limits: ProviderLimits, reasons: Reasons) -> None:
    for at, part in enumerate(item.parts):
        if isinstance(part, Image) and not limits.accepts_image(part, role):
            item.parts[at] = TextPart(OMITTED_IMAGE)
    if any(isinstance(part, TextPart) and part.text is OMITTED_IMAGE for part in item.parts):
        reasons.setdefault(item.source, "imageLeftOut")


@dataclass(slots=True)
class _Ids:
    """Call ids that a provider accepts. Each is used once.

    An id that is invalid or was used before is replaced. The replacement depends only on the conversation up to that
    call, so a prompt that a provider has cached is unchanged.
    """

    limits: ProviderLimits
    assigned: set[str] = field(default_factory=set)

    def assign(self, call_id: str) -> str:
        """Return the id for a call whose own id is `call_id`."""
        name, attempt, unsent_prefix = call_id, 0, self.limits.unsent_prefix
        if unsent_prefix is not None and call_id.startswith(unsent_prefix):
            return call_id
        while name in self.assigned or not self.limits.fits_as_id(name):
            digest = sha256(f"{attempt} {call_id}".encode("utf-8", "surrogatepass")).hexdigest()
            name, attempt = f"call_{digest[:24]}", attempt + 1
        self.assigned.add(name)
        return name
