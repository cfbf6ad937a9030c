"""One server for all tests of a process, a browser for each file, and a window, a folder and a daemon for each test.

The browser ends with its file, because it occupies the event loop of its thread.
"""

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest

from support.browsers import a_browser
from support.commands import Shell
from support.stories import Story
from support.workbench import Window, a_window
from support.workbench_server import Server, a_server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_shown = pytest.StashKey[Window]()


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with a_browser() as found:
        yield found


@pytest.fixture(scope="package")
def server() -> Iterator[Server]:
    with a_server("--disable-workspace-trust") as found:
        yield found


@pytest.fixture
def window(
    request: pytest.FixtureRequest, browser: "Browser", server: Server, shell: Shell, story: Story
) -> Iterator[Window]:
    """A window on the folder of a session with a known story."""
    with a_window(browser, server, shell.folder, shell.locations) as window:
        request.node.stash[_shown] = window
        yield window


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call" and report.failed and _shown in item.stash:
        report.sections.append(("the window of VS Code", item.stash[_shown].state()))
    return report
