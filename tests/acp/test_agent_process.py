"""The process of an agent: nothing that goes wrong at its start leaves it running."""

import os
import sys
from pathlib import Path

import pytest

from sessiond.acp import agent_process
from sessiond.acp.agent_process import AgentProcess
from sessiond.acp.errors import AgentNotStarted
from support.acp_editors import command_of, processes_below

AGENT = "import sys; sys.stdin.read()"


async def test_an_agent_whose_watchdog_cannot_run_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_process, "WATCHDOG", (str(tmp_path / "no-shell"),))
    with pytest.raises(AgentNotStarted):
        await AgentProcess.start([sys.executable, "-c", AGENT, str(tmp_path)])
    assert [process for process in processes_below(os.getpid()) if str(tmp_path) in command_of(process)] == []
