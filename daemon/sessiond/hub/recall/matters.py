"""Finds the passages that concern the same matter, and the newest of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sessiond.hub.recall.ranking import Passage

_SAME: Final = 0.7
"""The share of the value of all matched words that two passages about the same matter have in common."""


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A passage with its place in the order.

    Attributes:
        passage: The passage.
        newest: The newest passage about the same matter: this one, another one, or None if there is no other.
        rank: The score by which it is ordered. The newest passage has the score of the best one of its matter.
    """

    passage: Passage
    newest: Passage | None
    rank: float


def order(passages: Sequence[Passage]) -> list[RankedPassage]:
    """Return the passages in an order in which the newest one about a matter comes before the older ones.

    Passages concern the same matter if they are in one project and match nearly the same words of the question. A
    passage on an abandoned branch is the newest one only if all of them are on such branches.
    """
    ordered: list[RankedPassage] = []
    for group in _groups(passages):
        if len(group) == 1:
            ordered.append(RankedPassage(group[0], None, group[0].score))
            continue
        newest = max(group, key=lambda it: (it.on_path, it.at or 0, it.seq))
        ordered.append(RankedPassage(newest, newest, group[0].score))
        ordered += [RankedPassage(it, newest, it.score) for it in group if it is not newest]
    return sorted(ordered, key=lambda it: -it.rank)


def _groups(passages: Sequence[Passage]) -> list[list[Passage]]:
    groups: list[list[Passage]] = []
    for it in passages:
        for group in groups:
            if group[0].project == it.project and _similarity(group[0].matched, it.matched) >= _SAME:
                group.append(it)
                break
        else:
            groups.append([it])
    return groups


def _similarity(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Return the share of the value of the words that both match."""
    union = sum(max(one.get(it, 0.0), other.get(it, 0.0)) for it in {*one, *other})
    return sum(max(one[it], other[it]) for it in {*one} & {*other}) / union if union else 0.0
