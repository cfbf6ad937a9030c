"""The names of agents as people type and read them."""

import pytest

from sessiond.agents import names
from sessiond.agents.agent import Agent
from sessiond.agents.table import AGENTS


@pytest.mark.parametrize("agent", AGENTS.values(), ids=lambda agent: agent.name)
def test_an_agent_is_found_by_each_of_its_names(agent: Agent) -> None:
    for text in (agent.name, agent.short_name, agent.title, agent.title.upper(), f" {agent.name} "):
        assert names.name_of(text) == agent.name


def test_no_two_agents_have_a_name_in_common() -> None:
    said = [
        name for agent in AGENTS.values() for name in {agent.name, agent.short_name, agent.title.casefold()}
    ]
    assert len(said) == len(set(said))


def test_an_agent_that_is_not_known_keeps_its_name() -> None:
    assert names.name_of("Of The Future") == "Of The Future"
    assert names.title_of("of-the-future") == "of-the-future"
    assert names.short_name_of("of-the-future") == "of-the-f"


def test_a_short_name_fits_its_column() -> None:
    assert {name for name in AGENTS if len(names.short_name_of(name)) > names.MAX_SHORT_NAME} == set()
