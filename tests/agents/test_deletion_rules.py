"""The rules by which agents delete their own sessions, as their settings have them."""

import json  # noqa: TID251 - settings are written as the agents' users write them
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sessiond.agents.deletion import DeletionRule
from sessiond.agents.table import AGENTS


def rule(
    agent: str, home: Path, settings: Any = None, *, variables: dict[str, str] | None = None
) -> DeletionRule:
    """The rule of an agent whose user has these settings."""
    path = home / {"claude-code": ".claude/settings.json", "gemini": ".gemini/settings.json"}.get(
        agent, "none"
    )
    if settings is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(settings if isinstance(settings, str) else json.dumps(settings), encoding="utf-8")
    found = AGENTS[agent].deletion({"HOME": str(home), **(variables or {})})
    assert found is not None
    return found


def retention(**values: Any) -> dict[str, Any]:
    return {"general": {"sessionRetention": values}}


def test_claude_code_deletes_after_thirty_days_unless_its_settings_say_otherwise(tmp_path: Path) -> None:
    assert (rule("claude-code", tmp_path).max_age_days, rule("claude-code", tmp_path).settings) == (30, None)
    found = rule("claude-code", tmp_path, {"cleanupPeriodDays": 3650})
    assert (found.max_age_days, found.settings) == (3650, str(tmp_path / ".claude/settings.json"))


def test_settings_with_comments_are_read(tmp_path: Path) -> None:
    found = rule("claude-code", tmp_path, '{\n  // keep long\n  "cleanupPeriodDays": 99,\n}')
    assert found.max_age_days == 99


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.truncate(path, 1 << 40)])
def test_settings_that_are_no_small_file_say_nothing_and_are_not_waited_for(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / ".claude/settings.json"
    rule("claude-code", tmp_path, {"cleanupPeriodDays": 7})
    if make in (os.mkfifo, os.mkdir):
        path.unlink()
    make(path)
    assert rule("claude-code", tmp_path).settings is None


def test_the_settings_of_a_moved_folder_count(tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (moved / "settings.json").write_text('{"cleanupPeriodDays": 7}', encoding="utf-8")
    found = rule("claude-code", tmp_path, variables={"CLAUDE_CONFIG_DIR": str(moved)})
    assert found.max_age_days == 7


@pytest.mark.parametrize("value", [0, -1, 1.5, "90", True, []])
def test_a_period_that_claude_code_refuses_is_taken_for_the_default_and_named(
    tmp_path: Path, value: Any
) -> None:
    found = rule("claude-code", tmp_path, {"cleanupPeriodDays": value})
    assert found.max_age_days == 30
    assert "at least 1" in found.remark


@pytest.mark.parametrize("text", ["", "not json", "[1]", '"text"', "{" * 5_000, "\x00"])
def test_settings_that_are_not_valid_say_nothing(tmp_path: Path, text: str) -> None:
    assert rule("claude-code", tmp_path, text).max_age_days == 30
    assert rule("gemini", tmp_path, text).max_age_days == 30


@pytest.mark.parametrize(
    ("values", "days", "count"),
    [
        ({}, 30, None),
        ({"maxAge": "12h"}, None, None),  # less than the minimum of a day: it deletes nothing
        ({"maxAge": "12h", "minRetention": "1h"}, 0.5, None),
        ({"maxAge": "2w"}, 14, None),
        ({"maxAge": "3m"}, 90, None),
        ({"maxCount": 50}, 30, 50),
        ({"maxCount": 0}, None, None),
        ({"maxAge": "soon"}, None, None),
        ({"maxAge": 30}, None, None),
        ({"enabled": False}, None, None),
        ({"enabled": False, "maxCount": 50}, None, None),
    ],
)
def test_gemini_cli_deletes_by_age_and_by_number(
    tmp_path: Path, values: dict[str, Any], days: float | None, count: int | None
) -> None:
    found = rule("gemini", tmp_path, retention(**values))
    assert (found.max_age_days, found.max_count) == (days, count)
    assert found.deletes == (days is not None or count is not None)


def test_the_settings_of_the_system_come_after_those_of_the_user(tmp_path: Path) -> None:
    system = tmp_path / "system.json"
    system.write_text(json.dumps(retention(maxAge="90d")), encoding="utf-8")
    variables = {"GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(system)}
    found = rule("gemini", tmp_path, retention(maxAge="10d", maxCount=5), variables=variables)
    assert (found.max_age_days, found.max_count, found.settings) == (
        90,
        5,
        str(tmp_path / ".gemini/settings.json"),
    )


@pytest.mark.parametrize("agent", ["codex", "opencode", "copilot", "qwen"])
def test_some_agents_delete_no_sessions_by_themselves(tmp_path: Path, agent: str) -> None:
    assert not rule(agent, tmp_path).deletes
    assert AGENTS[agent].deletes.startswith(("nothing", "no sessions"))


def test_of_other_agents_it_is_not_known() -> None:
    unknown = {name for name, agent in AGENTS.items() if agent.deletion({"HOME": "/nowhere"}) is None}
    assert unknown == {name for name, agent in AGENTS.items() if not agent.deletes}
