"""The real agents call `recall` of the MCP server that setup registered, and get what another agent's session says.

Needs scripts/install-agents. Without it these tests fail and say so; `-m "not agents"` leaves them out.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.homes import a_home, environment, sessiond
from support.patience import BOUND
from support.real_agents import RealAgents
from support.scripted_model import ScriptedModel

pytestmark = pytest.mark.agents

TOOLS = {
    "claude-code": "mcp__sessiond__recall",
    "codex": "mcp__sessiond.recall",
    "gemini": "mcp_sessiond_recall",
    "opencode": "sessiond_recall",
    "qwen": "mcp__sessiond__recall",
}
"""The names by which the models of the agents call the tool."""
PLANTED = "The heron nests in the old mill."
ASKED = "Say where the bird lives."


@dataclass(frozen=True)
class Planted:
    """A project in which Codex has had a session with the fact, and the folder with that session."""

    project: Path
    sessions: Path


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    folder = tmp_path_factory.mktemp("codex")
    project = folder / "project"
    project.mkdir()
    with ScriptedModel() as model:
        model.when("Where is the heron?").says(PLANTED)
        RealAgents(folder / "home", model.url).turn("codex", project, "Where is the heron?")
    return Planted(project, folder / "home/.codex/sessions")


@pytest.mark.parametrize("name", TOOLS)
def test_an_agent_recalls_what_a_session_of_codex_says(name: str, planted: Planted, tmp_path: Path) -> None:
    with ScriptedModel() as model, a_home() as locations:
        agents = RealAgents(tmp_path / "home", model.url)
        environ = environment(locations, HOME=str(agents.home), SHELL="/bin/bash")
        environ = {text: value for text, value in environ.items() if not text.startswith("XDG_")}

        def run(*words: str) -> None:
            subprocess.run(
                sessiond(*words),
                env=environ,
                check=True,
                stdout=subprocess.DEVNULL,
                timeout=BOUND,
                cwd=planted.project,
            )

        run("import", str(planted.sessions))
        before = settings(agents.home)
        run("setup", "--yes", "--agent", name, "--no-hooks")
        words = {"question": "where does the heron live?", "also": ["heron nest", "bird home"]}
        script = model.when(ASKED)
        if name == "claude-code":  # on a busy machine, it asks the model before its servers have started
            script = script.calls("WaitForMcpServers")
        # Codex may do so, too, and then refuses the first call.
        script.calls(TOOLS[name], **words).calls(TOOLS[name], **words).says("It lives there.")
        if name == "claude-code":
            agents.run(["claude", "-p", ASKED, "--allowedTools", TOOLS[name]], planted.project)
        else:
            agents.turn(name, planted.project, ASKED)
        results = [text for request in model.requests for text in request.texts("result")]
        assert any(PLANTED in result and "quoted from transcripts" in result for result in results), results
        run("setup", "--undo")
        after = settings(agents.home)
        assert all("sessiond" not in text for text in after.values())
        assert {path: text for path, text in after.items() if path in before}.keys() == before.keys()


def settings(home: Path) -> dict[str, str]:
    """The settings files in which agents keep their MCP servers."""
    names = (
        ".claude.json",
        ".codex/config.toml",
        ".gemini/settings.json",
        ".config/opencode/opencode.json",
        ".qwen/settings.json",
    )
    return {name: (home / name).read_text(encoding="utf-8") for name in names if (home / name).exists()}
