"""The real agents, killed in the middle of a turn, are shown as stopped at once, and not for minutes as at work.

Needs scripts/install-agents. Without it these tests fail and say so; `-m "not agents"` leaves them out.
"""

import threading
from pathlib import Path

import pytest

from support.agent_desk import AgentDesk, an_agent_desk
from support.agent_kinds import QUESTION
from support.homes import wait_until
from support.real_agents import NAMES, TURN_BOUND, read_call

pytestmark = [pytest.mark.agents, pytest.mark.slow]


def states(desk: AgentDesk) -> list[str]:
    return [session["state"] for session in desk.command("top", "--once")["sessions"]]


@pytest.mark.parametrize("name", NAMES)
def test_a_killed_agent_is_stopped_at_once(name: str, tmp_path: Path) -> None:
    """Of Gemini CLI and Qwen Code, only the hooks that setup installs tell it."""
    with an_agent_desk(tmp_path) as desk:
        desk.shell("agents", "follow", name, **desk.agents.environment(desk.project))
        if name in ("gemini", "qwen"):
            environ = {**desk.agents.environment(desk.project), "SHELL": "/bin/bash"}
            desk.shell("setup", "--yes", "--agent", name, **environ)
        (desk.project / "reeds.txt").write_text("a heron\n", encoding="utf-8")
        tool, arguments = read_call(name, desk.project / "reeds.txt")
        gate = threading.Event()
        desk.model.when(QUESTION).calls(tool, **arguments).waits_for(gate).says("In the reeds.")
        with desk.agents.at_work(name, desk.project, QUESTION) as kill:
            wait_until(lambda: states(desk) == ["working"], TURN_BOUND)
            kill()
            wait_until(lambda: states(desk) == ["stopped"])
        gate.set()
