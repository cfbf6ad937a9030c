"""The TCP listener: shut by default, on this machine only, and only for who has the token."""

import asyncio
import errno
import json  # noqa: TID251 - what a stranger would send
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessiond.client import connect as connect_async
from sessiond.client.blocking import connect
from sessiond.client.daemon_socket import DaemonConnectionError, read_endpoint
from sessiond.client.wire import MessageReader, frame
from sessiond.config import InvalidConfigError, read
from sessiond.paths import Locations, make_private
from sessiond.rpc.tcp_peer import user_of_peer
from sessiond.server.listeners import tcp
from sessiond.server.listeners.token import BadToken, token_matches, token_of
from support.disk import Disk
from support.homes import a_home, environment, sessiond, wait_until
from support.patience import BOUND
from support.waiting import until


def with_a_listener(locations: Locations) -> str:
    """Have a daemon with a TCP listener; its address."""
    make_private(locations.config)
    Path(locations.config_file).write_text('[listen]\ntcp = "127.0.0.1:0"\n', encoding="utf-8")
    with connect(locations=locations) as client:
        address = client.call("server/status")["tcp"]
    assert address == read_endpoint(locations)["tcp"]
    return str(address)


@pytest.fixture(scope="module")
def listener() -> Iterator[tuple[Locations, str]]:
    with a_home() as locations:
        yield locations, with_a_listener(locations)


def open_connection(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=BOUND)


def all_of(sock: socket.socket) -> bytes:
    said = b""
    try:
        while piece := sock.recv(4096):
            said += piece
    except ConnectionError:
        pass
    return said


def request(method: str, **params: object) -> bytes:
    return frame({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def initialize(**options: object) -> bytes:
    ours = {"protocolVersions": [1], **options}
    return request("initialize", capabilities={}, initializationOptions={"sessiond": ours})


def token(locations: Locations) -> str:
    return Path(locations.tcp_token).read_text(encoding="ascii").strip()


def test_there_is_no_listener_unless_somebody_wants_one() -> None:
    with a_home() as locations, connect(locations=locations) as client:
        assert client.call("server/status").get("tcp") is None
        assert not Path(locations.tcp_token).exists()


def test_the_token_is_for_its_owner_only_and_in_no_log(listener: tuple[Locations, str]) -> None:
    locations, address = listener
    with open_connection(address) as sock:
        sock.sendall(request("server/authenticate", token="x" * 43))
        all_of(sock)
    assert stat.S_IMODE(Path(locations.tcp_token).stat().st_mode) == 0o600
    log = Path(locations.log).read_text(encoding="utf-8")
    assert token(locations) not in log
    assert "x" * 43 not in log


@pytest.mark.parametrize("json_lines", [False, True])
def test_a_client_that_shows_the_token_first_is_like_any_other(
    listener: tuple[Locations, str], json_lines: bool
) -> None:
    locations, address = listener
    first = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "server/authenticate",
        "params": {"token": token(locations)},
    }
    then = {"jsonrpc": "2.0", "id": 2, "method": "server/clients"}
    with open_connection(address) as sock:
        if json_lines:
            sock.sendall(b"".join(json.dumps(item).encode() + b"\n" for item in (first, then)))
            with sock.makefile("rb") as answers:
                told = [json.loads(answers.readline()) for _ in range(2)]
        else:
            sock.sendall(frame(first) + frame(then))
            reader = MessageReader(sock)
            told = [json.loads(reader.read()) for _ in range(2)]
        assert told[0]["result"] == {}
        assert told[1]["result"]["clients"]


def test_the_token_may_come_byte_by_byte_and_the_greeting_after_it(listener: tuple[Locations, str]) -> None:
    locations, address = listener
    with open_connection(address) as sock:
        for byte in request("server/authenticate", token=token(locations)):
            sock.sendall(bytes([byte]))
        reader = MessageReader(sock)
        assert json.loads(reader.read())["result"] == {}
        sock.sendall(initialize())
        told = json.loads(reader.read())
        assert told["result"]["capabilities"]["experimental"]["sessiond"]["protocolVersion"] == 1


def test_a_token_in_the_greeting_opens_nothing_because_editors_log_their_greeting(
    listener: tuple[Locations, str],
) -> None:
    locations, address = listener
    with open_connection(address) as sock:
        sock.sendall(initialize(token=token(locations)))
        said = all_of(sock)
    assert json.loads(said[said.index(b"{") :])["error"]["data"]["kind"] == "unauthenticated"


@pytest.mark.parametrize(
    "first",
    [
        request("server/status"),
        request("session/list"),
        request("server/authenticate"),
        request("server/authenticate", token=""),
        request("server/authenticate", token="0" * 43),
        request("server/authenticate", token="ä" * 43),
        request("server/authenticate", token=["a"]),
        request("initialize", capabilities={}),
        initialize(),
        initialize(token="0" * 43),
        b'{"jsonrpc":"2.0","id":1,"method":"server/stop"}\n',
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 3\r\n\r\n\xff\xff\xff",
        frame({"jsonrpc": "2.0", "method": "exit"}),
    ],
)
def test_without_the_token_nothing_is_answered_but_that(
    listener: tuple[Locations, str], first: bytes
) -> None:
    locations, address = listener
    with open_connection(address) as sock:
        sock.sendall(first)
        said = all_of(sock)
    body = json.loads(said[said.index(b"{") :])
    assert (body["error"]["code"], body["error"]["data"]["kind"]) == (1401, "unauthenticated")
    with connect(locations=locations) as client:
        client.call("server/status")


@pytest.mark.parametrize(
    "first",
    [
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 80\r\n\r\n" + request("server/stop"),
        b"OPTIONS * HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"X: " + b"y" * 9_000,
    ],
)
def test_a_client_of_another_protocol_is_cut_off_without_a_word(
    listener: tuple[Locations, str], first: bytes
) -> None:
    _, address = listener
    with open_connection(address) as sock:
        try:
            sock.sendall(first)
        except ConnectionError:
            return
        assert all_of(sock) == b""


@pytest.mark.parametrize("first", [b"Content-Length: 65537\r\n\r\n", b'{"' + b"x" * 70_000])
def test_a_first_message_that_is_too_large_is_refused_before_it_has_come(
    listener: tuple[Locations, str], first: bytes
) -> None:
    _, address = listener
    with open_connection(address) as sock:
        sock.sendall(first)
        said = all_of(sock)
    data = json.loads(said[said.index(b"{") :])["error"]["data"]
    assert (data["kind"], data["details"]["limitBytes"]) == ("tooLarge", 65_536)


def test_a_crowd_that_says_nothing_keeps_nobody_out(listener: tuple[Locations, str]) -> None:
    locations, address = listener
    crowd = [open_connection(address) for _ in range(tcp.MAX_UNAUTHENTICATED + 20)]
    with open_connection(address) as sock:
        sock.sendall(request("server/authenticate", token=token(locations)))
        assert json.loads(MessageReader(sock).read())["result"] == {}
    for each in crowd:
        each.close()


class Accepting:
    """A listener in this process, which takes the users of its connections from `users`, in the order of accepting."""

    def __init__(self) -> None:
        self.users: dict[int, int] = {}
        self.came: list[socket.socket] = []
        self._tcp_listener = tcp.TcpListener(
            "127.0.0.1:0",
            "t" * 43,
            lambda client, _said: self.came.append(client),
            user_of=lambda client: self.users.get(client.getpeername()[1]),
        )

    def __enter__(self) -> "Accepting":
        return self

    def __exit__(self, *_: object) -> None:
        self._tcp_listener.close()
        for client in self.came:
            client.close()

    async def open_connection(self, user: int) -> socket.socket:
        """A connection of this user that has begun to speak, and that the listener knows of."""
        sock = socket.socket()
        sock.bind(("127.0.0.1", 0))
        self.users[sock.getsockname()[1]] = user
        host, _, port = self._tcp_listener.address.rpartition(":")
        sock.connect((host, int(port)))
        sock.sendall(b"Content-Le")
        sock.setblocking(False)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return sock

    async def let_in(self, sock: socket.socket) -> None:
        """Show the token, and wait until the listener lets this connection in."""
        before = len(self.came)
        sock.sendall(request("server/authenticate", token="t" * 43).removeprefix(b"Content-Le"))
        await until(lambda: len(self.came) > before)


def has_ended(sock: socket.socket) -> bool:
    """Whether the listener has closed a connection."""
    try:
        return sock.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


async def test_half_open_connections_of_one_user_take_no_place_of_another() -> None:
    with Accepting() as listener:
        slow = await listener.open_connection(user=1)
        crowd = [await listener.open_connection(user=2) for _ in range(3 * tcp.MAX_UNAUTHENTICATED)]
        await listener.let_in(slow)
        ended = [has_ended(item) for item in crowd]
        assert ended.count(False) <= tcp.MAX_UNAUTHENTICATED
        assert ended == sorted(ended, reverse=True)  # the oldest went first
        for each in [slow, *crowd]:
            each.close()


async def test_of_one_user_the_newest_connections_stay() -> None:
    with Accepting() as listener:
        crowd = [await listener.open_connection(user=2) for _ in range(tcp.MAX_UNAUTHENTICATED)]
        newest = await listener.open_connection(user=2)
        await listener.let_in(newest)
        assert has_ended(crowd[0])
        assert not has_ended(crowd[1])
        for each in [newest, *crowd]:
            each.close()


async def test_a_client_that_does_not_show_the_token_in_time_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tcp, "AUTHENTICATION_SECONDS", 0.01)
    with Accepting() as listener, await listener.open_connection(user=1) as slow:
        await until(lambda: has_ended(slow))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the user of a TCP connection")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_user_of_a_connection_from_this_machine_is_known(host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with (
        socket.create_server((host, 0), family=family) as listening,
        socket.create_connection(listening.getsockname()[:2], timeout=BOUND),
    ):
        accepted, _ = listening.accept()
        with accepted:
            assert user_of_peer(accepted) == os.geteuid()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the user of a TCP connection")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_connection_that_its_peer_has_closed_is_nobodys(host: str) -> None:
    """Root would else be charged with the connections that another user opened and closed."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as listening:
        socket.create_connection(listening.getsockname()[:2], timeout=BOUND).close()
        accepted, _ = listening.accept()
        with accepted:
            assert user_of_peer(accepted) is None


async def test_the_clients_of_this_project_come_over_tcp_when_they_are_told_to(
    listener: tuple[Locations, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    locations, address = listener
    with a_home() as elsewhere:
        monkeypatch.setenv("SESSIOND_CONNECT", f"tcp://{address}")
        monkeypatch.setenv("SESSIOND_TOKEN_FILE", locations.tcp_token)
        async with connect_async(locations=elsewhere) as daemon:
            session = (await daemon.create("/w")).session.session_id
            async with daemon.subscribe(session, after=0) as news:
                await daemon.append(session, [{"type": "custom", "customType": "n", "data": 1}])
                assert (await anext(news))["data"] == 1


def test_its_commands_come_over_tcp_too(
    listener: tuple[Locations, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    locations, address = listener
    with a_home() as elsewhere:
        monkeypatch.setenv("SESSIOND_CONNECT", f"tcp://{address}")
        monkeypatch.setenv("SESSIOND_TOKEN_FILE", locations.tcp_token)
        told = subprocess.run(
            sessiond("new"),
            env=environment(elsewhere),
            capture_output=True,
            timeout=BOUND,
            check=False,
        )
        assert told.returncode == 0
        hello = subprocess.run(
            sessiond("attach", "--stdio"), env=environment(elsewhere), input=request("server/status"),
            capture_output=True, timeout=BOUND, check=False,
        )  # fmt: skip
        assert str(locations.home).encode() in hello.stdout
        assert not Path(elsewhere.state).exists()


@pytest.mark.parametrize(
    "address",
    [
        "tcp://10.0.0.1:80",
        "tcp://example.org:7413",
        "tcp://127.example.org:7413",
        "127.0.0.1:7413",
        "tcp://127.0.0.1:x",
        "http://127.0.0.1:1",
    ],
)
def test_the_token_goes_nowhere_but_to_this_machine(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked_for: list[object] = []

    def went_out(there: object, **_: object) -> socket.socket:
        asked_for.append(there)
        raise OSError

    monkeypatch.setattr(socket, "create_connection", went_out)
    monkeypatch.setenv("SESSIOND_CONNECT", address)
    with a_home() as locations:
        make_private(locations.state)
        token_of(locations.tcp_token)
        with pytest.raises(DaemonConnectionError):
            connect(locations=locations)
    assert asked_for == []


def test_a_wrong_token_is_told_to_the_person(
    listener: tuple[Locations, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    locations, address = listener
    monkeypatch.setenv("SESSIOND_CONNECT", f"tcp://{address}")
    wrong = Path(locations.state) / "wrong"
    for text in (None, "z" * 43):
        if text is not None:
            wrong.write_text(text, encoding="ascii")
        monkeypatch.setenv("SESSIOND_TOKEN_FILE", str(wrong))
        with pytest.raises(DaemonConnectionError) as refused:
            connect(locations=locations)
        assert str(wrong) in str(refused.value)


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_token_that_others_may_read_is_none(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "tcp-token"
    said = token_of(str(path))
    assert token_of(str(path)) == said
    path.chmod(mode)
    with pytest.raises(BadToken):
        token_of(str(path))


@pytest.mark.parametrize("kind", ["symlink", "hard link", "short", "folder"])
def test_a_token_file_that_is_not_ours_alone_is_refused_and_left_alone(tmp_path: Path, kind: str) -> None:
    path, other = tmp_path / "tcp-token", tmp_path / "other"
    token_of(str(other))
    match kind:
        case "symlink":
            path.symlink_to(other)
        case "hard link":
            path.hardlink_to(other)
        case "short":
            path.write_text("secret\n", encoding="ascii")
            path.chmod(0o600)
        case _:
            path.mkdir(mode=0o700)
    with pytest.raises(BadToken):
        token_of(str(path))
    assert path.exists()


@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
def test_a_token_is_made_whole_or_not_at_all(tmp_path: Path, call: str) -> None:
    path = tmp_path / "tcp-token"
    disk = Disk()
    disk.refuse(call, 1, error=errno.ENOSPC)
    with pytest.raises(BadToken):
        token_of(str(path), disk.calls)
    assert not path.exists()
    assert token_of(str(path)) == token_of(str(path))


def test_a_token_is_the_same_only_when_it_is() -> None:
    assert token_matches("a" * 43, "a" * 43)
    assert not any(
        token_matches("a" * 43, text) for text in ("", "a", "a" * 42, "a" * 44, "ä" * 43, "\ud800")
    )


@pytest.mark.parametrize(
    "value",
    [
        '"0.0.0.0:7413"',
        '"192.168.1.2:7413"',
        '"127.0.0.1"',
        '"127.0.0.1:99999"',
        "7413",
        '"127.0.0.999:1"',
        "true",
        '"[::]:1"',
    ],
)
def test_only_a_place_on_this_machine_can_be_configured(tmp_path: Path, value: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f"[listen]\ntcp = {value}\n", encoding="utf-8")
    with pytest.raises(InvalidConfigError):
        read(str(path))


@pytest.mark.parametrize(
    ("value", "read_as"), [("false", None), ('"127.0.0.2:0"', "127.0.0.2:0"), ('"[::1]:7413"', "[::1]:7413")]
)
def test_an_address_of_this_machine_or_none_can_be_configured(
    tmp_path: Path, value: str, read_as: str | None
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f"[listen]\ntcp = {value}\n", encoding="utf-8")
    assert read(str(path)).listen.tcp == read_as


def test_a_port_that_is_taken_is_the_reason_that_is_told() -> None:
    with a_home() as locations, socket.create_server(("127.0.0.1", 0)) as taken:
        make_private(locations.config)
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        Path(locations.config_file).write_text(f'[listen]\ntcp = "{address}"\n', encoding="utf-8")
        told = subprocess.run(
            sessiond("serve"), env=environment(locations), capture_output=True, timeout=BOUND, check=False
        )
        assert told.returncode == 73
        assert address.encode() in told.stderr
        assert not Path(locations.socket).exists()


def test_a_client_over_tcp_keeps_the_daemon_and_its_leaving_lets_it_go() -> None:
    with a_home() as locations:
        make_private(locations.config)
        config = Path(locations.config_file)
        config.write_text('[listen]\ntcp = "127.0.0.1:0"\n', encoding="utf-8")
        with subprocess.Popen(
            sessiond("serve"), env=environment(locations), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as daemon:
            wait_until(Path(locations.endpoint).exists, BOUND)
            with open_connection(read_endpoint(locations)["tcp"]) as sock:
                sock.sendall(request("server/authenticate", token=token(locations)))
                MessageReader(sock).read()
                config.write_text('[listen]\ntcp = "127.0.0.1:0"\nidle_exit = "1s"\n', encoding="utf-8")
                daemon.send_signal(signal.SIGHUP)
                log = Path(locations.log)
                wait_until(lambda: "Configuration reloaded" in log.read_text(encoding="utf-8"), BOUND)
                assert daemon.poll() is None
            assert daemon.wait(BOUND) == 0
