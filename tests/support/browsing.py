"""The browser on a screen of the test, with a daemon behind a real socket: keys in, text out."""

import contextlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from textual.pilot import Pilot
from textual.strip import Strip

from sessiond.paths import Locations
from sessiond.protocol import types as t
from sessiond.tui.app import Browser
from sessiond.tui.row_renderer import RowRenderer
from support.daemons import Peer, assistant, running, user
from support.homes import a_home
from support.waiting import until

SESSION = "atlas-parser-1"
NOON = 1_771_243_200.0
"""12:00 UTC on 2026-02-16, some minutes after all messages."""


def said(name: str, minute: int, draft: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A draft with an id and a time, so that every screen looks the same."""
    return {**draft, "id": name, "timestamp": f"2026-02-16T11:{minute:02}:00.000Z", **more}


STORY = (
    said("q1", 1, user("Why does it drop the last line?")),
    said("a1", 2, assistant("It stops at the **last** newline.")),
    said("q2", 3, user("Fix it.")),
    said("a2", 4, assistant("Done: it counts.")),
    said("q3", 5, user("Write a failing test first."), parentId="a1"),
    said("a3", 6, assistant("It fails, as it should.")),
)
"""q1 - a1, and below it the branches q2 - a2 and q3 - a3, which has the leaf."""


@dataclass
class Desk:
    """A daemon with one session, and another client that works on it."""

    locations: Locations
    peer: Peer

    async def append(self, *entries: dict[str, Any], **params: Any) -> None:
        await self.peer.append(SESSION, *entries, **params)

    async def session(self, session_id: str = SESSION) -> t.SessionInfo:
        opened = await self.peer.call("session/open", sessionId=session_id)
        return msgspec.convert(opened["session"], t.SessionInfo)


MAX_BATCH = 5_000


@contextlib.asynccontextmanager
async def a_desk(*entries: dict[str, Any], title: str = "The last line") -> AsyncIterator[Desk]:
    """A daemon in this process, with a session of these entries."""
    with a_home() as locations:
        async with running(Path(str(locations.home)), "socket") as daemon:
            peer = await daemon.attach()
            await peer.call("session/create", id=SESSION, cwd="/home/ada/atlas", title=title)
            for start in range(0, len(entries), MAX_BATCH):
                await peer.append(SESSION, *entries[start : start + MAX_BATCH])
            yield Desk(locations, peer)


@dataclass
class Screen:
    """The screen of a browser, and its keyboard."""

    browser: Browser
    pilot: Pilot[None]

    @property
    def lines(self) -> list[str]:
        """The screen as text; if a dialog overlaps it, the dialog."""
        return [strip.text.rstrip() for strip in self.strips]

    @property
    def strips(self) -> list[Strip]:
        """The lines of the screen, with their colors."""
        return self.browser.screen._compositor.render_strips()  # noqa: SLF001 - Textual has no other name for it

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def current(self) -> str | None:
        return self.browser.view.current

    async def keys(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def type(self, text: str) -> None:
        names = {" ": "space", ".": "full_stop", ",": "comma", "[": "left_square_bracket", "-": "minus"}
        await self.pilot.press(*(names.get(text, text) for text in text))

    async def see(self, pattern: str) -> None:
        """Wait until a text is on the screen."""
        look = re.compile(pattern, re.MULTILINE)
        try:
            await until(lambda: look.search(self.text))
        except TimeoutError:
            raise AssertionError(f"never seen: {pattern}\n{self.text}") from None

    async def see_not(self, pattern: str) -> None:
        """Wait until a text is not on the screen any more."""
        look = re.compile(pattern, re.MULTILINE)
        try:
            await until(lambda: not look.search(self.text))
        except TimeoutError:
            raise AssertionError(f"never gone: {pattern}\n{self.text}") from None

    async def shows(self, text: str) -> None:
        """Wait until the screen is exactly this text."""
        with contextlib.suppress(TimeoutError):
            await until(lambda: self.text == text)
        assert self.text == text

    async def at(self, entry: str) -> None:
        """Wait until the cursor is on an entry."""
        try:
            await until(lambda: self.current == entry)
        except TimeoutError:
            raise AssertionError(f"the cursor is on {self.current}, not {entry}\n{self.text}") from None


@contextlib.asynccontextmanager
async def a_screen_of(
    desk: Desk,
    size: tuple[int, int] = (80, 12),
    *,
    pane: bool = False,
    encoding: str | None = None,
    **more: Any,
) -> AsyncIterator[Screen]:
    """A browser of the desk's session on a screen of this size, attached, after it has read all rows."""
    browser = Browser(
        await desk.session(),
        locations=desk.locations,
        renderer=RowRenderer(encoding),
        now=lambda: NOON,
        **more,
    )
    browser.wants_pane = pane
    async with browser.run_test(size=size) as pilot:
        screen = Screen(browser, pilot)
        await until(lambda: browser.is_settled)
        yield screen
    if browser.failure is not None:
        raise browser.failure
