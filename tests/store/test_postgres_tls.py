"""TLS and passwords as libpq knows them, against a real server."""

import os
import socket
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from sessiond.store.errors import StoreUnreachable
from sessiond.store.postgres.store import PostgresStore
from support.postgres import Server, running_server
from support.stores import HEADER, content, new_log
from support.waiting import until

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

PASSWORD = "hunter2-and-more"


@dataclass(frozen=True)
class Authority:
    """A certificate authority in a folder."""

    folder: Path

    @property
    def certificate(self) -> Path:
        return self.folder / "ca.crt"

    @classmethod
    def make(cls, folder: Path) -> "Authority":
        folder.mkdir()
        made = cls(folder)
        made._openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=authority",
                      "-keyout", "ca.key", "-out", "ca.crt")  # fmt: skip
        return made

    def issue(self, name: str) -> tuple[bytes, bytes]:
        """The certificate of a host, and its key."""
        (self.folder / "extensions").write_text(f"subjectAltName=DNS:{name}\n", encoding="utf-8")
        self._openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}",
                      "-keyout", "host.key", "-out", "host.csr")  # fmt: skip
        self._openssl("x509", "-req", "-in", "host.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
                      "-days", "2", "-extfile", "extensions", "-out", "host.crt")  # fmt: skip
        return (self.folder / "host.crt").read_bytes(), (self.folder / "host.key").read_bytes()

    def _openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)


@dataclass(frozen=True)
class SecureServer:
    """A server on a TCP port with a certificate for `localhost`, where `ada` logs in with a password."""

    server: Server
    authority: Authority
    database: str

    def url(self, options: str = "", *, host: str = "localhost", user: str = "ada") -> str:
        return f"postgres://{user}@{host}:{self.server.port}/{self.database}?{options}"


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureServer]:
    authority = Authority.make(tmp_path_factory.mktemp("tls") / "authority")
    certificate, key = authority.issue("localhost")
    with running_server() as server:
        database = server.new_url().partition("?")[0].rpartition("/")[2]
        server.sql(f"CREATE ROLE ada LOGIN PASSWORD '{PASSWORD}'")
        server.sql(f"GRANT CREATE ON DATABASE {database} TO ada")
        server.stop("fast")
        server.put("server.crt", certificate)
        server.put("server.key", key)
        server.configure("ssl = on")
        server.authenticate("local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256")
        server.address, server.port = "127.0.0.1", _free_port()
        server.start()
        yield SecureServer(server, authority, database)


@pytest.fixture
def passwords(secure: SecureServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of passwords, as only its owner may read it."""
    for name in list(os.environ):
        if name.startswith("PG"):
            monkeypatch.delenv(name)
    file = tmp_path / "passwords"
    file.write_text(f"localhost:{secure.server.port}:*:ada:{PASSWORD}\n", encoding="utf-8")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    return file


async def works(url: str, state: Path) -> None:
    """A session can be stored and read."""
    store = PostgresStore(url, state)
    await store.start()
    try:
        log = await new_log(store, f"session-{state.name}")
        assert content(log) == HEADER
        await log.close()
    finally:
        await store.close()


async def refusal(url: str, state: Path) -> str:
    store = PostgresStore(url, state)
    await store.start()
    try:
        with pytest.raises(StoreUnreachable) as raised:
            await store.list()
        return str(raised.value)
    finally:
        await store.close()
        await until(lambda: not connections_to(url))


def connections_to(url: str) -> list[str]:
    """The connections to a server on this machine that a process still has open, as the kernel lists them."""
    port = urlsplit(url).port
    assert port is not None
    rows = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    return [row[1] for row in rows if int(row[2].rpartition(":")[2], 16) == port and row[9] != "0"]


async def test_a_certificate_is_verified_with_its_name(
    secure: SecureServer, passwords: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = secure.authority.certificate
    await works(secure.url(f"sslmode=verify-full&sslrootcert={certificate}"), tmp_path / "a")
    monkeypatch.setenv("PGSSLROOTCERT", str(certificate))
    monkeypatch.setenv("PGSSLMODE", "verify-full")
    await works(secure.url(), tmp_path / "b")


async def test_a_service_of_libpq_is_found(
    secure: SecureServer, passwords: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "services"
    file.write_text(
        f"[sessions]\nhost=localhost\nport={secure.server.port}\nuser=ada\ndbname={secure.database}\n"
        f"sslmode=require\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PGSERVICEFILE", str(file))
    await works("postgres://?service=sessions", tmp_path / "service")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"host": "127.0.0.1"}, "certificate"),
        ({"authority": "another"}, "certificate"),
        ({"password": "not-the-one"}, "refused the login"),
        ({"password": ""}, "refused the login"),
        ({"sslmode": "disable"}, "refused the login"),
    ],
)
async def test_a_connection_that_is_not_what_was_asked_for_is_refused(
    wrong: Mapping[str, str],
    said: str,
    secure: SecureServer,
    passwords: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    authority = secure.authority
    if "authority" in wrong:
        authority = Authority.make(tmp_path / "another")
    if "password" in wrong:
        line = f"localhost:{secure.server.port}:*:ada:{wrong['password']}\n" if wrong["password"] else ""
        passwords.write_text(line, encoding="utf-8")
    if "host" in wrong:
        passwords.write_text(f"127.0.0.1:*:*:ada:{PASSWORD}\n", encoding="utf-8")
    options = f"sslmode={wrong.get('sslmode', 'verify-full')}&sslrootcert={authority.certificate}"
    told = await refusal(secure.url(options, host=wrong.get("host", "localhost")), tmp_path / "state")
    assert said in told
    assert PASSWORD not in told + caplog.text
    assert "not-the-one" not in told + caplog.text


async def test_a_server_without_tls_is_refused_where_it_is_required(
    secure: SecureServer, passwords: Path, tmp_path: Path
) -> None:
    with running_server() as plain:
        plain.stop("fast")
        plain.address, plain.port = "127.0.0.1", _free_port()
        plain.start()
        url = f"postgres://{plain.user}@localhost:{plain.port}/postgres?sslmode=require"
        assert "offers no TLS" in await refusal(url, tmp_path / "state")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
