"""The extension for VS Code as people install it: the .vsix of this checkout, made once however many tests want it."""

import subprocess
import sys
from pathlib import Path

from support.installed_editors import PROJECT

EXTENSION = PROJECT / "editors/vscode"


def the_package() -> Path:
    """The .vsix. Whoever asks first makes it, the others wait; it is made anew when a source has changed."""
    done = subprocess.run(
        [sys.executable, str(PROJECT / "scripts/build-vscode")],
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return Path(done.stdout.splitlines()[-1])
