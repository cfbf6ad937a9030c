"""A sync over a real ssh and a real sshd on the loopback interface."""

import getpass
import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.commands import Shell
from support.cut import CUT
from support.homes import a_home

pytestmark = pytest.mark.system


@dataclass(frozen=True)
class SshServer:
    """An sshd, and how its keys reach a client."""

    folder: Path
    port: int

    def ssh(self, *, known_hosts: str = "known_hosts") -> str:
        """A folder for the PATH with an `ssh` that is the real one, and knows the host `devbox`."""
        folder = self.folder / known_hosts.partition("_")[0]
        folder.mkdir(exist_ok=True)
        (folder / "config").write_text(
            f"Host devbox\n HostName 127.0.0.1\n Port {self.port}\n User {getpass.getuser()}\n"
            f" IdentityFile {self.folder}/client\n BatchMode yes\n StrictHostKeyChecking yes\n"
            f" UserKnownHostsFile {self.folder}/{known_hosts}\n",
            encoding="utf-8",
        )
        program = folder / "ssh"
        real = shutil.which("ssh", path="/usr/local/bin:/usr/bin")
        program.write_text(f'#!/bin/sh\nexec {real} -F {folder}/config "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        return f"{folder}:{os.environ['PATH']}"

    def install(self, script: str) -> None:
        """Make this script the sessiond of the other machine."""
        program = self.folder / "there/sessiond"
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SshServer]:
    """An sshd whose sessions have a home of their own, and the sessiond of these tests in their PATH."""
    sshd = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
    if sshd is None or os.getuid() != 0:
        pytest.skip("needs root and openssh-server")
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    for name in ("host", "client"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    shutil.copy(tmp_path / "client.pub", tmp_path / "authorized_keys")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for name, key in (("known_hosts", "host.pub"), ("wrong_hosts", "client.pub")):
        text = (tmp_path / key).read_text(encoding="utf-8")
        (tmp_path / name).write_text(f"[127.0.0.1]:{port} {text}", encoding="utf-8")
    (tmp_path / "there").mkdir()
    with a_home() as home:
        path = f"{tmp_path}/there:{Path(sys.executable).parent}:/usr/bin:/bin"
        (tmp_path / "sshd_config").write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path}/host\nStrictModes no\nUsePAM no\n"
            f"AuthorizedKeysFile {tmp_path}/authorized_keys\nPermitRootLogin yes\nPidFile none\n"
            f"SetEnv SESSIOND_HOME={home.home} PATH={path}\n",
            encoding="utf-8",
        )
        with subprocess.Popen(
            [sshd, "-D", "-e", "-f", tmp_path / "sshd_config"], stderr=subprocess.PIPE
        ) as process:
            assert process.stderr is not None
            assert b"listening" in process.stderr.readline()
            try:
                yield SshServer(tmp_path, port)
            finally:
                process.terminate()


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A terminal of this machine, with one session."""
    with a_home() as home:
        shell = Shell(home, tmp_path)
        shell("new", "--id", "session-one")
        shell("append", "session-one", "--user", "hello", "--assistant", "hi")
        yield shell


def test_sessions_travel_to_a_host_and_then_nothing_is_new(server: SshServer, shell: Shell) -> None:
    path = server.ssh()
    assert shell("sync", "devbox", PATH=path).out.startswith("Sent 2 lines, 1 new session")
    assert shell("sync", "devbox", "--json", PATH=path).json["unchangedCount"] == 1


def test_a_wrong_host_key_is_explained(server: SshServer, shell: Shell) -> None:
    refused = shell.run("sync", "devbox", PATH=server.ssh(known_hosts="wrong_hosts"))
    assert (refused.code, "ssh failed: Host key verification failed" in refused.err) == (69, True)


def test_a_host_without_sessiond_is_explained(server: SshServer, shell: Shell) -> None:
    server.install("exec no-such-sessiond")
    absent = shell.run("sync", "devbox", PATH=server.ssh())
    assert (absent.code, "no sessiond in its PATH" in absent.err) == (69, True)


def test_a_host_with_another_version_is_explained(server: SshServer, shell: Shell) -> None:
    error = {"code": 1400, "message": "This daemon speaks version 9.",
             "data": {"kind": "unsupportedVersion", "retryable": False, "details": None}}  # fmt: skip
    (server.folder / "version_nine.py").write_text(
        "import json, re, sys\n"
        "head = b''\n"
        "while not head.endswith(b'\\r\\n\\r\\n'): head += sys.stdin.buffer.read(1)\n"
        "asked = json.loads(sys.stdin.buffer.read(int(re.search(rb'\\d+', head)[0])))\n"
        f"reply = json.dumps({{'jsonrpc': '2.0', 'id': asked['id'], 'error': {error!r}}})\n"
        "sys.stdout.write(f'Content-Length: {len(reply)}\\r\\n\\r\\n{reply}')\n"
        "sys.stdout.flush(); sys.stdin.read()\n",
        encoding="utf-8",
    )
    server.install(f"exec {sys.executable} {server.folder}/version_nine.py")
    other = shell.run("sync", "devbox", PATH=server.ssh())
    assert (other.code, "version 9" in other.err, "Update" in other.err) == (69, True, True)


def test_a_cut_in_mid_stream_is_explained_and_the_next_sync_completes_it(
    server: SshServer, shell: Shell
) -> None:
    shell("append", "session-one", "--user", "x" * 100_000)
    cut_off = shlex.join([sys.executable, "-c", CUT, "60000", sys.executable, "-m", "sessiond"])
    server.install(f'exec {cut_off} "$@"')
    cut = shell.run("sync", "devbox", PATH=server.ssh())
    assert (cut.code, "devbox" in cut.err) == (69, True)
    (server.folder / "there/sessiond").unlink()
    assert shell("sync", "devbox", PATH=server.ssh()).out.startswith("Sent 3 lines, 1 new session")
    assert "Nothing to do" in shell("sync", "devbox", PATH=server.ssh()).out
