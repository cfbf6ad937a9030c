"""A command loads only what it needs: modules cost more than the round trip (decision 0031)."""

import subprocess
import sys

import pytest

from support.commands import Shell

TOO_SLOW = {
    "argparse", "asyncio", "ast", "concurrent.futures", "dataclasses", "difflib", "importlib.metadata",
    "inspect", "logging", "lsprotocol", "msgspec", "pathlib", "platformdirs", "pygls", "shutil", "sqlite3",
    "rich", "subprocess", "tempfile", "textual", "typing", "unicodedata", "uuid",
}  # fmt: skip

HALF_A_START = {
    "collections", "contextlib", "datetime", "enum", "functools", "importlib", "json", "re", "selectors", "socket",
    "warnings",
}  # fmt: skip
"""Together they take as long as an empty Python program; commands that only read and print need none of them."""

LIST_MODULES = 37
"""The modules of sessiond that `list` may load; each takes about a hundredth of a Python start. One of them tells rows
apart that look the same, and one has the names of the formats."""


def modules_of(words: list[str], shell: Shell) -> set[str]:
    """The modules that a successful command has loaded, for a session with two messages."""
    shell("append", shell("new").lines[0], "--user", "hello", "--assistant", "hello")
    program = (
        "import sys; from sessiond.cli.main import run; code = run(sys.argv[1:])\n"
        "print(*sys.modules, file=sys.stderr); sys.exit(code)"
    )
    # -S: what the site packages of this machine load at the start is not ours.
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{program}", *words],
        capture_output=True,
        encoding="utf-8",
        cwd=shell.folder,
        env=shell.environment(),
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    "words",
    [
        ["status"],
        ["list", "--all"],
        ["continue"],
        ["new"],
        ["append", "--user", "hello"],
        ["show"],
        ["tree"],
        ["stats"],
        ["state"],
        ["context"],
        ["context", "--explain"],
        ["compact", "--dry-run", "--keep-recent", "1"],
        ["compact", "--summary", "hello", "--keep-recent", "1"],
        ["branch", "root"],
        ["branch", "root", "--dry-run"],
        ["configure"],
    ],
)
def test_a_command_does_not_load_what_takes_longer_than_its_work(words: list[str], shell: Shell) -> None:
    loaded = modules_of(words, shell)
    assert "sessiond.client.wire" in loaded
    assert loaded & TOO_SLOW == set()
    loaded -= {"sessiond.protocol", "sessiond.protocol.versions"}  # two numbers
    assert not {
        name for name in loaded if name.startswith(("sessiond.server", "sessiond.hub", "sessiond.protocol"))
    }


@pytest.mark.parametrize(
    "words", [["status"], ["list", "--all"], ["continue"], ["new"], ["show"], ["tree"], ["stats"], ["state"]]
)
def test_a_command_that_reads_and_prints_loads_almost_only_its_own_modules(
    words: list[str], shell: Shell
) -> None:
    assert modules_of(words, shell) & HALF_A_START == set()


def test_a_list_loads_few_modules(fresh: Shell) -> None:
    fresh("list")  # it starts the daemon
    own = {name for name in modules_of(["list", "--all"], fresh) if name.split(".")[0] == "sessiond"}
    assert {name for name in own if name.startswith("sessiond.cli.table.")} == {
        "sessiond.cli.table.index", "sessiond.cli.table.options", "sessiond.cli.table.sessions"
    }  # fmt: skip
    assert len(own) <= LIST_MODULES, sorted(own)


def test_importing_the_client_package_loads_neither_client() -> None:
    program = "import sys, sessiond.client; print('asyncio' in sys.modules, 'msgspec' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.split() == ["False", "False"]


def test_connect_is_the_function_however_its_module_was_imported() -> None:
    program = (
        "import sessiond.client.dial, sessiond.client.blocking\n"
        "from sessiond.client import connect, connect_blocking\n"
        "from sessiond.client.dial import connect as way\n"
        "print(callable(connect), connect is not way, callable(connect_blocking))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.split() == ["True", "True", "True"]


def test_the_browser_of_a_tree_imports_the_asynchronous_client_after_its_first_picture() -> None:
    program = "import sys, sessiond.tui.app; print('sessiond.client.daemon' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.split() == ["False"]
