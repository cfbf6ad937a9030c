"""A daemon that goes away and comes back, and what is pressed meanwhile."""

import asyncio
import signal
from pathlib import Path

import msgspec

from sessiond.protocol import types as t
from sessiond.tui.app import Browser
from sessiond.tui.row_renderer import RowRenderer
from support.browsing import NOON, SESSION, STORY, Desk, Screen, said
from support.daemons import Peer, joined, spawn, user
from support.homes import a_home
from support.waiting import until


async def test_a_daemon_that_is_killed_is_waited_for_and_what_was_missed_is_read() -> None:
    with a_home() as locations:
        home = Path(str(locations.home))
        process = await spawn(home)
        peer = await joined(home).attach()
        await peer.call("session/create", id=SESSION, cwd="/home/ada/atlas", title="The last line")
        await peer.append(SESSION, *STORY)
        browser = Browser(
            await Desk(locations, peer).session(),
            locations=locations,
            renderer=RowRenderer(),
            now=lambda: NOON,
        )
        async with browser.run_test(size=(80, 24)) as pilot:
            screen = Screen(browser, pilot)
            await until(lambda: browser.is_settled)
            await screen.keys("k")
            process.kill()
            await process.wait()
            await screen.see("offline, waiting")
            await screen.keys("L", "x", "enter")
            await screen.see("connection was lost")
            await screen.keys("k")
            assert screen.current == "q2"
            process = await spawn(home)
            peer = await joined(home).attach()
            await peer.append(SESSION, said("q4", 7, user("Are you there?")))
            await screen.see("◉ user       Are you there")
            await screen.see_not("offline")
            await screen.see("User  q2")  # the entry, which could not be read meanwhile
            await screen.at("q2")
            process.terminate()
            await process.wait()
            await screen.see("offline, waiting")
            await screen.keys("R")
            await until(lambda: browser.is_settled)
            await screen.see_not("offline")
        await _stopped(home)


async def test_an_entry_that_is_wanted_before_the_first_connection_is_read_when_there_is_one() -> None:
    with a_home() as locations:
        home = Path(str(locations.home))
        process = await spawn(home)
        peer = await joined(home).attach()
        await peer.call("session/create", id=SESSION, cwd="/home/ada/atlas", title="The last line")
        await peer.append(SESSION, *STORY)
        first = msgspec.convert(await peer.call("session/tree", sessionId=SESSION), t.TreeResult)
        session = await Desk(locations, peer).session()
        browser = Browser(session, locations=locations, renderer=RowRenderer(), now=lambda: NOON, first=first)
        process.send_signal(signal.SIGSTOP)  # it answers nobody
        async with browser.run_test(size=(80, 24)) as pilot:
            await until(lambda: browser.view.current is not None)
            wanted = asyncio.create_task(browser.entry())
            await pilot.pause()
            assert not wanted.done()
            process.send_signal(signal.SIGCONT)
            assert (await wanted)["id"] == browser.view.current
            await until(lambda: browser.is_settled)
        await _stopped(home)


async def _stopped(home: Path) -> None:
    peer: Peer = await joined(home).attach()
    await peer.call("server/stop")
    async with asyncio.timeout(60):
        await peer.is_closed.wait()
