"""`sessiond agents` says for how long what agents write may not be seen."""

from pathlib import Path

import pytest

from sessiond.agents.table import AGENTS
from sessiond.cli.commands import agents
from sessiond.setup.commands import hook_command


def test_agents_with_and_without_hooks_are_named_with_the_time_until_the_daemon_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for agent in AGENTS.values():
        for name in agent.variables:
            monkeypatch.delenv(name, raising=False)
    claude = AGENTS["claude-code"]
    assert claude.hooks is not None
    settings = Path(claude.hooks.path({"HOME": str(tmp_path)}))
    settings.parent.mkdir()
    settings.write_text(hook_command(claude, claude.hooks, {}, ["/usr/bin/sessiond"]), encoding="utf-8")
    agents._explain_gaps(["claude-code", "codex", "pi"], 30 * 60_000)
    first, with_hooks, *others = capsys.readouterr().err.splitlines()
    assert "ends after 30 min without clients" in first or "ends after 30m" in first
    assert "hooks of Claude Code start it again" in with_hooks
    assert "Without hooks: Codex, pi." in others[0]
    agents._explain_gaps(["codex"], None)
    agents._explain_gaps([], 1_000)
    assert capsys.readouterr().err == ""
