"""A command ends with its terminal, and at a SIGTERM, whatever it waits for, and leaves no process of its own."""

import contextlib
import dataclasses
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessiond.cli.table.index import all_commands
from support.closing_terminals import Terminal, a_terminal, until_quiet
from support.commands import Shell, a_shell
from support.homes import a_home, sessiond, wait_until
from support.panes import Panes, some_panes
from support.processes import runs

AGENT = [sys.executable, "-m", "support.scripted_acp_agent"]
TESTS = Path(__file__).parents[1]
WITHIN = 15.0
"""Seconds. A program that is told to end has two on a machine that does nothing else."""


@dataclasses.dataclass(frozen=True)
class Wait:
    """A way in which a command waits, and how it gets there."""

    words: str
    """`{there}` is a command line that connects to another daemon, `{agent}` one that runs an agent of ACP."""
    steps: tuple[tuple[str, str], ...]
    """Patterns of the screen, each with the keys that are typed once it is seen. Then the wait begins."""
    settings: dict[str, str] = dataclasses.field(default_factory=dict)
    reads_terminal: bool = True
    """Whether the end of the terminal is noticed also where SIGHUP is ignored. Others go on, as nohup promises."""
    has_daemon: bool = True
    """Whether a daemon runs already."""
    needs: str = "sessiond"
    """The package that it imports."""


def seen(*patterns: str) -> tuple[tuple[str, str], ...]:
    return tuple((pattern, "") for pattern in patterns)


WAITS = {
    "top": Wait("top", seen("The parser")),
    "top, viewing": Wait("top", (("The parser", "\r"), ("Why", ""))),
    "top, viewing, in an editor": Wait(
        "top", (("The parser", "\r"), ("Why", "e"), ("It waits", "")), {"EDITOR": "sh -c 'cat $0; cat'"}
    ),
    "top, viewing, help": Wait("top", (("The parser", "\r"), ("Why", "?"), ("to the next branch", ""))),
    "tree -i": Wait("tree -i session-one", seen("Why")),
    "tree -i, reading": Wait(
        "tree -i session-one", (("Why", "e"), ("Waiting for data", "")), {"PAGER": "less +F"}
    ),
    "tree -i, choosing": Wait("tree -i session-one", (("Why", "o"), ("The parser", ""))),
    "tree -i, asking": Wait("tree -i session-one", (("Why", "k"), ("Why", "b"), ("y/n", ""))),
    "choosing on the whole screen": Wait("resume", seen("Session to resume")),
    "choosing from numbers": Wait("resume", seen("Number of the session"), {"TERM": "dumb"}),
    "asking about a folder": Wait("new --cwd /not/there", seen("anyway")),
    "setup": Wait("setup", seen("Do this")),
    "asking for a passphrase": Wait("bundle all.bundle --passphrase", seen("Passphrase"), needs="pyrage"),
    "a page": Wait("schema", seen(r"\S"), {"PAGER": "less"}),
    "a page that is a pipeline": Wait("schema", seen(r"\S"), {"PAGER": "cat | less"}),
    "append": Wait("append session-one --stdin", ()),
    "rpc": Wait("rpc session/info -", ()),
    "watch": Wait("watch session-one", seen("Watching"), reads_terminal=False),
    "view": Wait("view session-one --no-open", seen("Ctrl-C stops"), reads_terminal=False),
    "sync --watch": Wait("sync --watch --via {there}", seen("In touch"), reads_terminal=False),
    "attach": Wait("attach --stdio", ()),
    "mcp": Wait("mcp", ()),
    "acp": Wait("acp --agent gemini -- {agent}", ()),
    "serve": Wait("serve", seen("listens at"), reads_terminal=False, has_daemon=False),
    "serve --stdio": Wait("serve --stdio", seen("listens at"), has_daemon=False),
    "import": Wait("import transcripts", seen("transcripts|[0-9]"), reads_terminal=False),
}
RETURN = {
    "continue", "list", "search", "recall", "usage", "history", "show", "fork", "rename", "tag", "move",
    "branch", "diff", "label", "context", "compact", "configure", "stats", "state", "delete", "restore", "trash",
    "cleanup", "purge", "blobs", "status", "clients", "stop", "restart", "doctor", "install-service",
    "uninstall-service", "agents", "backup", "move-store", "hook", "export", "redact", "completion", "terminal",
    "storage", "verify", "unpack", "forget",
}  # fmt: skip
"""Commands that send requests and return. They wait for a user in no other way than the commands of `WAITS`."""


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("folder")
    with a_shell(folder) as made:
        made("new", "--id", "session-one", "--title", "The parser")
        made("append", "session-one", "--user", "Why?", "--assistant", "It waits.")
        (folder / ".codex/sessions").mkdir(parents=True)
        claude = (TESTS / "data/dialects/claude-code.jsonl").read_bytes()
        (folder / "transcripts").mkdir()
        for number in range(300):
            (folder / f"transcripts/{number}.jsonl").write_bytes(claude)
        yield made


@pytest.fixture
def wait(request: pytest.FixtureRequest) -> Wait:
    return WAITS[request.param]


def test_every_command_is_known_to_wait_or_to_return() -> None:
    waiting = {item.words.split()[0] for item in WAITS.values()}
    assert waiting | RETURN == set(all_commands()), (
        "how does the new command end? It belongs to WAITS or RETURN"
    )
    assert not waiting & RETURN


@pytest.mark.slow
@pytest.mark.parametrize("wait", WAITS, indirect=True)
def test_it_ends_with_its_terminal(shell: Shell, wait: Wait) -> None:
    with _waiting(shell, wait) as terminal:
        terminal.close()
        _ends(terminal)


@pytest.mark.slow
@pytest.mark.parametrize("wait", [name for name, item in WAITS.items() if item.reads_terminal], indirect=True)
def test_it_ends_at_the_end_of_its_input_if_hangups_are_ignored(shell: Shell, wait: Wait) -> None:
    with _waiting(shell, wait, ignores_hangup=True) as terminal:
        terminal.close()
        _ends(terminal)


@pytest.mark.slow
@pytest.mark.parametrize("wait", WAITS, indirect=True)
def test_it_ends_when_it_is_told_to(shell: Shell, wait: Wait) -> None:
    with _waiting(shell, wait) as terminal:
        os.kill(terminal.leader, signal.SIGTERM)
        wait_until(terminal.has_ended, WITHIN)
        terminal.close()
        _ends(terminal)


@contextlib.contextmanager
def _waiting(shell: Shell, wait: Wait, *, ignores_hangup: bool = False) -> Iterator[Terminal]:
    """A command that waits in this way, on a terminal of its own."""
    pytest.importorskip(wait.needs)
    with a_home() as other:
        there = shlex.join(["env", f"SESSIOND_HOME={other.home}", *sessiond("attach", "--stdio")])
        words = shlex.split(wait.words.format(there=shlex.quote(there), agent=shlex.join(AGENT)))
        settings = {
            "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "HOME": str(shell.folder), "PYTHONPATH": str(TESTS),
            **wait.settings,
        }  # fmt: skip
        if not wait.has_daemon:
            settings["SESSIOND_HOME"] = str(other.home)
        with a_terminal(
            sessiond(*words), shell.environment(**settings), shell.folder, ignores_hangup=ignores_hangup
        ) as terminal:
            for drawn, typed in wait.steps:
                terminal.until(drawn)
                terminal.type(typed)
            if not wait.steps or wait.steps[-1][1]:
                until_quiet(terminal.leader)
            yield terminal


def _ends(terminal: Terminal) -> None:
    try:
        wait_until(lambda: not terminal.left(), WITHIN)
    except AssertionError:
        raise AssertionError(f"it goes on: {terminal.left()}") from None


@pytest.mark.system
def test_a_pane_takes_with_it_what_was_typed_there(shell: Shell) -> None:
    with some_panes(shell) as panes:
        panes.new()  # tmux ends with its last pane
        for words in ("top", "tree -i session-one", "watch session-one", "mcp"):
            _closed_while_it_waits(panes, words)


def _closed_while_it_waits(panes: Panes, words: str) -> None:
    pane, written = panes.new(), panes.folder / f"pid-{next(panes.numbers)}"
    begin = f'echo $$ >{written}.part; mv {written}.part {written}; exec "$@"'
    pane.type(shlex.join(["sh", "-c", begin, "sh", *sessiond(*words.split())]))
    wait_until(written.exists)
    process = int(written.read_text(encoding="ascii"))
    until_quiet(process)
    pane.close()
    wait_until(lambda: not runs(process), WITHIN)
