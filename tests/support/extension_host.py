"""The suite of `editors/vscode/test/host`, run inside the extension host of a real VS Code."""

import json  # noqa: TID251 - what the suite is given, as it reads it
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.browsers import Watched
from support.homes import sessiond
from support.logs import assistant, header, log, user
from support.stories import Story, Teller
from support.vscode_package import bundle_host_suite
from support.workbench_server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

OPTIONS = ("--disable-workspace-trust", "--enable-smoke-test-driver")
"""Options of a server for this suite: it loads what the address of a window names, and shows no messages."""

PATIENCE = 150.0
"""Seconds for the whole suite; each of its waits is bounded by less."""


def run_suite(browser: "Browser", server: Server, teller: Teller, story: Story) -> tuple[int, str]:
    """The exit status and the report of the suite, case by case."""
    folder = teller.folder
    _write(folder / ".vscode/settings.json", {"sessiond.home": str(teller.locations.home)})
    _write(folder / ".vscode/desk.json", _desk(teller, story))
    watched = Watched(browser)
    ended: list[int] = []
    try:
        watched.page.expose_function("codeAutomationExit", lambda code, *_: ended.append(code))
        watched.page.expose_function("codeAutomationLog", lambda *_: None)
        payload = [
            ("extensionDevelopmentPath", server.remote(server.extension)),
            ("extensionTestsPath", server.remote(bundle_host_suite(server.folder))),
        ]
        watched.page.goto(server.at(folder, payload))
        until = time.monotonic() + PATIENCE
        while not ended and time.monotonic() < until:
            watched.page.wait_for_timeout(50)  # the page can call this function
    finally:
        watched.context.close()
    report = folder / "report.txt"
    said = report.read_text(encoding="utf-8") if report.exists() else "it did not begin"
    return (ended[0] if ended else -1), said


def _desk(teller: Teller, story: Story) -> dict[str, Any]:
    info = teller.call("session/info", sessionId=story.id)["session"]
    fork = teller.call("session/fork", sessionId=story.id, leafId=story.because)["session"]
    damaged = teller.folder / "damaged.jsonl"
    damaged.write_bytes(log(header(), user("hi"), b"this is no entry\n", assistant("hello")))
    entries = {name: value for name, value in vars(story).items() if name != "id"}
    return {
        "sessiond": ["env", f"SESSIOND_HOME={teller.locations.home}", *sessiond()],
        "file": info["path"],
        "sessionId": story.id,
        "entries": entries,
        "fork": fork["path"],
        "damaged": str(damaged),
    }


def _write(path: Path, value: dict[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
