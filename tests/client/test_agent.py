"""The promises to the author of an agent: order, whole turns, contexts that fit, no trace of failures on the path."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from sessiond.client import AgentSession, ContextOverflowError, RpcError, SummaryRequest, connect
from sessiond.client.methods.append import with_entry_id
from sessiond.paths import Locations
from sessiond.session.formats.drafts import drafts
from support.agents import WINDOW, Writer, an_agent, answer, call, fill, prompt, result, the_path
from support.homes import a_home
from support.rpc_peers import until


@pytest.fixture
def locations(monkeypatch: pytest.MonkeyPatch) -> Iterator[Locations]:
    with a_home() as locations:
        monkeypatch.setenv("SESSIOND_HOME", str(locations.home))
        monkeypatch.setenv("SESSIOND_TERMINAL", "one")
        yield locations


class ModelFailed(Exception):
    """The model gave up."""


async def fail(session: AgentSession, *, on_failure: Literal["branch", "summarize"] = "branch") -> None:
    """A turn in which something is said, and then the model gives up."""
    async with session.turn(on_failure=on_failure):
        await session.context()
        await session.append(answer("I will look"))
        raise ModelFailed


# --- attaching


async def test_a_new_agent_in_the_same_terminal_goes_on_with_the_session(
    locations: Locations, tmp_path: Path
) -> None:
    async with connect(locations=locations) as daemon:
        first = await AgentSession.resume(daemon, str(tmp_path))
        await first.append(prompt("hello"))
        said = await first.append(answer("hi"))
    async with connect(locations=locations) as daemon:
        again = await AgentSession.resume(daemon, str(tmp_path))
        assert (again.id, again.leaf_id) == (first.id, said)
        assert (await AgentSession.open(daemon, first.id)).id == first.id


async def test_closing_a_session_that_nobody_answered_puts_it_into_the_trash(
    locations: Locations, tmp_path: Path
) -> None:
    async with an_agent(locations, tmp_path) as session:
        await session.append(prompt("never mind"))
        await session.close()
        with pytest.raises(RpcError):
            await session.daemon.info(session.id)


# --- appending


async def test_entries_appended_at_once_stand_in_the_order_of_the_calls(
    locations: Locations, tmp_path: Path
) -> None:
    async with an_agent(locations, tmp_path) as session:
        ids = await asyncio.gather(*(session.append(prompt(str(number))) for number in range(50)))
        assert [entry["id"] for entry in (await session.daemon.path(session.id)).entries] == ids


async def test_a_message_with_an_id_of_its_own_is_there_once(locations: Locations, tmp_path: Path) -> None:
    async with an_agent(locations, tmp_path) as session:
        for _ in range(2):
            assert await session.append(prompt("hello"), id="msg-1") == "msg-1"
        assert await the_path(session.daemon, session.id) == ["user"]


async def test_appends_go_on_over_daemons_that_die_and_over_one_that_is_stopped(
    locations: Locations, tmp_path: Path
) -> None:
    async with an_agent(locations, tmp_path) as session, connect(locations=locations) as other:
        ids = []
        async with session.turn():
            for number in range(30):
                if number in (5, 15):
                    os.kill((await other.status()).pid, signal.SIGKILL)
                if number == 25:
                    await other.stop()
                ids.append(await session.append(prompt(str(number))))
        assert [entry["id"] for entry in (await session.daemon.path(session.id)).entries] == ids


async def test_after_a_restart_the_session_is_open_again(locations: Locations, tmp_path: Path) -> None:
    async with an_agent(locations, tmp_path) as session:
        await session.append(prompt("hello"))
        os.kill((await session.daemon.status()).pid, signal.SIGKILL)
        me = next(client for client in (await session.daemon.clients()).clients if client.name == "agent")
        assert me.session_ids == [session.id]


async def test_the_answer_of_a_provider_can_be_appended_as_it_is(
    locations: Locations, tmp_path: Path
) -> None:
    async with an_agent(locations, tmp_path) as session:
        await session.append({"role": "user", "content": "look"}, format="anthropic")
        use = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
        await session.append({"role": "assistant", "content": [use]}, format="anthropic")
        told = {"type": "tool_result", "tool_use_id": "t1", "content": "there"}
        await session.append({"role": "user", "content": [told]}, format="anthropic")
        assert await the_path(session.daemon, session.id) == ["user", "assistant", "toolResult"]
        context = await session.context("anthropic")
        assert [message["role"] for message in context.messages] == ["user", "assistant", "user"]


RESPONSES: list[tuple[Literal["openai", "openai-responses", "anthropic"], dict[str, object]]] = [
    ("openai", {"id": "chatcmpl-1", "choices": [{"message": {"role": "assistant", "content": "there"}}]}),
    ("anthropic", {"id": "msg_1", "type": "message", "role": "assistant", "content": "there"}),
    ("openai-responses", {"id": "resp_1", "output": [{"type": "message", "role": "assistant", "content": "there"}]}),
    ("openai-responses", {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "look", "arguments": "{}"}),
    ("openai-responses", {"type": "message", "id": "msg_1", "role": "assistant", "content": "there"}),
]  # fmt: skip


@pytest.mark.parametrize(("format", "response"), RESPONSES)
def test_a_response_of_a_provider_gets_an_id_here_so_that_a_repeat_stores_it_once(
    format: Literal["openai", "openai-responses", "anthropic"], response: dict[str, object]
) -> None:
    sent = with_entry_id(response, format)
    assert (sent["type"], sent["message"]) == ("message", response)
    assert len(sent["id"]) == 8
    converted = [bytes(value) for value in drafts(format, msgspec.json.encode(sent))]
    assert [msgspec.json.decode(line)["id"] for line in converted] == [sent["id"]]


def test_entries_of_other_types_are_no_messages_in_any_format() -> None:
    change = {"type": "model_change", "role": "default", "model": "acme/one", "id": "m"}
    assert all(
        with_entry_id(change, format) == change for format in ("agent", "openai-responses", "anthropic")
    )


async def test_a_model_and_a_thinking_level_are_noted_when_they_change(
    locations: Locations, tmp_path: Path
) -> None:
    async with an_agent(locations, tmp_path) as session:
        for _ in range(2):
            await session.change_model("acme/one")
            await session.change_thinking_level("high")
        assert await the_path(session.daemon, session.id) == ["model_change", "thinking_level_change"]
        seen = await session.context()
        assert (seen.models["default"], seen.thinking_level) == ("acme/one", "high")
        with pytest.raises(ValueError, match="provider/name"):
            await session.change_model("one")


async def test_labels_titles_and_notes_of_its_own_hang_on_the_chain(
    locations: Locations, tmp_path: Path
) -> None:
    async with an_agent(locations, tmp_path) as session:
        async with session.turn():
            asked = await session.append(prompt("hello"))
            await session.label(asked, "greeting")
            await session.rename("Greetings")
            await session.record("acme.cost", {"cents": 3})
            await session.begin_task("Greet back", "It is polite")
            await session.append(answer("hi"))
        state = await session.state()
        assert state.key_decisions[0].decision == "Greet back"
        path = await the_path(session.daemon, session.id)
        assert (path[0], path[-1], len(path)) == ("user", "assistant", 6)


# --- turns


async def test_a_failed_turn_stays_as_a_branch_and_the_next_attempt_begins_at_the_prompt(
    locations: Locations, tmp_path: Path
) -> None:
    async with an_agent(locations, tmp_path) as session:
        asked = await session.append(prompt("look"))
        for attempt in range(2):
            try:
                async with session.turn():
                    await session.append(call("look", f"c{attempt}"))
                    if attempt == 0:
                        raise ModelFailed
                    await session.append(result("c1", "there"))
                    await session.append(answer("it is there"))
            except ModelFailed:
                assert session.leaf_id == asked
        assert await the_path(session.daemon, session.id) == ["user", "assistant", "toolResult", "assistant"]
        rows = (await session.daemon.tree(session.id, filter="all")).nodes
        assert sum(row.parent_id == asked and row.type == "message" for row in rows) == 2


async def test_a_failed_turn_may_be_told_of_in_a_summary(locations: Locations, tmp_path: Path) -> None:
    writer = Writer(says="The tool was missing.")
    async with an_agent(locations, tmp_path, writer) as session:
        await session.append(prompt("look"))
        with pytest.raises(ModelFailed):
            await fail(session, on_failure="summarize")
        assert await the_path(session.daemon, session.id) == ["user", "branch_summary"]
        assert writer.asked[0].purpose == "branch"
        assert "The tool was missing." in str((await session.context()).messages[-1])


async def test_without_anybody_to_write_a_summary_the_leaf_goes_back_all_the_same(
    locations: Locations, tmp_path: Path
) -> None:
    async with an_agent(locations, tmp_path) as session:
        asked = await session.append(prompt("look"))
        with pytest.raises(ModelFailed) as raised:
            await fail(session, on_failure="summarize")
        assert (await session.context()).entry_ids == [asked]
        assert raised.value.__notes__


async def test_a_turn_that_is_canceled_stays_as_it_is(locations: Locations, tmp_path: Path) -> None:
    async with an_agent(locations, tmp_path) as session:
        await session.append(prompt("look"))

        async def work() -> None:
            async with session.turn():
                await session.append(answer("I will look"))
                begun.set()
                await asyncio.Event().wait()

        begun = asyncio.Event()
        working = asyncio.create_task(work())
        await begun.wait()
        working.cancel()
        await asyncio.wait([working])
        assert await the_path(session.daemon, session.id) == ["user", "assistant"]


async def test_another_answer_can_be_had_to_the_same_prompt(locations: Locations, tmp_path: Path) -> None:
    async with an_agent(locations, tmp_path) as session:
        asked = await session.append(prompt("look"))
        async with session.turn():
            await session.append(answer("no"))
        assert (await session.retry()).leaf_id == asked
        async with session.turn():
            last = await session.append(answer("yes"))
        assert (await session.context()).entry_ids == [asked, last]


async def test_one_turn_is_taken_at_a_time(locations: Locations, tmp_path: Path) -> None:
    async with an_agent(locations, tmp_path) as session, session.turn():
        with pytest.raises(RuntimeError):
            async with session.turn():
                raise AssertionError("unreachable")


async def test_messages_of_others_in_the_middle_of_a_turn_part_no_call_from_its_result(
    locations: Locations, tmp_path: Path
) -> None:
    async with an_agent(locations, tmp_path) as session, connect(locations=locations) as other:
        await session.append(prompt("look"))
        async with session.turn():
            await session.append(call("look", "c1"))
            await other.append(session.id, [{"type": "message", "message": prompt("stop!")}])
            await session.append(result("c1", "there"))
            mine = await session.context()
            assert [message["role"] for message in mine.messages] == ["user", "assistant", "toolResult"]
        theirs = await other.context(session.id)
        assert theirs.messages[-1]["content"] == "stop!"
        assert (await session.context()).leaf_id == theirs.leaf_id


async def test_two_agents_take_turns_at_once_and_each_turn_is_whole(
    locations: Locations, tmp_path: Path
) -> None:
    async def work(session: AgentSession, name: str) -> str:
        for number in range(5):
            async with session.turn():
                await session.append(prompt(f"{name} {number}"))
                await session.append(call("look", f"{name}{number}"))
                await session.append(result(f"{name}{number}", "there"))
                last = await session.append(answer(f"{name} {number}"))
        return last

    async with an_agent(locations, tmp_path) as one, connect(locations=locations) as daemon:
        await one.append(prompt("go"))
        two = await AgentSession.open(daemon, one.id)
        await asyncio.gather(work(one, "a"), work(two, "b"))
        entries = {entry["id"]: entry for entry in (await daemon.entries(one.id)).entries}
        results = [e for e in entries.values() if e.get("message", {}).get("role") == "toolResult"]
        assert len(results) == 10
        for entry in results:
            calls = entries[entry["parentId"]]["message"]["content"]
            assert calls[0]["id"] == entry["message"]["toolCallId"]


# --- the context


async def test_a_context_that_is_too_full_is_waited_for_until_it_is_compacted(
    locations: Locations, tmp_path: Path
) -> None:
    writer = Writer(at_once=False)
    async with an_agent(locations, tmp_path, writer) as session:
        await session.compact_above(**WINDOW)
        await fill(session)
        waiting = asyncio.create_task(session.context())
        await until(lambda: writer.asked)
        assert not waiting.done()
        writer.may_write.set()
        context = await waiting
        assert len(writer.asked) == 1
        assert "What was said." in str(context.messages[0])
        assert context.leaf_id == session.leaf_id
        await session.append(prompt("go on"))
        assert (await the_path(session.daemon, session.id)).count("compaction") == 1


async def test_a_compaction_within_a_turn_becomes_a_link_of_its_chain(
    locations: Locations, tmp_path: Path
) -> None:
    async with an_agent(locations, tmp_path, Writer()) as session:
        await session.compact_above(**WINDOW)
        await fill(session, 3, used=0)
        async with session.turn():
            await session.append(answer("full now", used=3_500))
            await session.context()
            await session.append(answer("and on"))
        path = await the_path(session.daemon, session.id)
        assert path[-2:] == ["compaction", "assistant"]


async def test_a_failing_turn_does_not_lose_the_compaction_that_it_began_with(
    locations: Locations, tmp_path: Path
) -> None:
    async with an_agent(locations, tmp_path, Writer()) as session:
        await session.compact_above(**WINDOW)
        await fill(session)
        with pytest.raises(ModelFailed):
            await fail(session)
        assert (await the_path(session.daemon, session.id))[-1] == "compaction"


async def test_with_a_summarizer_that_fails_the_agent_goes_on_while_the_context_fits(
    locations: Locations, tmp_path: Path
) -> None:
    tried = 0

    async def summarize(request: SummaryRequest) -> str:
        nonlocal tried
        tried += 1
        raise ModelFailed

    async with an_agent(locations, tmp_path, summarize) as session:
        await session.compact_above(**WINDOW)
        await fill(session)
        async with session.turn():
            for _ in range(3):
                assert len((await session.context()).messages) == 8
        assert tried <= 2  # the daemon by itself, and the first context of the turn


async def test_a_context_that_does_not_fit_is_an_error_that_says_how_much_it_takes(
    locations: Locations, tmp_path: Path
) -> None:
    async with an_agent(locations, tmp_path) as session:
        await session.compact_above(**WINDOW)
        await fill(session, used=5_000)
        with pytest.raises(ContextOverflowError) as raised:
            await session.context()
        assert (raised.value.tokens, raised.value.context_window) == (5_000, 4_000)
        assert isinstance(raised.value.__cause__, RpcError)


async def test_the_window_is_written_down_once(locations: Locations, tmp_path: Path) -> None:
    async with an_agent(locations, tmp_path) as session:
        for _ in range(2):
            assert (await session.compact_above(**WINDOW)).context_window == 4_000
        again = await AgentSession.open(session.daemon, session.id)
        await again.compact_above(**WINDOW)
        assert await the_path(session.daemon, session.id) == ["custom"]


async def test_a_compaction_is_undone_by_going_back_before_it(locations: Locations, tmp_path: Path) -> None:
    async with an_agent(locations, tmp_path) as session:
        ids = await fill(session)
        before = await session.context()
        done = await session.compact("They greeted.", first_kept_entry_id=ids[-2])
        assert len((await session.context()).messages) == 3
        await session.branch(done.previous_leaf_id)
        assert (await session.context()).messages == before.messages
