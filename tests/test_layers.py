"""The rooms import each other in one direction only; pyproject.toml says which."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_rooms_keep_their_direction() -> None:
    # In a process of its own, because import-linter keeps what it has seen.
    lint = Path(sys.executable).with_name("lint-imports")

    done = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, encoding="utf-8")

    assert done.returncode == 0, done.stdout
