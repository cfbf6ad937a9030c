"""Every command has --json, and what it prints then is JSON and nothing else: run for real, one after the other."""

import json  # noqa: TID251 - what a reader of --json would use
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessiond.cli.table.index import all_commands
from support.commands import Ran, Shell, a_shell
from support.every_command import COMMANDS, ELSEWHERE, LASTING

DECLARED = all_commands()


WITHOUT = {
    "serve": "it is the daemon",
    "attach": "it passes on what clients and the daemon say",
    "completion": "it answers a shell, in its language",
    "hook": "it answers an agent, in its language",
    "acp": "it speaks ACP with an editor",
    "mcp": "it speaks MCP with an agent",
    "redact": "it passes on what it reads",
    "rpc": "it prints nothing else",
    "schema": "it prints nothing else",
}
"""Commands that have no --json, and why."""


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Shell, dict[str, str]]]:
    """A session with a question and an answer, another one, and a file to import."""
    with a_shell(tmp_path_factory.mktemp("folder")) as shell:
        session, other = (shell("new", "--title", f"Flaky {number}").lines[0] for number in range(2))
        shell("append", other, "--user", "Why?", "--assistant", "A race.")
        question, answer = shell("append", session, "--user", "Why?", "--assistant", "A race.").lines
        file = shell.folder / "other.jsonl"
        shell("export", session, "--format", "go", "-o", str(file))
        yield (
            shell,
            {"session": session, "other": other, "question": question, "answer": answer, "file": str(file)},
        )


def test_every_command_has_json_or_a_reason() -> None:
    with_json = {
        name for name, command in DECLARED.items() if any(option.name == "json" for option in command.options)
    }
    assert set(DECLARED) - with_json == set(WITHOUT)


def test_every_command_with_json_is_run_here() -> None:
    assert {line.split()[0] for line in COMMANDS} | set(LASTING) | set(ELSEWHERE) | set(WITHOUT) == set(
        DECLARED
    )


@pytest.mark.slow
def test_the_output_is_json_and_nothing_else(names: tuple[Shell, dict[str, str]]) -> None:
    shell, ids = names
    codex = str(shell.folder / "codex")
    for line in COMMANDS:
        ran: Ran = shell.run(*[word.format(**ids) for word in line.split()], "--json", CODEX_HOME=codex)
        assert ran.code == 0 or line == "doctor", (line, ran)
        assert isinstance(json.loads(ran.out), dict), line
        assert len(ran.lines) == 1, line
    assert isinstance(json.loads(shell("rpc", "session/list", "{}").out), dict)
    assert isinstance(json.loads(shell("schema").out), dict)


@pytest.mark.slow
@pytest.mark.parametrize("line", ["watch {session} --last 1", "view {session} --no-open"])
def test_each_line_of_what_lasts_is_json(names: tuple[Shell, dict[str, str]], line: str) -> None:
    shell, ids = names
    with shell.start(*[word.format(**ids) for word in line.split()], "--json") as process:
        assert process.stdout is not None
        try:
            assert isinstance(json.loads(process.stdout.readline()), dict)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
        finally:
            process.kill()


@pytest.mark.slow
def test_an_import_of_nothing_fails_with_json_as_without(names: tuple[Shell, dict[str, str]]) -> None:
    shell, _ = names
    ran = shell.run("import", "/no/such/file", "--json")
    assert (ran.code, ran.json["sessions"]) == (1, [])


@pytest.mark.slow
@pytest.mark.parametrize("line", ["show no-such-session", "tree no-such-session", "append"])
def test_a_refusal_leaves_standard_output_empty(tmp_path: Path, line: str) -> None:
    with a_shell(tmp_path) as shell:
        ran = shell.run(*line.split(), "--json")
        assert (ran.code != 0, ran.out) == (True, "")
        assert ran.err
