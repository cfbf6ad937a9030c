"""Any events while summaries are written: one compaction for each state that was outgrown, and no half."""

import asyncio
import contextlib
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from support.daemons import Peer, Refused, Running, assistant, running, user
from support.summarizers import SMALL, Summarizing, compactions, summarizing, talk, tool_call, tool_result

STEPS = st.sampled_from(
    [
        "say", "say", "call a tool", "answer a tool", "branch", "compact", "compact", "compact elsewhere",
        "compact as given", "cancel", "summarize", "summarize", "refuse", "leave", "tick", "tick",
    ]
)  # fmt: skip
ALLOWED = {
    "leafConflict",
    "nothingToCompact",
    "canceled",
    "noSummarizer",
    "summarizerFailed",
    "wouldBreakTree",
}


class Life:
    """A session with two clients, those who write its summaries, and all that was asked."""

    def __init__(self, daemon: Running, peer: Peer, other: Peer, session_id: str) -> None:
        self.daemon, self.peer, self.other, self.session_id = daemon, peer, other, session_id
        self.writers: list[Summarizing] = []
        self.answered: dict[int, int] = {}
        self.asked: list[tuple[Peer, str, asyncio.Future[Any]]] = []
        self.calls = 0
        self.open_call: str | None = None

    async def step(self, name: str, choice: int) -> None:
        """One thing that happens; refusals of what makes no sense now are part of it."""
        with contextlib.suppress(Refused):
            match name:
                case "say":
                    await self.peer.append(self.session_id, user("?" * 400), assistant("!" * 400))
                    self.open_call = None
                case "call a tool" if self.open_call is None:
                    self.calls += 1
                    self.open_call = f"call-{self.calls}"
                    await self.peer.append(self.session_id, tool_call(self.open_call))
                case "answer a tool" if self.open_call is not None:
                    await self.peer.append(self.session_id, tool_result(self.open_call))
                    self.open_call = None
                case "branch":
                    await self.other.call(
                        "session/branch", sessionId=self.session_id, entryId=f"a{choice % 10}"
                    )
                    self.open_call = None
                case "compact":
                    self.compact(self.peer)
                case "compact elsewhere":
                    self.compact(self.other)
                case "compact as given":
                    self.compact(self.peer, summary="Given.")
                case "cancel" if self.asked:
                    who, request_id, _ = self.asked[choice % len(self.asked)]
                    who.connection.notify("$/cancelRequest", {"id": request_id})
                case "summarize" | "refuse":
                    self.answer(name)
                case "leave" if len(self.writers) > 1:
                    self.writers.pop().peer.connection.close()
        for _ in range(choice % 7):
            await asyncio.sleep(0)

    def compact(self, who: Peer, **params: Any) -> None:
        asked = asyncio.ensure_future(
            who.call("session/compact", sessionId=self.session_id, settings=SMALL, **params)
        )
        # The request goes out when the task begins, with the id that is next in line.
        self.asked.append((who, f"call-{len(who.calls) + self.waiting(who)}", asked))

    def waiting(self, who: Peer) -> int:
        """Requests of a client that have been made but not sent yet."""
        numbers = [int(request_id[5:]) for peer, request_id, _ in self.asked if peer is who]
        return len([number for number in numbers if number >= len(who.calls)])

    def answer(self, how: str) -> None:
        """Answer a request for a summary, if one is open."""
        for writer in self.writers:
            nth = self.answered.get(id(writer), 0) + 1
            if nth <= len(writer.peer.asked):
                self.answered[id(writer)] = nth
                if how == "refuse":
                    writer.refuse(nth=nth)
                else:
                    writer.answer(nth=nth)
                return

    async def end(self) -> list[Any]:
        """Let everything come to its end; what became of the requests."""
        await self.step("answer a tool", 0)
        everything = asyncio.gather(*(asked for _, _, asked in self.asked), return_exceptions=True)
        async with asyncio.timeout(10):
            while not everything.done():
                self.answer("summarize")
                await asyncio.sleep(0)
        return list(everything.result())


async def live_through(home: Path, steps: list[tuple[str, int]]) -> None:
    async with running(home) as daemon:
        peer, session_id = await talk(daemon, "/work/lives")
        life = Life(daemon, peer, await daemon.attach(), session_id)
        life.writers = [await summarizing(daemon), await summarizing(daemon)]
        for name, choice in steps:
            await life.step(name, choice)
        outcomes = await life.end()
        refusals = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        assert {getattr(refusal, "kind", repr(refusal)) for refusal in refusals} <= ALLOWED
        stored = await compactions(peer, session_id)
        told = {outcome["recordId"] for outcome in outcomes if not isinstance(outcome, BaseException)}
        assert {entry["id"] for entry in stored} == told
        for entry in stored:
            await check(peer, session_id, entry)
        assert daemon.hub is not None
        [live] = daemon.hub.sessions.all()
        assert (live.appending_jobs, live.pending, daemon.hub.compactions.in_progress(live)) == (
            0,
            False,
            False,
        )


async def check(peer: Peer, session_id: str, entry: dict[str, Any]) -> None:
    """A compaction stands where it may, and something was said since the one before it."""
    page = await peer.call("session/path", sessionId=session_id, leafId=entry["id"], limit=10_000)
    path = [item["entry"] for item in page["items"]]
    *above, last = path
    assert last == entry
    ids = [item["id"] for item in above]
    assert entry["firstKeptEntryId"] in ids
    before = [index for index, item in enumerate(above) if item["type"] == "compaction"]
    since = above[before[-1] + 1 :] if before else above
    assert any(item["type"] == "message" for item in since)
    calls: set[str] = set()
    results: set[str] = set()
    for item in above:
        message = item.get("message", {})
        if message.get("role") == "user":
            calls.clear()  # the turn was given up
        for block in message["content"] if message.get("role") == "assistant" else ():
            calls |= {block["id"]} if block["type"] == "toolCall" else set()
        results |= {message["toolCallId"]} if message.get("role") == "toolResult" else set()
    assert calls <= results


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.tuples(STEPS, st.integers(0, 30)), min_size=3, max_size=25))
def test_in_any_order_there_is_one_compaction_a_state_and_no_half(steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory(prefix="sd-") as home:
        asyncio.run(live_through(Path(home), steps))
