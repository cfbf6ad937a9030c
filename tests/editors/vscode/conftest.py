"""One server for all tests of a process, a browser for each file, and a window, a folder and a daemon for each test.

The browser goes with its file: whatever runs an event loop of its own could not beside it.
"""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.browsers import a_browser
from support.commands import Shell, a_shell
from support.stories import Story, Teller, parser_story
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
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A terminal in the folder that the window shows; its daemon starts with the first command."""
    folder = tmp_path / "atlas"
    folder.mkdir()
    with a_shell(folder) as shell:
        yield shell


@pytest.fixture
def teller(shell: Shell) -> Teller:
    """Somebody else at the same daemon."""
    return Teller(shell.where, shell.folder)


@pytest.fixture
def story(teller: Teller) -> Story:
    return parser_story(teller)


@pytest.fixture
def window(
    request: pytest.FixtureRequest, browser: "Browser", server: Server, shell: Shell, story: Story
) -> Iterator[Window]:
    """A window on the folder of a session with a known story."""
    with a_window(browser, server, shell.folder, shell.where) as window:
        request.node.stash[_shown] = window
        yield window


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call" and report.failed and _shown in item.stash:
        report.sections.append(("the window of VS Code", item.stash[_shown].state()))
    return report
