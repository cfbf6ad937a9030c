"""`sessiond agents` says for how long what agents write may not be seen."""

from functools import partial
from pathlib import Path

import pytest

from sessiond.agents.table import AGENTS
from sessiond.paths import make_private
from sessiond.setup.commands import hook_command
from support.commands import a_shell
from support.writing_agents import WritingClaude


@pytest.mark.parametrize(("idle_exit", "is_said"), [("30m", True), ("never", False)])
def test_agents_with_and_without_hooks_are_named_with_the_time_until_the_daemon_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, idle_exit: str, is_said: bool
) -> None:
    for agent in AGENTS.values():
        for name in agent.variables:
            monkeypatch.delenv(name, raising=False)
    claude = AGENTS["claude-code"]
    assert claude.hooks is not None
    settings = Path(claude.hooks.path({"HOME": str(tmp_path)}))
    settings.parent.mkdir()
    settings.write_text(hook_command(claude, claude.hooks, {}, ["/usr/bin/sessiond"]), encoding="utf-8")
    WritingClaude(tmp_path).asks("hello")
    with a_shell(tmp_path) as shell:
        make_private(shell.locations.config)
        Path(shell.locations.config_file).write_text(
            f'[listen]\nidle_exit = "{idle_exit}"\n', encoding="utf-8"
        )
        agents = partial(shell, "agents", HOME=str(tmp_path))
        agents("follow", "claude-code", "codex", "pi")
        told = agents().err
        assert ("The daemon ends after 30 min without clients." in told) is is_said
        assert ("hooks of Claude Code start it again" in told) is is_said
        assert ("Without hooks: Codex, pi." in told) is is_said
        agents("unfollow", "--all")
        there = agents()
        assert there.lines[0].startswith("claude-code")
        assert "without clients" not in there.err
