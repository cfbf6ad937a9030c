"""sessiond continue --prompt: a few words for the prompt of a shell, and nothing that would hold it up."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from support.commands import Shell, a_shell
from test_readme import ROOT, snippets

pytestmark = pytest.mark.slow


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with a_shell(tmp_path) as shell:
        shell("new", "--id", "atlas-one", "--title", "Flaky %F{red}$(date)`id`\\!\x1b[2J test")
        shell("append", "atlas-one", "--user", "Why?", "--assistant", "A race.")
        yield shell


def test_it_is_the_beginning_of_the_id_and_the_title_without_what_a_shell_would_expand(shell: Shell) -> None:
    ran = shell("continue", "--prompt")
    assert (ran.lines, ran.err) == (["atlas-on Flaky F{red}(date)id test"], "")


@pytest.mark.parametrize("case", ["another terminal", "another folder", "no daemon"])
def test_where_there_is_nothing_to_say_it_is_silent(shell: Shell, case: str) -> None:
    words = ["--cwd", "/"] if case == "another folder" else []
    asked = replace(shell, terminal="two") if case == "another terminal" else shell
    if case == "no daemon":
        shell("stop")
    ran = asked.run("continue", "--prompt", *words)
    assert (ran.code, ran.out, ran.err) == (1, "", "")
    assert case != "no daemon" or not Path(shell.locations.endpoint).exists()


def test_a_daemon_that_hangs_is_not_waited_for(shell: Shell) -> None:
    pid = shell("status", "--json").json["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        ran = shell.run("continue", "--prompt")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert (ran.code, ran.out, ran.err) == (1, "", "")


def test_it_changes_nothing(shell: Shell) -> None:
    before = shell("list", "--all", "--drafts", "--json").out
    crumbs = {path: path.read_bytes() for path in Path(shell.locations.state, "terminal-sessions").iterdir()}
    shell("continue", "--prompt")
    assert shell("list", "--all", "--drafts", "--json").out == before
    assert {
        path: path.read_bytes() for path in Path(shell.locations.state, "terminal-sessions").iterdir()
    } == crumbs


def test_without_a_daemon_it_loads_nothing_that_connects(shell: Shell) -> None:
    shell("stop")
    program = (
        "import sys; from sessiond.cli.main import run; code = run(sys.argv[1:])\n"
        "print(*sys.modules, file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{program}", "continue", "--prompt"],
        capture_output=True, encoding="utf-8", cwd=shell.folder, env=shell.environment(), timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    loaded = set(done.stderr.split())
    assert "sessiond.cli.commands.shell_prompt" in loaded
    assert not {"json", "socket", "sessiond.client.blocking", "sessiond.cli.commands.sessions"} & loaded


@pytest.mark.system
def test_the_fish_lines_of_readme_show_it(shell: Shell) -> None:
    fish = shutil.which("fish")
    if fish is None:
        pytest.skip("there is no fish: apt-get install fish")
    (snippet,) = [
        snippet.text for snippet in snippets(ROOT / "daemon/GUIDE.md") if snippet.language == "fish"
    ]
    done = subprocess.run(
        [fish, "--no-config", "-c", f"{snippet}\nfish_right_prompt"],
        env=shell.environment(PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}", HOME=str(shell.folder)),
        cwd=shell.folder, capture_output=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "atlas-on Flaky F{red}(date)id test\n"), done.stderr
