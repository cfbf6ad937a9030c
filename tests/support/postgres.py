"""A real PostgreSQL server for tests: Debian's, on a socket in a temporary folder, never as root."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path

from support.patience import BOUND

_USER = "postgres"
_NUMBERS = count(1)


@cache
def programs() -> Path | None:
    """The folder with `initdb` and `postgres`, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("postgres")
    return None if on_path is None else Path(on_path).parent


@dataclass
class Server:
    """A server that a test may stop and start again. Each URL is a database of its own."""

    folder: Path
    user: str
    _as_user: list[str] = field(default_factory=list)
    port: int = 5432
    """The port, which is also part of the name of the socket."""
    address: str = ""
    """The address on which the server listens; empty: only the socket."""

    def new_url(self) -> str:
        """The URL of a new, empty database."""
        name = f"test_{os.getpid()}_{next(_NUMBERS)}"
        self.sql(f"CREATE DATABASE {name}")
        return self.url(name)

    def url(self, database: str, user: str | None = None) -> str:
        return f"postgres://{user or self.user}@/{database}?host={self.folder}&port={self.port}"

    def sql(self, statement: str, database: str = "postgres") -> str:
        """Return the output of psql for a statement, without decoration."""
        command = [
            "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1",
            "-h", str(self.folder), "-p", str(self.port), "-U", self.user, "-d", database, "-c", statement,
        ]  # fmt: skip
        return self._run(command)

    def start(self) -> None:
        options = (
            f"-c unix_socket_directories={self.folder} -c listen_addresses={self.address} -p {self.port}"
        )
        self._run(["pg_ctl", "start", "-w", "-s", "-D", str(self._data), "-l", str(self._log), "-o", options])

    def stop(self, mode: str = "immediate") -> None:
        self._run(["pg_ctl", "stop", "-w", "-s", "-D", str(self._data), "-m", mode])

    def configure(self, text: str) -> None:
        """Add lines to the configuration. They are in force after a start."""
        with (self._data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(text + "\n")

    def authenticate(self, rules: str) -> None:
        """Replace the rules for authentication. They are in force after a start."""
        (self._data / "pg_hba.conf").write_text(rules + "\n", encoding="utf-8")

    def put(self, name: str, data: bytes) -> Path:
        """Write a private file of the server into its folder of data."""
        path = self._data / name
        path.write_bytes(data)
        path.chmod(0o600)
        if self._as_user:
            owner = pwd.getpwnam(_USER)
            os.chown(path, owner.pw_uid, owner.pw_gid)
        return path

    @contextmanager
    def replica(self) -> Iterator["Server"]:
        """A started server that replicates this one, synchronously if this one is configured for it."""
        with tempfile.TemporaryDirectory(prefix="pg-", dir="/tmp") as name:
            folder = Path(name)
            if self._as_user:
                owner = pwd.getpwnam(_USER)
                os.chown(folder, owner.pw_uid, owner.pw_gid)
            other = Server(folder, self.user, self._as_user, self.port)
            self._run(
                ["pg_basebackup", "-h", str(self.folder), "-p", str(self.port), "-U", self.user, "-D", str(other._data),
                 "-R", "--checkpoint=fast", "--no-sync"]
            )  # fmt: skip
            other.start()
            try:
                yield other
            finally:
                if (folder / "data" / "postmaster.pid").exists():
                    other.stop()

    def promote(self) -> None:
        """Make a replica the server that takes writes."""
        self._run(["pg_ctl", "promote", "-w", "-s", "-D", str(self._data)])

    def kill(self) -> None:
        """Kill the server and all its processes, and wait until they have ended."""
        pid = int((self._data / "postmaster.pid").read_text("utf-8").split()[0])
        children = subprocess.run(
            ["pgrep", "-P", str(pid)], capture_output=True, encoding="utf-8", check=False
        ).stdout
        killed = [pid, *map(int, children.split())]
        for each in killed:
            _kill(each)
        deadline = time.monotonic() + BOUND
        while not all(map(_is_dead, killed)):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        # If no process waits for orphaned processes, their ids stay in use, and the server would not start.
        for name in ("data/postmaster.pid", f".s.PGSQL.{self.port}.lock"):
            (self.folder / name).unlink(missing_ok=True)

    @property
    def log(self) -> str:
        return self._log.read_text("utf-8", errors="replace")

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def _log(self) -> Path:
        return self.folder / "log"

    def _run(self, command: list[str]) -> str:
        folder = programs()
        assert folder is not None
        output = (
            subprocess.DEVNULL if command[0] == "pg_ctl" else subprocess.PIPE
        )  # the server would keep a pipe open
        done = subprocess.run(
            [*self._as_user, str(folder / command[0]), *command[1:]],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, encoding="utf-8",
            cwd=self.folder, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (command, done.stderr)
        return (done.stdout or "").strip()

    def initialize(self, *, syncs: bool) -> None:
        self._run(
            [
                "initdb", "-D", str(self._data), "-U", self.user, "-A", "trust", "-E", "UTF8", "--locale=C",
                "--no-instructions", "--no-sync",
            ]
        )  # fmt: skip
        with (self._data / "postgresql.conf").open("a", encoding="utf-8") as file:
            # Without syncing, only a crash of the machine would lose data.
            fsync = "on" if syncs else "off"
            file.write(f"shared_buffers = 32MB\nmax_connections = 60\nautovacuum = off\nfsync = {fsync}\n")


@contextmanager
def running_server(*, syncs: bool = False) -> Iterator[Server]:
    """A server that ends with the block. With `syncs`, a commit waits for the disk."""
    with tempfile.TemporaryDirectory(prefix="pg-", dir="/tmp") as name:  # a short path, for the socket
        folder, as_user = Path(name), []
        if os.geteuid() == 0:
            owner = pwd.getpwnam(_USER)
            os.chown(folder, owner.pw_uid, owner.pw_gid)
            as_user = ["setpriv", f"--reuid={_USER}", f"--regid={owner.pw_gid}", "--clear-groups"]
        server = Server(folder, "tester", as_user)
        server.initialize(syncs=syncs)
        server.start()
        try:
            yield server
        finally:
            if (folder / "data" / "postmaster.pid").exists():
                server.stop()


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _is_dead(pid: int) -> bool:
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text("utf-8")
    except OSError:
        return True
