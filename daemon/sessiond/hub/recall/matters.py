"""Finds the passages that concern the same matter, and the newest of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sessiond.hub.recall.ranking import Passage

_SAME: Final = 0.5
"""Two passages are about the same matter if they share this part of the words of the shorter one."""
_FEWEST: Final = 2
"""The minimum number of words that two passages about the same matter share."""
_CLOSE: Final = 0.6
"""A passage stays beside the best one of its matter if it has at least this share of its score."""


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

    Passages concern the same matter if they are in one project, answer the question about as well, and their sentences
    share most of their words. A passage on an abandoned branch is the newest one only if all of them are on such
    branches.
    """
    ordered: list[RankedPassage] = []
    for group in _groups(passages):
        if len(group) == 1:
            ordered.append(RankedPassage(group[0], None, group[0].score))
            continue
        newest = max(group, key=lambda passage: (passage.on_path, passage.at or 0, passage.seq))
        ordered.append(RankedPassage(newest, newest, group[0].score))
        ordered += [
            RankedPassage(passage, newest, passage.score) for passage in group if passage is not newest
        ]
    return sorted(ordered, key=lambda passage: -passage.rank)


def _groups(passages: Sequence[Passage]) -> list[list[Passage]]:
    groups: list[list[Passage]] = []
    for passage in passages:
        for group in groups:
            if group[0].project == passage.project and _is_same(group[0], passage):
                group.append(passage)
                break
        else:
            groups.append([passage])
    return groups


def _is_same(best: Passage, other: Passage) -> bool:
    common = len(best.subject & other.subject)
    shorter = min(len(best.subject), len(other.subject))
    return (
        common >= max(_FEWEST, _SAME * shorter)
        and _share_more_than_the_question(best, other)
        and other.score >= _CLOSE * best.score
    )


def _share_more_than_the_question(best: Passage, other: Passage) -> bool:
    """Return whether there are common words that are not words of the question, by which both were found."""
    return not best.beyond or not other.beyond or not best.beyond.isdisjoint(other.beyond)
