"""How often recall finds planted facts: those of tests/data/recall, among sessions made of the same words."""

from pathlib import Path

import pytest
from scripts.benchmarks import recall_corpus
from scripts.benchmarks.recall_corpus import Fact

from support.daemons import Peer, running

SESSIONS = 400
"""A fifth of the measurement of `scripts/bench recall`. Fewer would not hold all statements."""
FIRST = 5
FACTS = recall_corpus.facts()
ASKED = FACTS[::5]
"""Facts of all kinds, projects and files."""


async def ranks(peer: Peer, wordings: dict[Fact, list[str]]) -> list[bool]:
    """Whether the answer of each fact is among the first passages."""
    found = []
    for fact, (question, *also) in wordings.items():
        params = {"question": question, "project": fact.project} | ({"also": also} if also else {})
        result = await peer.call("session/recall", **params)
        assert result["tokens"] <= 2_000
        found.append(fact.answer_id in [passage["entryId"] for passage in result["passages"][:FIRST]])
    return found


@pytest.mark.slow
async def test_facts_are_found_by_their_words_and_by_others(tmp_path: Path) -> None:
    recall_corpus.write(tmp_path / "data/sessions", FACTS, SESSIONS)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        waited = await peer.call("session/recall", question="ready?", waitMs=60_000)
        assert waited["unsearched"]["sessionCount"] == 0
        same = await ranks(peer, {fact: [fact.same] for fact in ASKED})
        other = await ranks(peer, {fact: [fact.other, *fact.also] for fact in ASKED})
    assert sum(same) >= 0.9 * len(same)
    assert sum(other) >= 0.6 * len(other)


def test_the_corpus_has_facts_of_each_kind_in_all_projects() -> None:
    assert len(FACTS) == 300
    assert {fact.project for fact in FACTS} == set(recall_corpus.PROJECTS)
    assert {fact.kind for fact in FACTS} == {"stated", "contradicted", "abandoned", "compacted"}
    assert all(fact.same and fact.other and len(fact.also) == 2 for fact in FACTS)


@pytest.mark.parametrize("fact", FACTS[::30], ids=lambda fact: fact.name)
def test_a_fact_of_two_projects_differs_between_them(fact: Fact) -> None:
    twins = [item for item in FACTS if item.name.split("-")[0] == fact.name.split("-")[0]]
    assert len({twin.text for twin in twins}) == len({twin.project for twin in twins}) == 2
