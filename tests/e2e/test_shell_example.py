"""The example of protocol.md that needs no library, run by a shell."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import a_shell
from support.homes import environment

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]

NC = """
import socket, sys
assert sys.argv[1:3] == ["-N", "-U"], sys.argv
with socket.socket(socket.AF_UNIX) as sock:
    sock.connect(sys.argv[3])
    sock.sendall(sys.stdin.buffer.read())
    sock.shutdown(socket.SHUT_WR)
    while chunk := sock.recv(65536):
        sys.stdout.buffer.write(chunk)
"""
"""`nc` of OpenBSD, as far as the example needs it: not every machine has one."""


@pytest.mark.parametrize("home", ["h", "with a space", "deep/" * 30])
def test_the_example_without_a_library_prints_the_response_and_ends(tmp_path: Path, home: str) -> None:
    text = (ROOT / "protocol.md").read_text(encoding="utf-8")
    [example] = re.findall(r"^```sh\n(printf .*? \| nc .*?)^```$", text, re.MULTILINE | re.DOTALL)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, call in (("nc", f"-c '{NC}'"), ("sessiond", "-m sessiond")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {call} "$@"\n', encoding="utf-8")
        program.chmod(0o700)
    folder = tmp_path / home
    folder.mkdir(parents=True, exist_ok=True)
    with a_shell(folder) as shell:
        variables = environment(
            shell.locations, SESSIOND_HOME=str(folder), PATH=f"{programs}:{os.environ['PATH']}"
        )
        subprocess.run(
            [programs / "sessiond", "serve", "--detach"], env=variables, check=True, capture_output=True
        )
        ran = subprocess.run(
            ["/bin/sh", "-c", example], env=variables, capture_output=True, encoding="utf-8", timeout=60
        )
        subprocess.run([programs / "sessiond", "stop"], env=variables, check=True, capture_output=True)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert ran.stdout.startswith('{"jsonrpc":"2.0","id":1,"result":{"version":')
