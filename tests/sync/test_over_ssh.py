"""A sync over a real ssh and a real sshd on the loopback interface."""

import getpass
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.commands import Shell
from support.homes import a_home

pytestmark = pytest.mark.system


@dataclass(frozen=True)
class SshServer:
    """An sshd, and how its keys reach a client."""

    folder: Path
    port: int

    def command(self, program: str = "sessiond", known_hosts: str = "known_hosts") -> str:
        """The command that attaches to the daemon behind it."""
        return (
            f"ssh -T -F none -p {self.port} -i {self.folder}/client -o BatchMode=yes -o StrictHostKeyChecking=yes"
            f" -o UserKnownHostsFile={self.folder}/{known_hosts} {getpass.getuser()}@127.0.0.1 {program} attach --stdio"
        )


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
    with a_home() as home:
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
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


def test_sessions_travel_over_ssh_and_each_failure_of_it_is_explained(
    server: SshServer, tmp_path: Path
) -> None:
    with a_home() as home:
        shell = Shell(home, tmp_path)
        shell("new", "--id", "session-one")
        shell("append", "session-one", "--user", "hello", "--assistant", "hi")
        assert shell("sync", "--via", server.command()).out.startswith("Sent 2 lines, 1 new session")
        assert shell("sync", "--via", server.command(), "--json").json["unchangedCount"] == 1
        wrong_key = shell.run("sync", "--via", server.command(known_hosts="wrong_hosts"))
        assert (wrong_key.code, "ssh failed: Host key verification failed" in wrong_key.err) == (69, True)
        absent = shell.run("sync", "--via", server.command("no-such-sessiond"))
        assert (absent.code, "no sessiond in its PATH" in absent.err) == (69, True)
