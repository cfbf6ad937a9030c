"""A new agent is one folder and one row: everything else is generated or follows from the row.

A copy of the project gets the folder of an agent that does not exist (`support/wren`), its row, and what tests need: a
transcript and its module `cases`. Then the tests with a case for each row pass for it, and the commands of the copy
follow it, find its sessions, resume them and write new ones.
"""

import json  # noqa: TID251 - a file is read as its agent reads it
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from support.commands import Ran, a_shell
from support.dialects import jsonl
from support.homes import wait_until

pytestmark = pytest.mark.slow

Command = Callable[..., Ran]

ROOT = Path(__file__).resolve().parents[2]
OWN = ROOT / "tests/support/wren"
"""The folder of the agent."""
FOLDER = "daemon/sessiond/agents/wren"
TABLE = "daemon/sessiond/agents/table.py"
SAMPLE = "tests/data/dialects/wren.jsonl"
CASES = "tests/agents/wren/cases.py"
ROWS = (
    "tests/agents/test_agent_table.py", "tests/server/test_agent_resume.py", "tests/server/test_texts_are_found.py",
    "tests/session/test_dialect_readers.py", "tests/session/test_native_round_trips.py",
    "tests/session/test_native_writers.py",
)  # fmt: skip
"""Tests with a case for each row."""
OTHER = "6b6b6b6b-2222-4333-8444-555555555555"
SESSION = "5a5a5a5a-2222-4333-8444-555555555555"
GENERATORS = ("gen_agents", "gen_protocol", "gen_code_map", "gen_man")
GENERATED = {
    "daemon/CODE_MAP.md", "daemon/agents.md", "daemon/man/sessiond.1", "daemon/man/sessiond.md",
    "daemon/schema/metaModel.json", "daemon/schema/openrpc.json",
    "daemon/schema/sessiond.schema.json", "daemon/sessiond/agent_names.py", "daemon/sessiond/protocol/enums.py",
    "editors/nvim/lua/sessiond/protocol.lua", "editors/vscode/src/protocol.ts", "protocol.md",
}  # fmt: skip

LINES = (
    {"wren": 1, "version": "1.4.0", "session": SESSION, "cwd": "/", "at": "2026-05-01T08:00:00.000Z"},
    {"id": "w1", "at": "2026-05-01T08:00:01.000Z", "by": "person", "say": "Where does the wallcreeper nest?"},
    {"id": "n1", "at": "2026-05-01T08:00:01.500Z", "by": "wren", "say": "You are a bird watcher."},
    {
        "id": "w2", "at": "2026-05-01T08:00:02.000Z", "by": "model", "say": "In crevices of cliffs.",
        "model": "wren-large", "spent": {"in": 1200, "out": 34},
    },
)  # fmt: skip
"""A session of Wren."""
QUESTION = {"id": "w3", "at": "2026-05-01T08:00:03.000Z", "by": "person", "say": "And the dipper?"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the folder and the row of the agent, after its generators ran."""
    copy = tmp_path_factory.mktemp("project")
    for name in ("daemon", "editors", "scripts", "tests"):
        shutil.copytree(
            ROOT / name, copy / name, ignore=shutil.ignore_patterns("node_modules", "__pycache__")
        )
    for name in ("protocol.md", "pyproject.toml"):
        shutil.copyfile(ROOT / name, copy / name)
    shutil.copytree(OWN, copy / FOLDER, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / SAMPLE).write_bytes(jsonl(*LINES))
    (copy / CASES).parent.mkdir()
    shutil.copyfile(ROOT / "tests/support/wren_cases.py", copy / CASES)
    table = copy / TABLE
    before = table.read_text(encoding="utf-8")
    row = before.replace("\nAGENTS:", "from sessiond.agents.wren.row import WREN\n\nAGENTS:", 1)
    table.write_text(row.replace("NOVA)", "NOVA, WREN)", 1), encoding="utf-8")
    for name in GENERATORS:
        generated = generator(copy, name)
        assert generated.returncode == 0, generated
    return copy


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home folder of a user of the agent."""
    return tmp_path_factory.mktemp("ada")


@pytest.fixture(scope="module")
def wren(project: Path, home: Path) -> Iterator[Command]:
    """The commands of the copy, with a daemon of the copy."""
    variables = {"HOME": str(home), "WREN_HOME": "", "PYTHONPATH": str(project / "daemon")}
    with a_shell(home) as shell, shell.start("serve", **variables) as daemon:
        wait_until(lambda: shell.run("status", **variables).code == 0)
        try:
            yield partial(shell, **variables)
        finally:
            daemon.terminate()


@pytest.fixture(scope="module")
def transcript(wren: Command, home: Path) -> Path:
    """A session of the agent in its place, which is followed."""
    path = home / f".wren/sessions/{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(*LINES))
    path.with_suffix(".about").write_bytes(jsonl({"title": "Birds of the mountains"}))
    assert wren("agents", "follow", "wren").lines == ["Followed: wren"]
    return path


def generator(copy: Path, name: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run one of the generators of the copy."""
    return run(copy, [sys.executable, str(copy / f"scripts/{name}.py"), *words])


def run(copy: Path, command: list[str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command with the modules of the copy."""
    return subprocess.run(
        command, capture_output=True, encoding="utf-8", check=False, timeout=150, cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(copy / "daemon")},
    )  # fmt: skip


def differences(copy: Path) -> dict[str, int]:
    """Return the files of the copy that are not those of the project, with the number of their lines that are not."""
    found: dict[str, int] = {}
    for path in sorted(
        path for path in copy.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ):
        name = str(path.relative_to(copy))
        lines = path.read_bytes().splitlines()
        before = (ROOT / name).read_bytes().splitlines() if (ROOT / name).exists() else []
        if lines != before:
            found[name] = sum((Counter(lines) - Counter(before)).values())
    return found


def test_only_the_folder_and_the_row_are_written_by_hand(project: Path) -> None:
    changed = differences(project)
    added = {f"{FOLDER}/{path.name}" for path in OWN.glob("*.py")}
    assert set(changed) == {*added, *GENERATED, TABLE, SAMPLE, CASES}
    assert changed[TABLE] == 2
    for name in GENERATORS:
        assert generator(project, name, "--check").returncode == 0, name


def test_documents_and_generated_types_name_the_agent(project: Path) -> None:
    assert all("wren" in (project / text).read_text(encoding="utf-8").lower() for text in GENERATED)


def test_tests_with_a_case_for_each_row_have_one_for_the_agent(project: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-k", "wren", *ROWS]
    done = run(project, command, cwd=project)
    assert done.returncode == 0, done.stdout
    assert [row for row in ROWS if f"{row}::" not in done.stdout] == []


def test_the_agent_is_listed(wren: Command, transcript: Path) -> None:
    [agent] = [agent for agent in wren("agents", "--json").json["agents"] if agent["name"] == "wren"]
    assert (agent["title"], agent["format"], agent["isFollowed"]) == ("Wren", "wren", True)
    assert (agent["isWritable"], agent["fileCount"], agent["newestVersion"]) == (True, 1, "1.4.0")


def test_its_sessions_are_followed_listed_and_searched(wren: Command, transcript: Path) -> None:
    assert "Birds of the mountains" in wren("search", "crevices", "--all", "--wait").out
    with transcript.open("ab") as file:
        file.write(jsonl(QUESTION))
    wait_until(lambda: "And the dipper?" in wren("context", SESSION).out)
    [listed] = wren("list", "--all", "--agent", "Wren", "--json").json["sessions"]
    assert (listed["sessionId"], listed["title"]) == (SESSION, "Birds of the mountains")
    assert listed["origin"]["agent"] == "wren"


def test_its_usage_is_counted(wren: Command, transcript: Path) -> None:
    report = wren("usage", "--all", "--by", "agent", "--json").json
    [tokens] = [row["tokens"] for row in report["rows"] if row["key"] == "wren"]
    assert (tokens["input"], tokens["output"]) == (1200, 34)


def test_its_session_goes_on_in_it_and_in_another_agent(wren: Command, home: Path, transcript: Path) -> None:
    assert wren("resume", SESSION, "--print").lines == [f"cd / && wren --continue {SESSION}"]
    wren("resume", SESSION, "--in", "codex", "--print")
    [path] = (home / ".codex/sessions").rglob("*.jsonl")
    told = path.read_text(encoding="utf-8")
    assert "In crevices of cliffs." in told
    assert "bird watcher" not in told


def test_a_session_of_another_kind_goes_on_in_it(wren: Command, transcript: Path) -> None:
    session = wren("new").lines[0]
    wren("append", session, "--user", "Why?")
    wren("append", session, "--assistant", "A race.")
    [command] = wren("resume", session, "--in", "wren", "--print").lines
    path = transcript.with_name(f"{command.split()[-1]}.jsonl")
    assert "A race." in path.read_text(encoding="utf-8")


def test_its_format_is_imported_and_exported(wren: Command, tmp_path: Path) -> None:
    source = tmp_path / "other.jsonl"
    source.write_bytes(jsonl({**LINES[0], "session": OTHER}, *LINES[1:]))
    assert wren("import", "--format", "wren", str(source)).lines == [OTHER]
    exported = wren("export", OTHER, "--format", "wren").out
    said = [line.get("say") for line in LINES if line.get("by") != "wren"]
    assert [json.loads(line).get("say") for line in exported.splitlines()] == said


def test_setup_adds_its_hooks_and_its_mcp_server(wren: Command, home: Path, transcript: Path) -> None:
    wren("setup", "--agent", "wren", "--yes")
    settings = json.loads((home / ".wren/settings.json").read_text(encoding="utf-8"))
    assert set(settings["hooks"]) == {"SessionStart", "SessionEnd"}
    assert set(settings["mcpServers"]) == {"sessiond"}
    assert wren("hook", "wren", stdin=json.dumps({"hook_event_name": "SessionEnd"})).out.strip() == "{}"
