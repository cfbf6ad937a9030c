"""The editors that tests drive: the places where `scripts/install-editors` puts them."""

import os
import shutil
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("SESSIOND_EDITORS") or PROJECT / ".cache" / "editors") / "bin"

SYSTEM = ("emacs", "vim", "tmux")
UNPACKED = ("nvim-0.7", "nvim-0.10", "nvim-0.11", "nvim-newest", "emacs-30", "hx")
ALL = (*SYSTEM, *UNPACKED)


def installed(name: str) -> str:
    """The command of an editor. Skips the test if it is missing, which `scripts/check --all` does not accept."""
    found = shutil.which(name if name in SYSTEM else f"{BIN}/{name}")
    if found is None:
        pytest.skip(f"{name} is not here: scripts/install-editors")
    return found
