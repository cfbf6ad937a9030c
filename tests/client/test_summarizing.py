"""A client that writes summaries for the daemon: asked, reporting, canceled, failing, and after a restart."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessiond.client import RpcError, SummaryRequest, connect
from sessiond.paths import Locations
from sessiond.protocol import types as t
from support.agents import WINDOW, Writer, an_agent, fill
from support.homes import a_home
from support.rpc_peers import until


@pytest.fixture
def locations() -> Iterator[Locations]:
    with a_home() as locations:
        yield locations


SETTINGS = t.CompactionChoice(
    context_window=WINDOW["context_window"],
    reserve_tokens=WINDOW["reserve_tokens"],
    keep_recent_tokens=WINDOW["keep_recent_tokens"],
)


async def test_its_summary_and_what_comes_with_it_are_stored(locations: Locations, tmp_path: Path) -> None:
    writer = Writer()
    async with an_agent(locations, tmp_path, writer) as session:
        await fill(session)
        done = await session.daemon.compact(session.id, settings=SETTINGS, instructions="Mind the x.")
        (stored,) = (await session.daemon.entries(session.id, entry_ids=[done.record_id])).entries
    (asked,) = writer.asked
    assert (asked.purpose, asked.session_id, asked.instructions) == ("compaction", session.id, "Mind the x.")
    assert "question 0" in asked.prompt
    assert (done.summary, done.summarized_by) == ("What was said.", "client")
    assert (stored["shortSummary"], stored["details"]) == ("short", {"by": "test"})


async def test_it_may_answer_with_a_plain_text(locations: Locations, tmp_path: Path) -> None:
    async def summarize(request: SummaryRequest) -> str:
        return f"for a {request.purpose}"

    async with an_agent(locations, tmp_path, summarize) as session:
        await fill(session)
        assert (await session.daemon.compact(session.id, settings=SETTINGS)).summary == "for a compaction"


async def test_a_waiting_caller_gets_the_progress(locations: Locations, tmp_path: Path) -> None:
    steps: list[t.Progress] = []
    async with an_agent(locations, tmp_path, Writer()) as session, connect(locations=locations) as other:
        await fill(session)
        await other.compact(session.id, settings=SETTINGS, progress=steps.append)
    assert (steps[0].kind, steps[-1].kind) == ("begin", "end")
    assert "reading" in [step.message for step in steps]


async def test_it_is_canceled_when_nobody_waits_any_more(locations: Locations, tmp_path: Path) -> None:
    writer = Writer(at_once=False)
    async with an_agent(locations, tmp_path, writer) as session:
        await fill(session)
        waiting = asyncio.create_task(session.daemon.compact(session.id, settings=SETTINGS))
        await until(lambda: writer.asked)
        waiting.cancel()
        await until(lambda: writer.canceled)
        assert (await session.context()).leaf_id == session.leaf_id


async def test_one_that_fails_is_told_to_who_waits_and_nothing_is_changed(
    locations: Locations, tmp_path: Path
) -> None:
    async def summarize(request: SummaryRequest) -> str:
        raise ValueError("the model is asleep")

    async with an_agent(locations, tmp_path, summarize) as session:
        await fill(session)
        with pytest.raises(RpcError) as raised:
            await session.daemon.compact(session.id, settings=SETTINGS)
        assert (await session.daemon.info(session.id)).session.leaf_id == session.leaf_id
    assert raised.value.kind == "summarizerFailed"


async def test_it_is_asked_again_by_the_next_daemon(locations: Locations, tmp_path: Path) -> None:
    writer = Writer(at_once=False)
    async with an_agent(locations, tmp_path, writer) as session:
        await fill(session)
        waiting = asyncio.create_task(session.daemon.compact(session.id, settings=SETTINGS))
        await until(lambda: writer.asked)
        os.kill((await session.daemon.status()).pid, signal.SIGKILL)
        await until(lambda: writer.canceled)
        writer.may_write.set()
        assert (await waiting).summarized_by == "client"


async def test_closing_the_connection_ends_what_it_writes(locations: Locations, tmp_path: Path) -> None:
    writer = Writer(at_once=False)
    async with connect(locations=locations) as other:
        async with an_agent(locations, tmp_path, writer) as session:
            await fill(session)
            waiting = asyncio.create_task(other.compact(session.id, settings=SETTINGS))
            await until(lambda: writer.asked)
        assert writer.canceled == 1
        with pytest.raises(RpcError):
            await waiting
