"""Another user and other sites, at the page that `sessiond view` serves to a browser of its user."""

import http.client
import json  # noqa: TID251  (an attacker has no msgspec)
import re
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.cookiejar import CookieJar
from typing import Final
from urllib.request import HTTPCookieProcessor, ProxyHandler, Request, build_opener

from campaigns.attacks.asking import COMMAND, command
from campaigns.attacks.users import NOBODY, nobodys_python
from campaigns.campaign import Ground, hold
from campaigns.daemons import PATIENCE, Home

_SECRET: Final = "the secret of the session"

_LURKER: Final = """
import http.client, json, socket, sys
port = int(sys.argv[1])
listening = socket.create_server(("127.0.0.1", 0))
listening.settimeout(60)
print(listening.getsockname()[1], flush=True)
visitor, _ = listening.accept()
visitor.settimeout(60)
heard = b""
while b"\\r\\n\\r\\n" not in heard:
    heard += visitor.recv(65536)
visitor.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
lines = heard.decode().split("\\r\\n")[1:]
told = dict(line.split(": ", 1) for line in lines if ": " in line)
seen = sys.stdin.readline().strip()
here = "127.0.0.1:%d" % port
got = []
for method, path, body in (
    ("GET", "/", None), ("GET", "/?token=" + seen, None), ("GET", "/events?after=0", None),
    ("POST", "/events", "{}"), ("POST", "/events", json.dumps({"token": seen, "pageKey": seen})),
):
    headers = {"Host": here, "Origin": "http://" + here, "Sec-Fetch-Site": "same-origin"}
    headers.update({name: told[name] for name in ("Cookie", "Authorization", "Referer") if name in told})
    asking = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        asking.request(method, path, body, headers)
        response = asking.getresponse()
        got.append([response.status, response.read1(65536).decode() + response.read1(65536).decode()])
    except OSError as error:
        got.append([0, type(error).__name__])
    asking.close()
print(json.dumps({"told": told, "got": got}))
"""


@contextmanager
def _viewing(home: Home) -> Iterator[str]:
    """A viewer of a session with the secret. Yields its address."""
    session = command(home, "new").stdout.strip()
    command(home, "append", session, "--user", _SECRET, "--assistant", "Yes.")
    words = [*COMMAND, "view", session, "--no-open"]
    with subprocess.Popen(
        words, env=home.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8"
    ) as viewer:
        try:
            assert viewer.stdout is not None
            yield viewer.stdout.readline().strip()
        finally:
            viewer.kill()


class _Reader:
    """The browser of the user: it keeps cookies, and sends them to each port of a host as browsers do."""

    def __init__(self, address: str) -> None:
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/.*token=([\w-]+)", address)
        hold(found, f"the viewer printed {address!r}")
        assert found is not None
        self.port, self.token = int(found[1]), found[2]
        self.cookies = CookieJar()
        self._opener = build_opener(ProxyHandler({}), HTTPCookieProcessor(self.cookies))
        self.get(address)

    def get(self, address: str) -> str:
        with self._opener.open(address, timeout=PATIENCE) as response:
            return str(response.read().decode())

    def log_in(self) -> dict[str, str]:
        """Return the keys that the server answers the token with."""
        origin = f"http://127.0.0.1:{self.port}"
        asks = Request(f"{origin}/events", json.dumps({"token": self.token}).encode(), {"Origin": origin})
        with self._opener.open(asks, timeout=PATIENCE) as response:
            keys: dict[str, str] = json.loads(response.readline())
            hold(_SECRET.encode() in response.readline(), "the user's own browser was not shown the session")
        return keys


def waits_at_another_port_for_the_cookie(ground: Ground, home: Home) -> None:
    """The browser that shows the page visits the port of another user, who gets nothing that opens the page.

    That user has also read the token from the user's screen, before and after it was used.
    """
    python = nobodys_python()
    if python is None:
        ground.cannot_partly("acting as another user: not root, or no Python that `nobody` may run")
        return
    for is_used in (True, False):
        with _viewing(home) as address:
            reader = _Reader(address)
            if is_used:
                reader.log_in()
            with subprocess.Popen(
                [python, "-I", "-S", "-c", _LURKER, str(reader.port)],
                user=NOBODY,
                group=NOBODY,
                extra_groups=[],
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
            ) as lurker:
                try:
                    assert lurker.stdout is not None
                    reader.get(f"http://127.0.0.1:{int(lurker.stdout.readline())}/")
                    said, _ = lurker.communicate(f"{reader.token}\n", timeout=PATIENCE)
                finally:
                    lurker.kill()
            found = json.loads(said)
            hold(not list(reader.cookies), f"the page has cookies: {list(reader.cookies)}")
            hold("Cookie" not in found["told"], f"the other port was told {found['told']}")
            for status, text in found["got"]:
                hold(_SECRET not in text and status in (403, 404), f"another user got {status} {text:.200}")
            if not is_used:
                reader.log_in()  # he has not used it up


def requests_of_other_sites(_ground: Ground, home: Home) -> None:
    """A page of another site, port or name makes the browser ask; even with the key it is refused."""
    with _viewing(home) as address:
        reader = _Reader(address)
        key = reader.log_in()["pageKey"]
        here = f"127.0.0.1:{reader.port}"
        own = {"Host": here, "Origin": f"http://{here}", "Sec-Fetch-Site": "same-origin"}
        refused: tuple[dict[str, str], ...] = (
            {"Host": f"rebound.example:{reader.port}"},
            {"Host": f"rebound.example:{reader.port}", "Origin": f"http://rebound.example:{reader.port}"},
            {"Origin": "http://evil.example"},
            {"Origin": "http://127.0.0.1:1"},
            {"Origin": f"http://localhost:{reader.port}"},
            {"Origin": "null"},
            {"Origin": ""},
            {"Sec-Fetch-Site": "same-site"},
            {"Sec-Fetch-Site": "cross-site"},
        )
        for change in ({}, *refused):
            for kind in ("application/json", "text/plain", "application/x-www-form-urlencoded"):
                status, text = _posted(reader.port, key, {**own, **change, "Content-Type": kind})
                hold((status == 200) == (not change), f"a request with {change} was answered {status}")
                hold((_SECRET in text) == (not change), f"a request with {change} was told {text:.200}")
        for method in ("OPTIONS", "HEAD", "PUT", "DELETE", "TRACE"):
            with closing(http.client.HTTPConnection("127.0.0.1", reader.port, timeout=PATIENCE)) as asking:
                asking.request(method, "/events", headers={**own, "Origin": "http://evil.example"})
                with asking.getresponse() as response:
                    hold(response.status >= 400, f"{method} was answered {response.status}")
                    allowed = [
                        header for header in response.headers if header.lower().startswith("access-control")
                    ]
                    hold(not allowed, f"{method} was answered with {allowed}")


def _posted(port: int, key: str, headers: dict[str, str]) -> tuple[int, str]:
    """The status of the answer to the key, and its first two lines."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as asking:
        asking.request("POST", "/events", json.dumps({"pageKey": key}), headers)
        with asking.getresponse() as response:
            return response.status, (response.readline() + response.readline()).decode()
