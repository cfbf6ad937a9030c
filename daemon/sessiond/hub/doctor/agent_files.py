"""Checks the files and databases of followed agents: names those that are not read. Files are not opened."""

import os
from collections.abc import Iterator

from sessiond.agents.table import AGENTS
from sessiond.hub.doctor.scope import Scope
from sessiond.hub.following.storage import sources_of


def check_agent_files(scope: Scope) -> Iterator[None]:
    """Report the files and folders of followed agents that cannot be read. `sessiond agents` has further reasons."""
    for name in scope.config.agents.follow:
        if name in AGENTS:
            for path, reason in sources_of(AGENTS[name], os.environ).census().problems.items():
                scope.add("agentFileSkipped", reason, path)
        yield
