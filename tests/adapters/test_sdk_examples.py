"""The example programs of the adapters, with the real SDKs and a scripted model, as a reader runs them."""

import ast
import json  # noqa: TID251 - what a reader of the output would use
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.homes import a_home, environment, sessiond
from support.scripted_model import ScriptedModel

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parent.parent.parent / "scripts/examples"


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as running:
        yield running


@pytest.fixture
def environ(model: ScriptedModel, tmp_path: Path) -> Iterator[dict[str, str]]:
    (tmp_path / "home").mkdir()
    with a_home() as locations:
        yield environment(
            locations, HOME=str(tmp_path / "home"), PYTHONUTF8="1", NO_PROXY="127.0.0.1",
            ANTHROPIC_BASE_URL=model.url, ANTHROPIC_API_KEY="anything", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            OPENAI_BASE_URL=f"{model.url}/v1", OPENAI_API_KEY="anything", OPENAI_AGENTS_DISABLE_TRACING="1",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("package", "module"), [("claude_agent_sdk", "claude_agent_sdk"), ("agents.memory", "openai_agents")]
)
def test_the_lines_of_the_guide_name_what_there_is(package: str, module: str) -> None:
    pytest.importorskip(package)
    guide = (EXAMPLES.parents[1] / "daemon/GUIDE.md").read_text(encoding="utf-8")
    (snippet,) = [
        found for found in re.findall(r"```py\n(.*?)```", guide, re.DOTALL) if f"adapters.{module}" in found
    ]
    compile(snippet, "guide", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    exec(snippet.splitlines()[0])


def output_of(command: list[str], environ: dict[str, str], folder: Path) -> str:
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        command, env=environ, cwd=folder, capture_output=True, encoding="utf-8", timeout=120, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_claude_program_continues_from_the_store(
    environ: dict[str, str], model: ScriptedModel, tmp_path: Path
) -> None:
    pytest.importorskip("claude_agent_sdk")
    model.when("heron").says("In the reeds.")
    model.when("And now").says("It flew away.")
    program = [sys.executable, str(EXAMPLES / "claude_agent.py")]
    assert "In the reeds." in output_of([*program, "Where is the heron?"], environ, tmp_path / "work")
    for file in (tmp_path / "home/.claude/projects").rglob("*.jsonl"):
        file.unlink()  # so that only the store has the session
    assert "It flew away." in output_of([*program, "And now?"], environ, tmp_path / "work")
    asked = model.requests[-1].texts("user")
    assert any("Where is the heron?" in text for text in asked), "the model is sent the first turn, too"
    shown = output_of(sessiond("context", "--json"), environ, tmp_path / "work")
    texts = str([row["message"]["content"] for row in json.loads(shown)["messages"]])
    for said in ("Where is the heron?", "In the reeds.", "And now?", "It flew away."):
        assert said in texts


def test_the_openai_program_knows_its_earlier_run_and_what_a_person_wrote_between(
    environ: dict[str, str], model: ScriptedModel, tmp_path: Path
) -> None:
    pytest.importorskip("agents.memory")
    model.when("Is there a heron").calls("look", place="reeds").says("Yes, in the reeds.")
    model.when("And now").says("It flew away.")
    program = [sys.executable, str(EXAMPLES / "openai_agent.py"), "bird-watching"]
    work = tmp_path / "work"
    assert output_of([*program, "Is there a heron?"], environ, work) == "Yes, in the reeds.\n"
    output_of(sessiond("append", "bird-watching", "--user", "I came from an editor."), environ, work)
    assert output_of([*program, "And now?"], environ, work) == "It flew away.\n"
    kinds = [part.kind for part in model.requests[-1].parts]
    assert kinds == ["user", "call", "result", "assistant", "user", "user"]
    assert "I came from an editor." in model.requests[-1].texts("user")
    tree = output_of(sessiond("tree", "bird-watching", "--filter", "all"), environ, work)
    for said in (
        "Is there a heron?",
        "There is a heron in the reeds.",
        "Yes, in the reeds.",
        "It flew away.",
    ):
        assert said in tree
