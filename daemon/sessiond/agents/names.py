"""The names of agents as people type and read them."""

from sessiond.agents.table import AGENTS

MAX_SHORT_NAME: int = 8
"""Limit of the letters of an agent's name in a column."""


def short_name_of(name: str) -> str:
    """Return the short name of an agent for a column. That of an agent that is not known is cut."""
    agent = AGENTS.get(name)
    return name[:MAX_SHORT_NAME] if agent is None else agent.short_name


def title_of(name: str) -> str:
    """Return the name of an agent for people. That of an agent that is not known is returned unchanged."""
    agent = AGENTS.get(name)
    return name if agent is None else agent.title


def name_of(text: str) -> str:
    """Return the name on the wire of the agent with this name, short name or title, in any case.

    Returns:
        The text itself if no agent has it: a session can come from a format that is no agent's.
    """
    wanted = text.strip().casefold()
    for agent in AGENTS.values():
        if wanted in (agent.name, agent.short_name, agent.title.casefold()):
            return agent.name
    return text
