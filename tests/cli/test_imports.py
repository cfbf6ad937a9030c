"""A command loads only what it needs: modules cost more than the round trip (decision 0031)."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import a_shell

TOO_DEAR = {
    "argparse", "asyncio", "ast", "concurrent.futures", "dataclasses", "difflib", "importlib.metadata",
    "inspect", "logging", "lsprotocol", "msgspec", "pathlib", "platformdirs", "pygls", "shutil", "sqlite3",
    "rich", "subprocess", "tempfile", "textual", "typing", "unicodedata", "uuid",
}  # fmt: skip


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
def test_a_command_does_not_load_what_takes_longer_than_its_work(words: list[str], tmp_path: Path) -> None:
    with a_shell(tmp_path) as shell:
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
            cwd=tmp_path,
            env=shell.environment(),
        )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stderr.splitlines()[-1].split())
    assert "sessiond.client.wire" in loaded
    assert loaded & TOO_DEAR == set()
    loaded -= {"sessiond.protocol", "sessiond.protocol.versions"}  # two numbers
    assert not {
        name for name in loaded if name.startswith(("sessiond.server", "sessiond.hub", "sessiond.protocol"))
    }


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
