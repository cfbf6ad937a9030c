"""The promises of scripts/install-editors."""

import subprocess
import sys

import pytest

from support.installed_editors import ALL, PROJECT, installed

pytestmark = pytest.mark.editors


@pytest.mark.parametrize("name", ALL)
def test_an_installed_editor_starts(name: str) -> None:
    words = [installed(name), "-V" if name == "tmux" else "--version"]
    subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=50, check=True)


def test_all_editors_are_said_to_be_there() -> None:
    check = [sys.executable, str(PROJECT / "scripts/install-editors"), "--check"]
    done = subprocess.run(
        check, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8", timeout=50
    )
    if done.returncode != 0:
        pytest.skip(done.stderr)
