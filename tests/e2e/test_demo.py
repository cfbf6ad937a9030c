"""The demonstration that a new user sees first tells the truth."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
def test_every_claim_of_the_demonstration_holds(tmp_path: Path) -> None:
    environment = {**os.environ, "SESSIOND_PYTHON": sys.executable, "TMPDIR": str(tmp_path)}

    done = subprocess.run(
        [ROOT / "scripts/demo"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert list(tmp_path.iterdir()) == []
