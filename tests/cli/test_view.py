"""sessiond view: a page for one browser of this machine, followed live."""

import http.client
import json  # noqa: TID251 - read as a browser reads it
import re
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from support.browsers import Watched, a_browser, expect
from support.commands import Shell, a_shell
from support.homes import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.slow]


@dataclass(frozen=True)
class Got:
    """An answer, read to its end."""

    status: int
    headers: Message
    body: bytes


@dataclass(frozen=True)
class Viewed:
    """A viewer under way, and its session."""

    shell: Shell
    session: str
    address: str

    def say(self, role: str, text: str) -> str:
        return self.shell("append", self.session, f"--{role}", text).lines[-1]

    @contextmanager
    def asking(self, path: str, **headers: str) -> Iterator[http.client.HTTPResponse]:
        where = urlsplit(self.address)
        connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=120)
        with closing(connection):
            connection.request("GET", path, headers=headers)
            with connection.getresponse() as response:
                yield response

    def get(self, path: str, **headers: str) -> Got:
        with self.asking(path, **headers) as response:
            return Got(response.status, response.headers, response.read())


@contextmanager
def a_view(folder: Path) -> Iterator[Viewed]:
    with a_shell(folder) as shell:
        session = shell("new", "--title", "Live").lines[0]
        shell("append", session, "--user", "Why?", "--assistant", "A race.")
        with shell.start("view", session, "--no-open") as process:
            try:
                assert process.stdout is not None
                yield Viewed(shell, session, process.stdout.readline().strip())
            finally:
                process.terminate()
                process.communicate(timeout=60)


@pytest.fixture
def viewed(tmp_path: Path) -> Iterator[Viewed]:
    with a_view(tmp_path) as found:
        yield found


def data(page: bytes) -> dict[str, Any]:
    found = re.search(r'id="session">(.*?)</script>', page.decode(), re.DOTALL)
    assert found is not None
    said: dict[str, Any] = json.loads(found[1])
    return said


def test_the_token_is_good_once_and_then_the_cookie_is(viewed: Viewed) -> None:
    token = urlsplit(viewed.address)._replace(scheme="", netloc="").geturl()
    assert viewed.get("/").status == 403
    assert viewed.get("/events").status == 403
    assert viewed.get("/?token=guessed").status == 403
    entered = viewed.get(token)
    assert (entered.status, entered.headers["Location"]) == (303, "/")
    cookie = entered.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert viewed.get(token).status == 403
    kept = cookie.partition(";")[0]
    page = viewed.get("/", Cookie=kept)
    assert page.status == 200
    assert [it["preview"] for it in data(page.body)["rows"]] == ["Live", "Why?", "A race."]
    # A site whose name points to this machine gets nothing, cookie or not.
    assert viewed.get("/", Cookie=kept, Host="evil.example").status == 421
    assert viewed.get("/etc/passwd", Cookie=kept).status == 404
    assert viewed.get("/", Cookie=kept[:-1]).status == 403
    with viewed.asking("/events?after=3", Cookie=kept) as events:
        assert json.loads(events.readline().removeprefix(b"data: "))["rows"] == []
        assert events.readline() == b"\n"
        viewed.say("user", "Really?")
        told = json.loads(events.readline().removeprefix(b"data: "))
    assert [it["preview"] for it in told["rows"]] == ["Really?"]
    assert told["session"]["leafId"] == told["rows"][0]["id"]


def test_it_listens_on_this_machine_only(viewed: Viewed) -> None:
    assert urlsplit(viewed.address).hostname == "127.0.0.1"


def test_the_token_stands_in_no_command_line(tmp_path: Path) -> None:
    """The program that opens a browser gets a file in a private folder, which is gone afterwards."""
    told = tmp_path / "told"
    opener = tmp_path / "opener"
    lead = '"${1#file://}"'
    opener.write_text(
        f'#!/bin/sh\n{{ echo "$1"; stat -c %a "$(dirname {lead})"; cat {lead}; }} > "{told}.new"\n'
        f'mv "{told}.new" "{told}"\n',
        encoding="utf-8",
    )
    opener.chmod(0o755)
    with a_shell(tmp_path) as shell:
        shell("new", "--id", "atlas-one")
        with shell.start("view", "atlas-one", BROWSER=f"{opener} %s") as process:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            wait_until(told.exists)
            lead_to, mode, text = told.read_text(encoding="utf-8").split("\n", 2)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
    assert "token" not in lead_to
    assert mode == "700"
    assert address.partition("?")[2] in text
    assert not Path(lead_to.removeprefix("file://")).exists()


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with a_browser() as found:
        yield found


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_entries_appended_elsewhere_appear_in_the_browser(browser: "Browser", tmp_path: Path) -> None:
    with a_view(tmp_path) as viewed:
        watched = Watched(browser)
        page = watched.page
        page.goto(viewed.address)
        expect(page.locator("#live")).to_have_text("live")
        expect(page.locator("#path")).to_contain_text("A race.")
        assert "token" not in page.url
        entry = viewed.say("user", "Are you **sure**?")
        expect(page.locator("#path article").last).to_contain_text("Are you sure?")
        viewed.shell("label", viewed.session, entry, "doubt")
        expect(page.get_by_role("treeitem").filter(has_text="doubt")).to_have_count(1)
        viewed.shell("rename", viewed.session, "Another title")
        expect(page).to_have_title("Another title")
        viewed.shell("stop")
        viewed.say("assistant", "After the restart.")
        expect(page.locator("#path")).to_contain_text("After the restart.")
        watched.context.close()
        assert watched.errors == []
