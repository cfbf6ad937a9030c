"""A window of VS Code as a person uses it: views with rows, the palette, messages, editors."""

import contextlib
import json  # noqa: TID251 - settings are written as a person writes them
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sessiond.paths import Locations
from support.browsers import Watched, expect
from support.patience import BOUND
from support.workbench_server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FrameLocator, Locator, Page


T = TypeVar("T")

CATEGORY = "sessiond: "
"""The prefix of the extension's commands in the palette."""


class View:
    """One of the views of the side bar."""

    def __init__(self, page: "Page", name: str) -> None:
        self.name = name
        header = page.get_by_role("button", name=re.compile(f"^{name}.* Section$"))
        self.pane: Locator = page.locator(".pane").filter(has=header)
        self.header: Locator = self.pane.locator(".pane-header")

    def row(self, text: str | re.Pattern[str]) -> "Locator":
        """The row that contains a text; an action on the row waits until the row exists."""
        return self.pane.get_by_role("treeitem").filter(has_text=text)

    def toggle(self, text: str | re.Pattern[str]) -> None:
        """Expand or collapse a row."""
        self.row(text).locator(".monaco-tl-twistie").click()

    @property
    def rows(self) -> "Locator":
        return self.pane.get_by_role("treeitem")

    @property
    def focused(self) -> "Locator":
        """The row that receives keys."""
        return self.pane.locator(".monaco-list-row.focused")

    def await_keys(self) -> None:
        """Wait until this view receives the keys: a command that focuses the view ends before that."""
        expect(self.pane.locator(".monaco-list:focus")).to_be_visible()

    def act(self, text: str | re.Pattern[str], action: str) -> None:
        """Press a button that appears in a row while the mouse is over the row."""
        row = self.row(text)
        row.hover()
        row.get_by_role("button", name=action).click()

    def title_action(self, action: str) -> None:
        """Press a button in the head of the view."""
        self.header.hover()
        self.header.get_by_role("button", name=action).click()

    def menu(self, text: str | re.Pattern[str], action: str) -> None:
        """Choose from the menu of a row."""
        self.row(text).click(button="right")
        # A menu ignores the mouse directly after it has opened, so that the opening click does not choose an item.
        item = self.pane.page.get_by_role("menuitem", name=action, exact=True)
        item.hover()
        expect(item).to_be_focused()
        item.press("Enter")


class Window:
    """One page of the workbench."""

    def __init__(self, watched: Watched, server: Server, folder: Path, locations: Locations) -> None:
        self.watched = watched
        self.server = server
        self.folder = folder
        self.locations = locations
        self.page = watched.page
        self.sessions = View(self.page, "Sessions")
        self.tree = View(self.page, "Tree")
        self.labels = View(self.page, "Labels")

    def has_opened(self, folders: Sequence[Path]) -> None:
        """Wait until the Explorer shows the folders: VS Code reads a workspace file after the window has opened.

        When VS Code reads the file before it can reach its server, it shows a workspace without folders, and does
        not read again. Its users reload the window.
        """
        rows = [
            self.page.get_by_role("treeitem", name=re.compile(f"^{folder.name}")).first for folder in folders
        ]
        self._show(re.compile("^Explorer"))
        try:
            expect(rows[0]).to_be_visible(timeout=30_000)
        except AssertionError:
            self.page.reload()
            self._show(re.compile("^Explorer"))
        for row in rows:
            expect(row).to_be_visible()

    def show_views(self) -> None:
        """Show the views of the extension."""
        self._show(re.compile("^sessiond"))
        expect(self.sessions.pane).to_be_visible()

    def _show(self, name: re.Pattern[str]) -> None:
        """Go to a tab of the side bar. A click on the visible tab would hide it."""
        tab = self.page.get_by_role("tab", name=name)
        if tab.get_attribute("aria-selected") != "true":
            tab.click()

    def open_session(self, title: str, first: str) -> None:
        """Click a session, and wait until the Tree shows an entry of it."""
        self.sessions.row(title).first.click()
        expect(self.tree.row(first)).to_be_visible()

    def command(self, title: str) -> None:
        """Run a command from the palette, as `category: title`."""
        self._in_palette(lambda field: self._chose(field, title))
        self._palette_input.press("Enter")

    def has_commands(self, wanted: set[str]) -> None:
        """Wait until the palette lists exactly these commands of the extension: it is updated with a delay."""
        until = time.monotonic() + BOUND
        while True:
            found = self._in_palette(self._listed_commands)
            self._palette_input.press("Escape")
            if found == wanted or time.monotonic() > until:
                break
        assert found == wanted

    @property
    def _palette_input(self) -> "Locator":
        return self.page.locator(".quick-input-widget input").first

    def _in_palette(self, act: "Callable[[Locator], T]") -> T:
        """Open the palette, act in its input field, which must then have the focus still, and return the result.

        VS Code closes the palette if a view that has just been drawn takes the focus. Its users open it again.
        """
        from playwright.sync_api import TimeoutError as TimedOut

        field = self._palette_input
        until = time.monotonic() + BOUND
        while True:
            self.page.keyboard.press("F1")
            try:
                expect(field).to_be_focused(timeout=5_000)
                done = act(field)
                expect(field).to_be_focused(timeout=1_000)
            except (AssertionError, TimedOut):
                if time.monotonic() > until:
                    raise
            else:
                return done

    def _chose(self, field: "Locator", title: str) -> None:
        field.fill(f">{title}", timeout=5_000)
        # The list is filled gradually; Enter runs the row with the focus.
        row = self.page.locator(".quick-input-list .monaco-list-row.focused")
        expect(row).to_contain_text(title, ignore_case=True, timeout=10_000)

    def _listed_commands(self, field: "Locator") -> set[str]:
        field.fill(f">{CATEGORY}", timeout=5_000)
        rows = self.page.locator(".quick-input-list .monaco-list-row")
        expect(rows.first).to_contain_text(CATEGORY, timeout=10_000)
        found: dict[str, str] = {}  # by position: the list has only the visible rows
        total = int(rows.first.get_attribute("aria-setsize") or 0)
        focused = self.page.locator(".quick-input-list .monaco-list-row.focused")
        while True:
            for row in rows.all():
                place = row.get_attribute("aria-posinset")
                found[place or ""] = (row.get_attribute("aria-label") or "").split(",")[0]
            if len(found) >= total:
                break
            at = focused.get_attribute("aria-posinset")
            field.press("PageDown")
            expect(focused).not_to_have_attribute("aria-posinset", at or "", timeout=10_000)
        return {title.removeprefix(CATEGORY) for title in found.values() if title.startswith(CATEGORY)}

    def answer(self, text: str) -> None:
        """Type into the input field, and press Enter."""
        field = self.page.locator(".quick-input-widget input").first
        expect(field).to_be_focused()
        field.fill(text)
        field.press("Enter")

    def accept(self, proposed: str) -> None:
        """Press Enter after the input field proposes this text."""
        field = self.page.locator(".quick-input-widget input").first
        expect(field).to_have_value(proposed)
        field.press("Enter")

    def type_into_picker(self, text: str) -> None:
        """Type into the field that filters what can be picked, and leave it open."""
        field = self.page.locator(".quick-input-widget input").first
        expect(field).to_be_focused()
        field.press_sequentially(text)

    @property
    def options(self) -> "Locator":
        """Return the items that can be picked."""
        return self.page.locator(".quick-input-list").get_by_role("option")

    def pick(self, text: str | re.Pattern[str]) -> None:
        self.options.filter(has_text=text).first.click()

    def show_messages(self) -> "Locator":
        """All messages that popped up and were not closed; the bell in the status bar shows them."""
        center = self.page.locator(".notifications-center")
        if not center.is_visible():
            self.page.locator("[id='status.notifications'] a").click()
            self.page.mouse.move(0, 0)  # the tooltip of the bell would cover the messages
        expect(center).to_be_visible()
        return center.locator(".notification-list-item")

    def press_in_message(self, text: str | re.Pattern[str], button: str) -> None:
        """Press a button of a message. The message disappears after some time, but stays in the list of the bell."""
        expect(self.page.locator(".notification-list-item").filter(has_text=text)).to_be_visible()
        self.show_messages().filter(has_text=text).get_by_role("button", name=button).click()

    def was_told_nothing(self) -> None:
        """Check that no message popped up so far."""
        expect(self.show_messages()).to_have_count(0)

    @property
    def dialog(self) -> "Locator":
        """A modal question."""
        return self.page.locator(".monaco-dialog-box")

    def status(self, text: str | re.Pattern[str]) -> "Locator":
        """The item of the status bar with a text."""
        return self.page.locator(".statusbar-item").filter(has_text=text)

    def daemon_is(self, state: str) -> None:
        """Wait until the item of the status bar shows this state of the daemon."""
        expect(self.page.get_by_role("button", name=f"sessiond: {state}", exact=True)).to_be_visible()

    def tab(self, name: str | re.Pattern[str]) -> "Locator":
        """The tab of an open editor."""
        return self.page.locator(".tabs-container").get_by_role("tab", name=name)

    def open_file(self, name: str) -> None:
        """Open a file of the folder by its name."""
        self.page.keyboard.press("Control+P")
        field = self.page.locator(".quick-input-widget input").first
        expect(field).to_be_focused()
        field.fill(name)
        self.options.filter(has_text=name).first.click()
        expect(self.tab(re.compile(f"^{re.escape(name)}"))).to_be_visible()

    def show_problems(self, errors: int) -> "Locator":
        """The rows of the Problems panel, once there are so many errors; their count in the status bar opens it."""
        self.page.get_by_role("button", name=f"Errors: {errors}", exact=True).click()
        panel = self.page.locator(".markers-panel")
        expect(panel).to_be_visible()
        return panel.get_by_role("treeitem")

    def webview(self) -> "FrameLocator":
        """The content of the only visible webview."""
        return self.page.frame_locator("iframe.webview.ready").frame_locator("#active-frame")

    def state(self) -> str:
        """All information about the window, to find the cause of a failed test."""
        with contextlib.suppress(Exception):
            self.page.screenshot(path=self.folder / "window.png", timeout=10_000)
        try:
            seen = self.page.locator("body").aria_snapshot(timeout=10_000)
        except Exception as failure:  # noqa: BLE001 - it is told beside the failure that this is about
            seen = f"the window does not answer: {failure}"
        log = Path(self.locations.log)
        daemon = (
            log.read_text(encoding="utf-8", errors="replace")[-3000:] if log.exists() else "no daemon ran"
        )
        picture = f"a picture is in {self.folder / 'window.png'}"
        return f"{picture}\n{seen}\n{self.server.logs()}\n--- the daemon\n{daemon}"


@contextlib.contextmanager
def a_window(
    browser: "Browser",
    server: Server,
    folder: Path | Sequence[Path],
    locations: Locations,
    *files: Path,
    **settings: Any,
) -> Iterator[Window]:
    """The workbench with a folder whose sessions are those of the daemon of `locations`, and with some files open.

    Several folders are those of a multi-root workspace.
    """
    folders = [folder] if isinstance(folder, Path) else folder
    first = opened = folders[0]
    # The PATH of an extension is that of a login shell, which does not have this Python.
    ours = {
        "sessiond.home": str(locations.home),
        "sessiond.path": str(Path(sys.executable).parent / "sessiond"),
    }
    settings = {**ours, **settings}
    if len(folders) > 1:
        opened = first.with_suffix(".code-workspace")
        paths = [{"path": str(path)} for path in folders]
        opened.write_text(json.dumps({"folders": paths, "settings": settings}), encoding="utf-8")
    else:
        chosen = first / ".vscode/settings.json"
        chosen.parent.mkdir(exist_ok=True)
        chosen.write_text(json.dumps(settings), encoding="utf-8")
    server.choose()  # another test may have changed a setting
    watched = Watched(
        browser, (1280, 1200)
    )  # high enough for the rows of a test: rows that are not visible do not exist
    window = Window(watched, server, first, locations)
    try:
        watched.page.goto(server.at(opened, [("openFile", server.remote(file)) for file in files]))
        if len(folders) > 1:
            window.has_opened(folders)
        window.show_views()
        window.daemon_is("attached")
        yield window
    except BaseException as failure:
        failure.add_note(window.state())
        raise
    finally:
        watched.context.close()
    assert {text.split("/")[2] for text in watched.asked if text.startswith(("http", "ws"))} == {
        server.address.removeprefix("http://")
    }
