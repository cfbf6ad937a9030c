"""The table of agents: where each keeps its sessions, and which variables move them."""

import subprocess
import sys
from pathlib import Path

import pytest

from sessiond.agents import known
from sessiond.agents.table import AGENTS

ROOT = Path(__file__).resolve().parents[2]
HOME = {"HOME": "/home/ada"}

PLACES = {
    "claude-code": "/home/ada/.claude/projects/-srv-demo/6b1f0c1e-0000-4000-8000-000000000001.jsonl",
    "codex": "/home/ada/.codex/sessions/2026/11/20/rollout-2026-11-20T10-00-00-0199.jsonl",
    "gemini": "/home/ada/.gemini/tmp/demo/chats/session-2026-11-20T10-00-0a1b2c3d.jsonl",
    "opencode": "/home/ada/.local/share/opencode/opencode.db",
    "qwen": "/home/ada/.qwen/projects/-srv-demo/chats/6b1f0c1e-0000-4000-8000-000000000001.jsonl",
    "pi": "/home/ada/.pi/agent/sessions/--srv-demo--/2026-11-20T10-00-00-000Z_0199.jsonl",
    "oh-my-pi": "/home/ada/.omp/agent/sessions/-demo/2026-11-20T10-00-00-000Z_0199.jsonl",
    "copilot": "/home/ada/.copilot/session-state/0199/events.jsonl",
    "cursor": "/home/ada/.cursor/projects/demo/agent-transcripts/0199/0199.jsonl",
    "nova": "/home/ada/.nova/sessions/0199abcd.json",
    "cline": "/home/ada/.cline/data/sessions/0199/0199.messages.json",
}

MOVED = [
    ("claude-code", {"CLAUDE_CONFIG_DIR": "/srv/claude"}, "/srv/claude/projects"),
    ("claude-code", {"CLAUDE_CONFIG_DIR": ""}, "/home/ada/.claude/projects"),
    ("claude-code", {"CLAUDE_CONFIG_DIR": "~/c"}, "/home/ada/c/projects"),
    ("codex", {"CODEX_HOME": "/srv/codex"}, "/srv/codex/sessions"),
    ("gemini", {"GEMINI_CLI_HOME": "/srv/g"}, "/srv/g/.gemini/tmp"),
    ("opencode", {"XDG_DATA_HOME": "/srv/data"}, "/srv/data/opencode"),
    ("qwen", {"QWEN_RUNTIME_DIR": "/srv/qwen"}, "/srv/qwen/projects"),
    ("qwen", {"QWEN_HOME": "/srv/q"}, "/srv/q/projects"),
    ("qwen", {"QWEN_HOME": "/srv/q", "QWEN_RUNTIME_DIR": "/srv/r"}, "/srv/r/projects"),
    ("pi", {"PI_CODING_AGENT_DIR": "/srv/pi"}, "/srv/pi/sessions"),
    (
        "pi",
        {"PI_CODING_AGENT_DIR": "/srv/pi", "PI_CODING_AGENT_SESSION_DIR": "/srv/s"},
        "/srv/s",
    ),
    ("cursor", {"CURSOR_CONFIG_DIR": "/srv/cursor"}, "/srv/cursor/projects"),
    ("cline", {"CLINE_DIR": "/srv/cline"}, "/srv/cline/data/sessions"),
    ("cline", {"CLINE_DATA_DIR": "/srv/data"}, "/srv/data/sessions"),
    ("cline", {"CLINE_SESSION_DATA_DIR": "/srv/sessions"}, "/srv/sessions"),
    ("oh-my-pi", {"PI_CONFIG_DIR": ".config/omp"}, "/home/ada/.config/omp/agent/sessions"),
]

NO_SESSIONS = [
    ("claude-code", "demo/notes.md"),
    ("claude-code", "demo/6b1f/subagents/agent-1.meta.json"),
    ("claude-code", "demo/memory/other.jsonl"),
    ("codex", "2026/11/20/notes.jsonl"),
    ("gemini", "demo/logs.json"),
    ("opencode", "opencode.db-wal"),
    ("opencode", "storage/opencode.db"),
    ("qwen", "demo/telemetry.jsonl"),
    ("cursor", "demo/agent-transcripts/0199.txt"),
    ("cursor", "demo/terminals/0199.jsonl"),
    ("cline", "0199/0199.json"),
    ("cline", "0199/ui_messages.json"),
]


@pytest.mark.parametrize("name", AGENTS)
def test_a_session_file_lies_below_a_folder_of_its_agent_and_is_recognized(name: str) -> None:
    agent, path = AGENTS[name], PLACES[name]
    above = [it for it in agent.folders(HOME) if path.startswith(f"{it}/")]
    assert len(above) == 1
    assert agent.is_session_file(path.removeprefix(f"{above[0]}/"))


@pytest.mark.parametrize(("name", "variables", "folder"), MOVED)
def test_a_variable_moves_the_folder(name: str, variables: dict[str, str], folder: str) -> None:
    assert set(variables) <= set(AGENTS[name].variables)
    assert AGENTS[name].folders({**HOME, **variables})[0] == folder


@pytest.mark.parametrize(("name", "path"), NO_SESSIONS)
def test_another_file_of_an_agent_is_no_session(name: str, path: str) -> None:
    assert not AGENTS[name].is_session_file(path)


def test_subagents_of_claude_code_are_sessions() -> None:
    assert AGENTS["claude-code"].is_session_file("demo/6b1f/subagents/agent-1.jsonl")


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("cursor", "demo/agent-transcripts/0199.jsonl"),
        ("cursor", "demo/agent-transcripts/0199/subagents/01.jsonl"),
        ("cline", "0199/explorer/01.messages.json"),
        ("cline", "0199/api_conversation_history.json"),
    ],
)
def test_agents_may_have_session_files_of_several_forms(name: str, path: str) -> None:
    assert AGENTS[name].is_session_file(path)


def test_tasks_of_the_extension_of_cline_are_resumed_by_no_command() -> None:
    assert AGENTS["cline"].resume_command("1772352000000") == []
    assert AGENTS["cline"].resume_command("1772352000000_k3v9p")[-1] == "1772352000000_k3v9p"


def test_names_are_distinct_and_short_names_fit_a_column() -> None:
    assert [it.name for it in AGENTS.values()] == list(AGENTS)
    for names in ([it.title for it in AGENTS.values()], [it.short_name for it in AGENTS.values()]):
        assert len(set(names)) == len(AGENTS)
    assert max(len(it.short_name) for it in AGENTS.values()) <= 8


def test_an_agent_whose_version_was_checked_has_a_reader() -> None:
    for agent in AGENTS.values():
        assert agent.checked_version is None or agent.dialect is not None, agent.name


def test_every_dialect_of_an_agent_has_a_reader() -> None:
    assert {agent.dialect for agent in AGENTS.values() if agent.dialect is not None} <= set(known.DIALECTS)


def test_one_row_loads_the_reader_of_each_dialect() -> None:
    loaded = [agent.load_dialect().name for agent in AGENTS.values() if agent.load_dialect is not None]
    assert len(set(loaded)) == len(loaded)
    assert {agent.dialect for agent in AGENTS.values() if agent.load_dialect is not None} == set(loaded)


def test_an_agent_with_a_writer_has_a_place_for_what_is_written_or_a_command_that_brings_it_in() -> None:
    for agent in AGENTS.values():
        is_reachable = agent.new_file is not None or agent.import_command is not None
        assert (agent.load_writer is not None) == is_reachable, agent.name


def test_a_row_is_read_without_its_reader_and_its_writer() -> None:
    code = (
        "import sys; from sessiond.agents.table import AGENTS; "
        "print(*(name for name in sys.modules if name.endswith(('.reader', '.writer'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert [name for name in done.stdout.split() if name.startswith("sessiond.")] == []


def test_the_resume_command_names_the_session_to_the_program() -> None:
    for agent in AGENTS.values():
        command = agent.resume_command("0199")
        assert not command or (command[0] == agent.program and "0199" in command[-1])


def test_commands_that_load_the_table_stay_fast() -> None:
    slow = "msgspec", "sqlite3", "asyncio", "pathlib"
    code = f"import sys, sessiond.agents.table; print([it for it in {slow!r} if it in sys.modules])"
    run = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": ":".join(it for it in sys.path if it.endswith("daemon"))}, encoding="utf-8")  # fmt: skip
    assert run.stdout == "[]\n"


def test_generated_names_formats_and_tables_are_those_of_the_rows() -> None:
    command = [sys.executable, str(ROOT / "scripts/gen_agents.py"), "--check"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
