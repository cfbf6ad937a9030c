"""The workflow of the hosted checks runs what README.md promises, and may do nothing else."""

import os
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WORKFLOW = (ROOT / ".github/workflows/check.yml").read_text(encoding="utf-8")


def values(key: str) -> list[str]:
    """The values of a key, wherever it stands on a line of its own or begins a step."""
    return re.findall(rf"^ *(?:- )?{re.escape(key)}: +(.+)$", WORKFLOW, re.MULTILINE)


def jobs() -> dict[str, str]:
    """The text of each job by its name."""
    _, _, text = WORKFLOW.partition("\njobs:\n")
    parts = re.split(r"^  (\w+):\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


SCRIPTS = [command for command in values("run") if command.startswith("scripts/")]


def test_it_runs_both_commands_of_the_readme_and_the_whole_check() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in ("scripts/demo", "scripts/check"):
        assert re.search(rf"^{command}\b", readme, re.MULTILINE)
    assert SCRIPTS == ["scripts/demo", "scripts/check", "scripts/check --all"]


@pytest.mark.parametrize("command", SCRIPTS)
def test_each_command_is_there_with_its_option(command: str) -> None:
    name, *options = command.split()
    assert os.access(ROOT / name, os.X_OK)
    for option in options:
        assert re.search(rf"^#   {name} {option} ", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)


def test_it_runs_on_the_oldest_and_the_newest_python_that_the_project_promises() -> None:
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
    promised = [item.rpartition(" :: ")[2] for item in about if item.startswith("Programming Language")]
    assert values("python") == [f'["{promised[0]}", "{promised[-1]}"]']


def test_it_may_only_read() -> None:
    assert re.findall(r"^permissions:\n((?:  .+\n)+)", WORKFLOW, re.MULTILINE) == ["  contents: read\n"]
    assert "permissions:" not in "".join(jobs().values())
    assert "secrets." not in WORKFLOW


def test_every_job_has_a_limit_of_time() -> None:
    assert jobs()
    for job in jobs().values():
        assert re.search(r"^    timeout-minutes: [0-9]+$", job, re.MULTILINE)


def test_every_action_is_pinned_to_a_version_and_keeps_no_credentials() -> None:
    for action in values("uses"):
        assert re.fullmatch(r"actions/[\w-]+@v\d+\.\d+\.\d+", action)
    checkouts = [value for value in values("uses") if value.startswith("actions/checkout@")]
    assert len(checkouts) == len(jobs())
    assert values("persist-credentials") == ["false"] * len(checkouts)
