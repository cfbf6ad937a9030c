"""Folders that cannot be used: every command says so in a sentence, names the variable, and ends with a known code."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sessiond.cli.exit_codes import CANNOT_CREATE, FAILURE, MEANINGS, SUCCESS, UNAVAILABLE
from sessiond.cli.table.index import all_commands
from support.commands import Ran, Shell, a_shell

DECLARED = all_commands()


pytestmark = pytest.mark.slow

_LASTING = 12
"""Lines that a command may say on standard error."""


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with a_shell(tmp_path) as shell:
        yield shell


def a_file(folder: Path) -> str:
    path = folder / "file"
    path.write_bytes(b"")
    return str(path)


def a_dangling_link(folder: Path) -> str:
    path = folder / "link"
    path.symlink_to(folder / "nowhere")
    return str(path)


def a_long_name(folder: Path) -> str:
    return str(folder / ("x" * 300))


def a_long_path(folder: Path) -> str:
    return str(folder) + "/yyyyyyyyyy" * 500


def bytes_that_are_no_text(folder: Path) -> str:
    return os.fsdecode(os.fsencode(folder) + b"/inv\xff")


def below_proc(_folder: Path) -> str:
    return "/proc/no/such/folder"


Broken = Callable[[Path], str]
BROKEN: list[Broken] = [
    below_proc, a_file, a_dangling_link, a_long_name, a_long_path, bytes_that_are_no_text,
]  # fmt: skip


def is_said_in_a_sentence(ran: Ran) -> bool:
    said = ran.err.splitlines()
    return "Traceback" not in ran.err and len(said) <= _LASTING and all(len(line) < 900 for line in said)


@pytest.mark.parametrize("broken", BROKEN)
def test_a_home_that_cannot_be_used_is_told_by_name(shell: Shell, tmp_path: Path, broken: Broken) -> None:
    home = broken(tmp_path)
    for command, code in (("list", UNAVAILABLE), ("restart", UNAVAILABLE), ("serve", CANNOT_CREATE)):
        ran = shell.run(command, SESSIOND_HOME=home)
        assert (ran.code, is_said_in_a_sentence(ran)) == (code, True), ran
        assert "SESSIOND_HOME" in ran.err
    assert shell.run("status", SESSIOND_HOME=home).code == UNAVAILABLE
    assert shell.run("stop", SESSIOND_HOME=home).code == SUCCESS
    found = shell.run("doctor", "--json", SESSIOND_HOME=home)
    assert found.code == FAILURE
    assert "unusableFolder" in {finding["kind"] for finding in found.json["findings"]}
    assert "Traceback" not in found.err


@pytest.mark.parametrize("variable", ["XDG_STATE_HOME", "XDG_DATA_HOME"])
@pytest.mark.parametrize("broken", [below_proc, a_file, a_dangling_link, a_long_name])
def test_an_xdg_folder_that_cannot_be_used_is_told_by_the_name_of_its_variable(
    shell: Shell, tmp_path: Path, variable: str, broken: Broken
) -> None:
    own = {
        name: str(tmp_path / name) for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "HOME")
    }
    ran = shell.run("list", **own | {"SESSIOND_HOME": "", variable: broken(tmp_path)})
    assert (ran.code, is_said_in_a_sentence(ran)) == (UNAVAILABLE, True), ran
    assert re.search(rf"\b{variable}\b", ran.err)


@pytest.mark.parametrize("command", sorted(DECLARED))
def test_no_command_ends_in_a_traceback_below_proc(shell: Shell, command: str) -> None:
    words = [word for word in DECLARED[command].positionals if not word.startswith("[")]
    ran = shell.run(
        command, *(["x"] * len(words)), SESSIOND_HOME=below_proc(Path()), XDG_CONFIG_HOME="/proc/no"
    )
    assert ran.code in MEANINGS
    assert "Traceback" not in ran.err + ran.out
    assert len(ran.err.splitlines()) <= _LASTING
