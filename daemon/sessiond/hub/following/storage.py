"""Chooses how the sessions of an agent are found and read, by how the agent stores them."""

from sessiond.agents.agent import Agent, Environ
from sessiond.hub.following.database_sources import DatabaseSources
from sessiond.hub.following.file_sources import FileSources
from sessiond.hub.following.sources import SessionSources


def sources_of(agent: Agent, environ: Environ) -> SessionSources:
    """Return the sources of an agent. They are kept while the agent is followed.

    Args:
        agent: The agent.
        environ: The environment variables that may move its folders.
    """
    if agent.load_database is None:
        return FileSources(agent, environ)
    return DatabaseSources(agent, environ, agent.load_database())
