"""sessiond view in a real browser: what its reader sees, and what other sites and ports get of it."""

import json  # noqa: TID251 - what a hostile server would use
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.browsers import Watched, a_browser, expect
from support.homes import wait_until
from support.viewers import Viewed, a_view, viewing

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]

REBOUND = "rebound.example"
"""A name that another site has pointed to this machine."""


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with a_browser(f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1") as found:
        yield found


@pytest.fixture
def watched(browser: "Browser") -> Iterator[Watched]:
    found = Watched(browser)
    yield found
    assert found.context.cookies() == []
    found.context.close()
    assert found.errors == []


def is_live(page: "Page", text: str = "A race.") -> None:
    expect(page.locator("#live")).to_have_text("live")
    expect(page.locator("#path")).to_contain_text(text)
    expect(page.locator("#notice")).to_have_count(0)


@contextmanager
def shown(page: "Page", folder: Path) -> Iterator[Viewed]:
    """A session that a page shows and follows."""
    with a_view(folder) as viewed:
        page.goto(viewed.address)
        is_live(page)
        yield viewed


def test_entries_appended_elsewhere_appear_in_the_browser(watched: Watched, tmp_path: Path) -> None:
    page = watched.page
    with shown(page, tmp_path) as viewed:
        entry = viewed.say("user", "Are you **sure**?")
        expect(page.locator("#path article").last).to_contain_text("Are you sure?")
        viewed.shell("label", viewed.session, entry, "doubt")
        expect(page.get_by_role("treeitem").filter(has_text="doubt")).to_have_count(1)
        viewed.shell("rename", viewed.session, "Another title")
        expect(page).to_have_title("Another title")
        viewed.shell("stop")
        viewed.say("assistant", "After the restart.")
        expect(page.locator("#path")).to_contain_text("After the restart.")


def test_a_tab_keeps_its_key_when_it_is_reloaded_and_no_address_has_the_token(
    watched: Watched, tmp_path: Path
) -> None:
    page = watched.page
    with shown(page, tmp_path) as viewed:
        assert page.url == f"http://127.0.0.1:{viewed.port}/"
        page.reload()
        is_live(page)
        page.get_by_role("treeitem").filter(has_text="Why?").click()
        assert "targetId=" in page.url
        page.reload()
        is_live(page)
        page.go_back()
        is_live(page)
        viewed.say("user", "Still here?")
        is_live(page, "Still here?")
        assert viewed.token not in " ".join(watched.asked).replace(viewed.address, "")
        assert viewed.token not in str(
            page.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}])")
        )


def test_a_link_to_an_entry_opens_in_another_tab_while_one_shows_the_page(
    watched: Watched, tmp_path: Path
) -> None:
    page = watched.page
    with shown(page, tmp_path) as viewed:
        link = page.get_by_label("Copy a link to this entry").first.get_attribute("href")
        other = watched.context.new_page()
        for _ in range(2):
            other.goto(f"http://127.0.0.1:{viewed.port}/{link}")
            is_live(other)
        page.close()
        other.reload()
        is_live(other)


def test_a_browser_without_the_key_is_told_how_to_get_an_address(
    browser: "Browser", watched: Watched, tmp_path: Path
) -> None:
    stranger = Watched(browser)
    with a_view(tmp_path) as viewed:
        watched.page.goto(viewed.address)
        is_live(watched.page)
        for address, reason in (
            (f"http://127.0.0.1:{viewed.port}/", "in the tab that opened the printed address"),
            (viewed.address, "already used"),
        ):
            stranger.page.goto(address)
            expect(stranger.page.get_by_role("alert")).to_contain_text(reason)
            expect(stranger.page.get_by_role("alert")).to_contain_text("Run sessiond view for a new address.")
            expect(stranger.page.locator("#live")).to_have_text("refused")
            assert "A race." not in stranger.page.content()
            assert viewed.token not in stranger.page.url
        is_live(watched.page)
    stranger.context.close()
    assert stranger.errors == []


def test_the_file_that_opens_a_browser_leads_to_the_page(watched: Watched, tmp_path: Path) -> None:
    told, opener = tmp_path / "told", tmp_path / "opener"
    opener.write_text(
        f'#!/bin/sh\nprintf %s "$1" > "{told}.new"\nmv "{told}.new" "{told}"\n', encoding="utf-8"
    )
    opener.chmod(0o755)
    with a_view(tmp_path, "--port", "0", BROWSER=f"{opener} %s"):
        wait_until(told.exists)
        watched.page.goto(told.read_text(encoding="utf-8"))
        is_live(watched.page)


def test_a_page_whose_viewer_ended_names_the_command_and_takes_its_new_address(
    watched: Watched, tmp_path: Path
) -> None:
    page = watched.page
    with shown(page, tmp_path) as viewed:
        viewed.process.send_signal(signal.SIGINT)
        again = f"Run sessiond view {viewed.session} for a new address."
        expect(page.get_by_role("alert")).to_have_text(f"This page is no longer updated. {again}")
        expect(page.locator("#live")).to_have_text("ended")
        expect(page.locator("#path")).to_contain_text("A race.")
        viewed.process.wait(60)
        with viewing(viewed.shell, viewed.session, "--no-open", "--port", str(viewed.port)) as next_one:
            page.goto(
                next_one.address
            )  # the same page with another fragment: the browser does not load it again
            is_live(page)
            next_one.say("user", "With the new one.")
            is_live(page, "With the new one.")


class _Hostile(ThreadingHTTPServer):
    """The server of another user. It notes whatever it gets."""

    daemon_threads = True

    def __init__(self, port: int, script: str) -> None:
        self.heard: list[str] = []
        self.script = script
        super().__init__(("127.0.0.1", port), _HostileHandler)


class _HostileHandler(BaseHTTPRequestHandler):
    server: _Hostile

    def do_GET(self) -> None:
        size = int(self.headers.get("Content-Length", "0"))
        self.server.heard.append(
            f"{self.command} {self.path}\n{self.headers}\n{self.rfile.read(size).decode()}"
        )
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()
        if self.path == "/events":
            row = {"id": "x", "parentId": None, "type": "message", "preview": "Forged.", "body": "Forged.",
                   "filterMask": 31, "heading": "User"}  # fmt: skip
            keys = {"pageKey": "p", "serverKey": "s"}
            for line in (keys, {"session": {"sessionId": "s"}, "first": 0, "rows": [row] * 9, "marks": []}):
                self.wfile.write(json.dumps(line).encode() + b"\n")
        else:
            self.wfile.write(f"<!doctype html><body><script>{self.server.script}</script>".encode())

    do_POST = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def hostile(port: int = 0, script: str = "") -> Iterator[_Hostile]:
    with _Hostile(port, script) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield server
        finally:
            server.shutdown()
            serving.join()


def test_a_page_believes_no_other_server_at_the_port_of_its_own(watched: Watched, tmp_path: Path) -> None:
    page = watched.page
    with shown(page, tmp_path) as viewed:
        viewed.process.kill()
        viewed.process.wait(60)
        expect(page.locator("#live")).to_have_text("away")
        expect(page.get_by_role("alert")).to_contain_text(
            f"If that has ended, run sessiond view {viewed.session}"
        )
        with hostile(viewed.port) as attacker:
            expect(page.locator("#live")).to_have_text("ended")
            expect(page.get_by_role("alert")).to_contain_text("no longer updated")
            assert len(attacker.heard) == 1
        expect(page.locator("#path")).to_contain_text("A race.")
        assert "Forged." not in page.content()


TRIES = """
const page = "http://NAME:PORT";
const got = {};
const text = it => it.text();
const post = more => fetch(page + "/events", {method: "POST", body: BODY, ...more}).then(text);
const tries = {
  fetch: () => post({credentials: "include"}),
  blind: () => post({credentials: "include", mode: "no-cors"}),
  read: () => fetch(page + "/", {credentials: "include"}).then(text),
  json: () => post({headers: {"Content-Type": "application/json"}}),
  events: () => new Promise((resolve, reject) => {
    const events = new EventSource(page + "/events", {withCredentials: true});
    events.onmessage = it => resolve(it.data);
    events.onerror = () => { events.close(); reject(); };
  }),
  socket: () => new Promise((resolve, reject) => {
    const socket = new WebSocket(page.replace("http", "ws") + "/events");
    socket.onmessage = it => resolve(it.data);
    socket.onerror = reject;
  }),
  script: () => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    Object.assign(script, {src: page + "/events", onload: () => resolve("loaded"), onerror: reject});
    document.body.append(script);
  }),
  frame: () => new Promise((resolve, reject) => {
    const frame = document.createElement("iframe");
    frame.onload = () => { try { resolve(frame.contentDocument?.body.textContent || ""); } catch { reject(); } };
    frame.src = page + "/";
    document.body.append(frame);
  }),
  window: () => new Promise(resolve => {
    const opened = open(page + "/");
    setTimeout(() => { try { resolve(opened.sessionStorage["sessiond.keys"] ?? ""); } catch { resolve(""); } }, 500);
  }),
  channel: () => new Promise(resolve => {
    const channel = new BroadcastChannel("sessiond");
    channel.onmessage = it => resolve(JSON.stringify(it.data));
    channel.postMessage("keys?");
    setTimeout(resolve, 800, "");
  }),
  storage: async () => JSON.stringify([{...sessionStorage}, {...localStorage}, document.cookie]),
};
const all = Object.entries(tries).map(([name, it]) => it().catch(() => "").then(found => { got[name] = found; }));
Promise.all(all).then(() => { window.got = got; });
"""


def test_another_port_of_this_machine_gets_nothing_of_the_page(watched: Watched, tmp_path: Path) -> None:
    """Neither when the reader goes there in the same tab, nor while the page is open in another one."""
    with a_view(tmp_path) as viewed:
        watched.page.goto(viewed.address)
        is_live(watched.page)
        for name in ("127.0.0.1", "localhost"):
            body = f"JSON.stringify({{token: {viewed.token!r}}})"
            script = TRIES.replace("NAME", name).replace("PORT", str(viewed.port)).replace("BODY", body)
            with hostile(script=script) as attacker:
                other = watched.context.new_page()
                for page in (other, watched.page):
                    page.goto(f"http://{name}:{attacker.server_port}/")
                    page.wait_for_function("() => window.got")
                    got = page.evaluate("() => window.got")
                    assert {
                        tried: text for tried, text in got.items() if tried not in ("storage", "frame")
                    } == {tried: "" for tried in got if tried not in ("storage", "frame")}
                    assert got["storage"] == '[{},{},""]'
                    assert "A race." not in str(got)
                heard = "\n".join(attacker.heard)
                assert "Cookie:" not in heard
                assert viewed.token not in heard
                assert str(viewed.port) not in heard  # no Referer either
                watched.page.go_back()
                is_live(watched.page)
                other.close()


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain"])
def test_the_form_of_another_site_opens_no_page(watched: Watched, tmp_path: Path, kind: str) -> None:
    page = watched.page
    with a_view(tmp_path) as viewed:
        form = f"""
            const form = document.createElement("form");
            Object.assign(form, {{method: "post", enctype: "{kind}", action: "http://127.0.0.1:{viewed.port}/events"}});
            const field = document.createElement("input");
            Object.assign(field, {{name: '{{"token":"{viewed.token}","x":"', value: '"}}'}});
            form.append(field);
            document.body.append(form);
            form.submit();
        """
        with hostile(script=form) as attacker:
            page.goto(f"http://127.0.0.1:{attacker.server_port}/", wait_until="commit")
            expect(page.locator("body")).to_contain_text("accepts only the requests of its page")
        with viewed.reading(token=viewed.token):
            pass  # the token is still good


def test_a_site_whose_name_leads_to_this_machine_gets_no_page(watched: Watched, tmp_path: Path) -> None:
    page = watched.page
    with a_view(tmp_path) as viewed:
        page.goto(f"http://{REBOUND}:{viewed.port}/#token={viewed.token}")
        expect(page.locator("body")).to_contain_text("accepts only the host 127.0.0.1")
        asked = page.evaluate(
            "token => fetch('/events', {method: 'POST', body: JSON.stringify({token})}).then(it => it.status)",
            viewed.token,
        )
        assert asked == 421
        with viewed.reading(token=viewed.token):
            pass
