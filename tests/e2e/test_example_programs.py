"""The examples do what they say, as a reader runs them."""

import json  # noqa: TID251 - what a reader of the output would use
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.columns import messages_of
from support.homes import a_home, environment

EXAMPLES = Path(__file__).parent.parent.parent / "scripts/examples"


@pytest.fixture
def environ() -> Iterator[dict[str, str]]:
    with a_home() as locations:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        yield environment(locations, PATH=path, SESSIOND_TERMINAL="reader", PYTHONUTF8="1")


def output_of(command: list[str], environ: dict[str, str], folder: Path) -> str:
    done = subprocess.run(
        command, env=environ, cwd=folder, capture_output=True, encoding="utf-8", timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_agent_tries_again_stays_within_its_window_and_goes_on_with_its_session(
    environ: dict[str, str], tmp_path: Path
) -> None:
    command = [sys.executable, str(EXAMPLES / "agent.py")]
    first = output_of(command, environ, tmp_path)
    assert "failed (overloaded)" in first
    answered = [line for line in first.splitlines() if line.endswith("tokens")]
    assert len(answered) == 6
    assert int(answered[-1].split()[2]) < 11  # messages: without a compaction it would be all of them
    second = output_of(command, environ, tmp_path)
    assert first.split()[-1] == second.split()[-1]


def test_the_shell_does_each_step_of_an_agent_with_one_call(environ: dict[str, str], tmp_path: Path) -> None:
    told = output_of([str(EXAMPLES / "shell.sh"), str(tmp_path)], environ, tmp_path)
    answers = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
    contexts = [messages_of(answer) for answer in answers if "messages" in answer]
    assert contexts[0] == [{"role": "user", "content": "Is the build green?"}]
    assert "The user asked after the build." in json.dumps(contexts[1][0])
    assert contexts[1][-1]["content"][0]["text"] == "No: one test fails."
