"""sessiond completion: what the last word of a command line may become, and the scripts in real shells."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from sessiond.cli.commands.completion import FILES, candidates
from sessiond.cli.help.manual import COMMON, TOPICS
from sessiond.cli.parse.choices import CHOICES
from sessiond.cli.table.index import all_commands
from sessiond.protocol import types as t
from support import logs
from support.commands import Shell, a_shell

DECLARED = all_commands()


def words(*line: str) -> list[str]:
    return [word for word, _ in candidates(["sessiond", *line])]


def test_the_first_word_is_a_command_and_is_explained() -> None:
    assert dict(candidates(["sessiond", ""])) == {
        name: command.description for name, command in DECLARED.items()
    }


def test_a_dash_begins_an_option_of_the_command() -> None:
    assert words("tree", "--") == [f"--{option.name}" for option in (*DECLARED["tree"].options, *COMMON)]


def test_a_value_is_one_of_its_few_words() -> None:
    assert words("tree", "--filter", "") == list(get_args(t.Filter))
    assert words("tree", "-f", "u") == list(get_args(t.Filter))
    assert words("completion", "") == ["bash", "zsh", "fish"]


def test_a_value_that_is_a_file_is_left_to_the_shell() -> None:
    assert words("export", "--output", "") == [FILES]
    assert words("import", "") == [FILES]


def test_nothing_is_offered_where_anything_may_stand() -> None:
    assert words("search", "") == []
    assert words("no-such-command", "") == []
    assert words("status", "") == []


def test_the_formats_of_export_and_import_are_those_of_the_protocol() -> None:
    assert set(get_args(t.ExportFormat)) == set(CHOICES["export --format"])
    assert set(get_args(t.Dialect)) == set(CHOICES["import --format"])


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A daemon with a session in it."""
    with a_shell(tmp_path_factory.mktemp("folder")) as found:
        found("new", "--id", "atlas-one", "--title", "Flaky \x1b[31mtest")
        found("append", "atlas-one", "--user", "Why?", "--assistant", "A race.")
        yield found


@pytest.mark.slow
def test_sessions_and_entries_are_offered_by_the_daemon_that_runs(shell: Shell) -> None:
    assert "atlas-one\tFlaky test" in shell("completion", "bash", "--", "sessiond", "tree", "atl").lines
    entries = shell("completion", "bash", "--", "sessiond", "label", "atlas-one", "").lines
    assert any(entry.endswith("\tWhy?") for entry in entries)


@pytest.mark.slow
def test_labels_tags_and_the_leaf_are_offered_where_they_can_be_given(shell: Shell) -> None:
    def offered(*line: str) -> list[str]:
        return [line.split("\t")[0] for line in shell("completion", "bash", "--", "sessiond", *line).lines]

    question = shell("show", "atlas-one", "--json").json["session"]["leafId"]
    shell("label", "atlas-one", question, "the-cause")
    shell("tag", "atlas-one", "--add", "ci")
    assert {"the-cause", "@", question} <= set(offered("diff", "atlas-one", ""))
    assert offered("diff", "atlas-one", question, "the-") == ["the-cause"]
    assert offered("search", "--label", "", "") == []
    assert offered("list", "--tag", "") == ["ci"]
    assert offered("search", "--session", "atl") == ["atlas-one", FILES]
    shell("continue")  # now it is this terminal's, so that it need not be named
    assert "the-cause" in offered("branch", "the")
    shell("delete", shell("new", "--id", "atlas-two").lines[0])
    assert "atlas-two" in offered("restore", "")


def test_help_and_methods_are_completed_too() -> None:
    assert set(TOPICS) | set(DECLARED) == set(words("help", ""))
    assert "session/append" in words("rpc", "")


@pytest.mark.slow
def test_an_id_that_a_shell_would_obey_is_not_offered(shell: Shell) -> None:
    path = shell.folder / "foreign.jsonl"
    ids = ("plain-1", "x;touch y", "$(touch y)", "two\nlines", "--json", "`y`")
    path.write_bytes(logs.log(logs.header(), *[logs.user("Why?", id=text, parent=None) for text in ids]))
    session = shell("show", str(path), "--json").json["session"]["sessionId"]
    offered = shell("completion", "bash", "--", "sessiond", "label", session, "").lines
    assert offered == ["plain-1\tWhy?", "@\tthe leaf"]


@pytest.mark.slow
def test_no_daemon_is_started_to_complete(tmp_path: Path) -> None:
    with a_shell(tmp_path) as shell:
        assert shell("completion", "bash", "--", "sessiond", "tree", "").lines == [":files"]
        assert not (Path(shell.locations.state) / "endpoint.json").exists()


def in_a_shell(shell: Shell, program: str, *arguments: str) -> list[str]:
    """The lines that a shell with the completion prints; `sessiond` is this one."""
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program}: apt-get install {program}")
    commands = shell.folder / "bin"
    commands.mkdir(exist_ok=True)
    ours = commands / "sessiond"
    ours.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sessiond "$@"\n', encoding="utf-8")
    ours.chmod(0o755)
    environment = shell.environment(PATH=f"{commands}:{os.environ['PATH']}", HOME=str(shell.folder))
    done = subprocess.run(
        [program, *arguments],
        env=environment,
        cwd=shell.folder,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


_BASH = """
eval "$(sessiond completion bash)"
COMP_WORDS=(sessiond "$@"); COMP_CWORD=$#
compopt() { echo "compopt $*"; }
_sessiond
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.slow
def test_bash_completes(shell: Shell) -> None:
    assert in_a_shell(shell, "bash", "-c", _BASH, "bash", "tre") == ["tree"]
    assert "atlas-one" in in_a_shell(shell, "bash", "-c", _BASH, "bash", "tree", "at")
    assert in_a_shell(shell, "bash", "-c", _BASH, "bash", "import", "") == ["compopt -o default", ""]


@pytest.mark.slow
@pytest.mark.system
def test_fish_completes(shell: Shell) -> None:
    ask = "sessiond completion fish | source; complete -C"
    assert any(
        text.split("\t")[0] == "tree" for text in in_a_shell(shell, "fish", "-c", f"{ask} 'sessiond tre'")
    )
    assert "atlas-one\tFlaky test" in in_a_shell(shell, "fish", "-c", f"{ask} 'sessiond tree atl'")


_ZSH = """
autoload -Uz compinit && compinit -u -D
eval "$(sessiond completion zsh)"
_describe() { print -l -- ${(P)@[-1]}; }
_files() { print files; }
words=(sessiond "$@"); CURRENT=$(( $# + 1 ))
$_comps[sessiond]
"""


@pytest.mark.slow
@pytest.mark.system
def test_zsh_completes(shell: Shell) -> None:
    assert "tree:Draw the tree of a session" in in_a_shell(shell, "zsh", "-f", "-c", _ZSH, "zsh", "tre")
    assert "atlas-one:Flaky test" in in_a_shell(shell, "zsh", "-f", "-c", _ZSH, "zsh", "tree", "atl")
    assert in_a_shell(shell, "zsh", "-f", "-c", _ZSH, "zsh", "import", "") == ["files"]
