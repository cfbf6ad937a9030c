"""Each real agent runs a command with a long output, and the whole output is in the session here.

Needs scripts/install-agents. Without it these tests fail and say so; `-m "not agents"` leaves them out.
"""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.columns import entries_of
from support.daemons import running
from support.following import until
from support.real_agents import RealAgents
from support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.agents, pytest.mark.slow]

PROMPT = "Count the birds."
COMMAND = "seq 1 60000; printf 'cormo%s\\n' rant; seq 60001 120000"
WHOLE = "".join(f"{number}\n" for number in range(1, 60_001)) + "cormorant\n"
"""The first half of the output."""
SPILLING: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "claude-code": (
        "Bash", {"command": COMMAND, "description": "count"}, ["claude", "-p", PROMPT, "--allowedTools", "Bash"],
    ),
    "gemini": (
        "run_shell_command", {"command": COMMAND},
        ["gemini", "--skip-trust", "-m", "gemini-2.5-flash", "--yolo", "-p", PROMPT],
    ),
    "opencode": ("bash", {"command": COMMAND, "description": "count"}, ["opencode", "run", PROMPT]),
    "qwen": (
        "run_shell_command", {"command": COMMAND, "is_background": False}, ["qwen", "--yolo", "-p", PROMPT],
    ),
}  # fmt: skip
"""The tool, its arguments, and the command of the agent."""


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


@pytest.mark.parametrize("name", list(SPILLING))
async def test_a_long_output_is_whole_in_the_session_and_found(
    name: str, agents_home: Path, model: ScriptedModel, tmp_path: Path
) -> None:
    agents = RealAgents(agents_home, model.url)
    project = tmp_path / "project"
    project.mkdir()
    tool, arguments, command = SPILLING[name]
    model.when(PROMPT).calls(tool, **arguments).says("Many birds.")
    await asyncio.to_thread(agents.run, command, project)

    async with running(tmp_path / "daemon") as daemon:
        peer = await daemon.attach()
        path = str(agents.session_files(name)[-1])
        [session] = (await peer.call("session/import", path=path))["sessions"]
        entries = entries_of(
            await peer.call("session/entries", sessionId=session["sessionId"], limit=1_000, resolveBlobs=True)
        )
        [whole] = [entry["data"] for entry in entries if entry.get("customType") == "sessiond.attachment"
                   and entry["data"]["kind"] == "toolOutput"]  # fmt: skip
        assert WHOLE in whole["text"]
        found = await peer.call("session/search", query="cormorant", roles=["toolResult"], waitMs=60_000)
        assert [one["entryId"] for one in found["hits"]] == [whole["targetId"]], found


async def test_an_output_that_copilot_deletes_at_its_end_is_kept_while_it_runs(
    agents_home: Path, model: ScriptedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = RealAgents(agents_home, model.url)
    monkeypatch.setenv("TMPDIR", str(agents_home / "tmp"))
    project, is_kept = tmp_path / "project", threading.Event()
    project.mkdir()
    model.when(PROMPT).calls("bash", command=COMMAND, description="count").waits_for(is_kept).says(
        "Many birds."
    )
    async with running(tmp_path / "daemon") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["copilot"])
        turn = asyncio.create_task(
            asyncio.to_thread(agents.run, ["copilot", "--allow-all-tools", "-p", PROMPT], project)
        )

        async def hits() -> Any:
            found = await peer.call("session/search", query="cormorant", roles=["toolResult"])
            return found["hits"]

        assert len(await until(hits)) == 1
        is_kept.set()
        await turn
    assert list((agents_home / "tmp").glob("*copilot-tool-output*")) == []
