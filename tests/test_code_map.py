"""The code map of daemon/ARCHITECTURE.md names every file that there is, in the words of the file."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_code_map_is_as_the_code_is() -> None:
    command = [sys.executable, str(ROOT / "scripts/gen_code_map.py"), "--check"]

    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)

    assert done.returncode == 0, done.stderr
