"""daemon/client.md has every public name of the Python client, in the words of its docstrings."""

import re
import subprocess
import sys
from pathlib import Path

import sessiond.client
from sessiond.client.agent import AgentSession
from sessiond.client.blocking import BlockingDaemon
from sessiond.client.daemon import Daemon

ROOT = Path(__file__).resolve().parents[2]


def test_the_reference_is_as_the_code_is() -> None:
    command = [sys.executable, str(ROOT / "scripts/gen_client.py"), "--check"]

    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)

    assert done.returncode == 0, done.stderr


def test_the_reference_has_every_public_name_and_every_method_of_a_client() -> None:
    page = (ROOT / "daemon/client.md").read_text(encoding="utf-8")
    headings = set(re.findall(r"^#{3,4} (\S+)$", page, re.MULTILINE))
    methods = {
        f"{client.__name__}.{name}"
        for client in (Daemon, AgentSession, BlockingDaemon)
        for name in dir(client)
        if not name.startswith("_")
    }

    assert {*sessiond.client.__all__, *methods} - headings == set()
