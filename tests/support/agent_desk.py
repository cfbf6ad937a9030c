"""The real agents of a user, their model, a project folder, and a terminal of sessiond in it."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sessiond.agents.writing import NATIVE_WRITERS
from support.commands import Ran, Shell, a_shell
from support.dialects import as_log, imported
from support.native_sessions import Said, said_in
from support.real_agents import NAMES, TURN_BOUND, RealAgents
from support.scripted_model import Request, ScriptedModel

WRITTEN = [name for name in NAMES if name in NATIVE_WRITERS]
"""The agents for which sessions can be written."""


@dataclass
class AgentDesk:
    """The agents, the model, the folder and the terminal."""

    agents: RealAgents
    model: ScriptedModel
    project: Path
    shell: Shell
    written: list[Said] = field(default_factory=list)
    """The texts of the session that was written last for an agent."""
    native_id: str = ""
    """The id of that session in the agent."""

    def ran(self, *words: str) -> Ran:
        """Run a command with --json, with the agents on the path, and return it with any exit code."""
        return self.shell.run(*words, "--json", **self.agents.environment(self.project))

    def command(self, *words: str) -> Any:
        """Return the output of a command with --json that has to succeed."""
        done = self.ran(*words)
        assert done.code == 0, done
        return done.json

    def goes_on(self, session_id: str, agent: str, text: str) -> Request:
        """Resume a session in an agent, send a prompt, and return the request that reaches the model."""
        found = self.command("resume", session_id, "--in", agent)
        assert found["importArgv"] is None
        assert found["cwd"] == str(self.project)
        self.written = said_in(as_log(imported(Path(found["path"]).read_bytes())))
        self.native_id = found["nativeSessionId"]
        self.agents.resume(agent, self.project, self.native_id, text)
        return self.model.request_with(text)


@contextlib.contextmanager
def an_agent_desk(folder: Path, *, turn_bound: float = TURN_BOUND) -> Iterator[AgentDesk]:
    """A desk whose project and home are new folders in `folder`. No daemon runs."""
    project = folder / "project"
    project.mkdir(parents=True)
    with ScriptedModel() as model, a_shell(project) as shell:
        yield AgentDesk(RealAgents(folder / "home", model.url, turn_bound=turn_bound), model, project, shell)
