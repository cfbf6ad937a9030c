"""The table of agents: where each keeps its sessions, and which variables move them."""

import subprocess
import sys
from pathlib import Path

import pytest

from sessiond.agents import known
from sessiond.agents.table import AGENTS
from support.agent_cases import case_of, of_all

ROOT = Path(__file__).resolve().parents[2]
HOME = {"HOME": "/home/ada"}


@pytest.mark.parametrize("name", AGENTS)
def test_a_session_file_lies_below_a_folder_of_its_agent_and_is_recognized(name: str) -> None:
    agent, path = AGENTS[name], case_of(name).PLACE
    above = [folder for folder in agent.folders(HOME) if path.startswith(f"{folder}/")]
    assert len(above) == 1
    assert agent.is_session_file(path.removeprefix(f"{above[0]}/"))


@pytest.mark.parametrize(("name", "moved"), of_all("MOVED"))
def test_a_variable_moves_the_folder(name: str, moved: tuple[dict[str, str], str]) -> None:
    variables, folder = moved
    assert set(variables) <= set(AGENTS[name].variables)
    assert AGENTS[name].folders({**HOME, **variables})[0] == folder


@pytest.mark.parametrize(("name", "path"), of_all("OTHERS"))
def test_another_file_of_an_agent_is_no_session(name: str, path: str) -> None:
    assert not AGENTS[name].is_session_file(path)


@pytest.mark.parametrize(("name", "path"), of_all("SESSIONS"))
def test_agents_may_have_session_files_of_several_forms(name: str, path: str) -> None:
    assert AGENTS[name].is_session_file(path)


def test_tasks_of_the_extension_of_cline_are_resumed_by_no_command() -> None:
    assert AGENTS["cline"].resume_command("1772352000000") == []
    assert AGENTS["cline"].resume_command("1772352000000_k3v9p")[-1] == "1772352000000_k3v9p"


def test_names_are_distinct_and_short_names_fit_a_column() -> None:
    assert [agent.name for agent in AGENTS.values()] == list(AGENTS)
    for names in (
        [agent.title for agent in AGENTS.values()],
        [agent.short_name for agent in AGENTS.values()],
    ):
        assert len(set(names)) == len(AGENTS)
    assert max(len(agent.short_name) for agent in AGENTS.values()) <= 8


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
    code = f"import sys, sessiond.agents.table; print([name for name in {slow!r} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path.endswith("daemon"))},
        encoding="utf-8")  # fmt: skip
    assert run.stdout == "[]\n"


def test_generated_names_formats_and_tables_are_those_of_the_rows() -> None:
    command = [sys.executable, str(ROOT / "scripts/gen_agents.py"), "--check"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
