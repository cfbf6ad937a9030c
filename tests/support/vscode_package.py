"""The extension for VS Code as people install it: the .vsix of this checkout, made once for all tests."""

import os
import subprocess
import sys
from pathlib import Path

from support.installed_editors import PROJECT
from support.installed_workbench import NODE

EXTENSION = PROJECT / "editors/vscode"


def the_package(origin: str = "") -> Path:
    """Returns the .vsix, as a clone of `origin` makes it. The first caller makes it, and other callers wait.

    It is made again when a source has changed.
    """
    remote = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "remote.origin.url",
        "GIT_CONFIG_VALUE_0": origin,
    }
    done = subprocess.run(
        [sys.executable, str(PROJECT / "scripts/build-vscode")],
        env={**os.environ, **remote},
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return Path(done.stdout.splitlines()[-1])


def bundle_host_suite(into: Path) -> Path:
    """Bundle the tests that run inside the extension host (`test/host`) as one file in a folder."""
    suite = into / "suite.cjs"
    options = ["--bundle", "--platform=node", "--format=cjs", "--external:vscode", f"--outfile={suite}"]
    done = subprocess.run(
        [EXTENSION / "node_modules/.bin/esbuild", "test/host/suite.ts", *options],
        cwd=EXTENSION,
        env={**os.environ, "PATH": f"{NODE.parent}:{os.environ['PATH']}"},
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return suite
