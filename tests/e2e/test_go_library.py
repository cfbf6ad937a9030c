"""The Go session manager's document as it promises to work: its usage example, its methods, its AgentSession.

The file formats of its scenarios are tested where Go's sessions are imported and exported.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sessiond.client import AgentSession, RpcError, connect
from sessiond.client.daemon import Daemon
from sessiond.paths import Locations
from support.agents import WINDOW, Writer, an_agent, answer, call, fill, prompt, result, the_path
from support.homes import a_home


@pytest.fixture
def locations(monkeypatch: pytest.MonkeyPatch) -> Iterator[Locations]:
    with a_home() as locations:
        monkeypatch.setenv("SESSIOND_HOME", str(locations.home))
        monkeypatch.setenv("SESSIOND_TERMINAL", "go")
        yield locations


@pytest.fixture
async def daemon(locations: Locations) -> AsyncIterator[Daemon]:
    async with connect(locations=locations) as daemon:
        yield daemon


@pytest.fixture
async def session(daemon: Daemon, tmp_path: Path) -> AgentSession:
    return await AgentSession.create(daemon, str(tmp_path))


async def entry(session: AgentSession, entry_id: str) -> dict[str, Any]:
    return (await session.daemon.entries(session.id, entry_ids=[entry_id])).entries[0]


async def said(session: AgentSession, *texts: str) -> list[str]:
    """A question, an answer, and so on; the ids of their entries."""
    makers = (prompt, answer)
    return [await session.append(makers[number % 2](text)) for number, text in enumerate(texts)]


# --- the usage example


async def test_section_13_the_usage_example_step_by_step(daemon: Daemon, tmp_path: Path) -> None:
    # 1. Initialize or continue a session.
    session = await AgentSession.resume(daemon, str(tmp_path))
    assert (await session.context()).entry_ids == []

    # 2. Append a user message.
    await session.append(prompt("Hello, Agent!"), id="msg-1")
    assert (await entry(session, "msg-1"))["parentId"] is None

    # 3. Get context for the LLM.
    assert (await session.context()).entry_ids == ["msg-1"]

    # 4. An assistant response.
    await session.append(answer("Hello! How can I help?"), id="msg-2")
    assert (await entry(session, "msg-2"))["parentId"] == "msg-1"

    # 5. Branching: go back to the user message.
    await session.branch("msg-1")
    await session.append(prompt("Actually, tell me a joke."), id="msg-3")
    assert (await entry(session, "msg-3"))["parentId"] == "msg-1"

    # 6. Labelling an entry.
    await session.label("msg-1", "first-greeting")
    label = await entry(session, session.leaf_id or "")
    assert (label["type"], label["parentId"], label["targetId"]) == ("label", "msg-3", "msg-1")

    # 7. Compaction: summarize msg-1 and msg-2, keep msg-3 and forward.
    text = "User greeted and then asked for a joke."
    done = await daemon.compact(session.id, summary=text, first_kept_entry_id="msg-3", tokens_before=1500)
    compaction = await entry(session, done.record_id)
    assert compaction["parentId"] == label["id"]
    assert (compaction["firstKeptEntryId"], compaction["tokensBefore"]) == ("msg-3", 1500)

    # 8. The resulting context.
    context = await session.context()
    assert context.entry_ids == [done.record_id, "msg-3"]
    assert text in str(context.messages[0])

    # The next run continues it.
    again = await AgentSession.resume(daemon, str(tmp_path))
    assert (again.id, again.leaf_id) == (session.id, done.record_id)


# --- life


async def test_new_names_the_session_that_it_was_branched_from(daemon: Daemon, tmp_path: Path) -> None:
    parent = await AgentSession.create(daemon, str(tmp_path), id="sess-122")
    session = await AgentSession.create(daemon, str(tmp_path), parent_session_id=parent.id)
    assert (await daemon.info(session.id)).session.parent_session_id == "sess-122"


async def test_load_opens_an_existing_file(session: AgentSession) -> None:
    ids = await said(session, "hello", "hi")
    path = (await session.daemon.info(session.id)).session.path
    loaded = await AgentSession.open(session.daemon, path=path)
    assert (loaded.id, loaded.leaf_id) == (session.id, ids[-1])


async def test_continue_recent_finds_the_session_that_was_changed_last(
    locations: Locations, daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = [await AgentSession.create(daemon, str(tmp_path)) for _ in range(3)]
    for day, session in enumerate((sessions[0], sessions[2], sessions[1]), 1):
        when = f"2026-01-0{day}T10:00:00.000Z"
        spoken = (prompt("hello"), answer("hi"))
        await session.append_entries(
            [{"type": "message", "message": message, "timestamp": when} for message in spoken]
        )
    await daemon.aclose()
    monkeypatch.setenv("SESSIOND_TERMINAL", "another")
    async with connect(locations=locations) as elsewhere:
        found = await elsewhere.continue_session(str(tmp_path))
    assert (found.reason, found.session.session_id) == ("recent", sessions[1].id)


async def test_fork_from_makes_a_session_of_another_ones_history(
    session: AgentSession, tmp_path: Path
) -> None:
    ids = await said(session, "hello", "hi")
    source = (await session.daemon.info(session.id)).session
    forked = (await session.daemon.fork(path=source.path, cwd=str(tmp_path / "elsewhere"))).session
    assert forked.session_id != session.id
    assert forked.cwd == str(tmp_path / "elsewhere")
    assert [entry["id"] for entry in (await session.daemon.path(forked.session_id)).entries] == ids


# --- appending


async def test_append_adds_a_generic_entry_below_the_leaf_and_advances_it(session: AgentSession) -> None:
    (first,) = await said(session, "hello")
    (added,) = await session.append_entries([{"type": "message", "message": answer("hi"), "id": "mine"}])
    assert added == session.leaf_id == "mine"
    assert (await entry(session, "mine"))["parentId"] == first


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        (
            lambda listed: listed.change_thinking_level("high"),
            {"type": "thinking_level_change", "thinkingLevel": "high"},
        ),
        (
            lambda listed: listed.change_model("openai/gpt-4o"),
            {"type": "model_change", "provider": "openai", "modelId": "gpt-4o"},
        ),
        (lambda listed: listed.rename("Joke session"), {"type": "session_info", "name": "Joke session"}),
        (
            lambda listed: listed.record("acme", {"a": [1]}),
            {"type": "custom", "customType": "acme", "data": {"a": [1]}},
        ),
    ],
    ids=["AppendThinkingLevelChange", "AppendModelChange", "AppendSessionInfo", "AppendCustomEntry"],
)
async def test_an_item_that_is_no_message_is_an_entry_that_no_model_sees(
    session: AgentSession, change: Callable[[AgentSession], Any], kept: dict[str, Any]
) -> None:
    ids = await said(session, "hello", "hi")
    await change(session)
    stored = await entry(session, session.leaf_id or "")
    assert stored["parentId"] == ids[-1]
    assert stored.items() >= kept.items()
    assert (await session.context()).entry_ids == ids


async def test_append_compaction_records_summary_first_kept_and_tokens(session: AgentSession) -> None:
    ids = await said(session, "one", "two", "three", "four")
    done = await session.daemon.compact(
        session.id, summary="S", first_kept_entry_id=ids[2], tokens_before=900
    )
    stored = await entry(session, done.record_id)
    kept = {"type": "compaction", "summary": "S", "firstKeptEntryId": ids[2], "tokensBefore": 900}
    assert stored.items() >= kept.items()


async def test_set_label_and_an_empty_one_clears_it(session: AgentSession) -> None:
    first, _ = await said(session, "hello", "hi")
    await session.label(first, "greeting")
    await session.label(first, "salutation")
    assert await labels(session) == {first: "salutation"}
    await session.label(first, "")
    assert await labels(session) == {}


async def labels(session: AgentSession) -> dict[str, str]:
    rows = (await session.daemon.tree(session.id)).nodes
    return {row.id: row.label for row in rows if row.label}


# --- branching


async def test_branch_moves_the_leaf_and_the_next_entry_is_a_child_of_it(session: AgentSession) -> None:
    first, second = await said(session, "hello", "hi")
    await session.branch(first)
    third = await session.append(prompt("hello again"))
    assert (await entry(session, third))["parentId"] == first
    assert (await entry(session, second))["parentId"] == first


async def test_branch_with_summary_is_a_checkpoint_in_the_new_branch(session: AgentSession) -> None:
    first, _ = await said(session, "hello", "hi")
    moved = await session.branch(first, summary="A greeting was returned.")
    stored = await entry(session, moved.record_id)
    assert (stored["type"], stored["parentId"]) == ("branch_summary", first)
    assert stored["summary"] == "A greeting was returned."
    assert session.leaf_id == moved.record_id
    assert (await session.context()).entry_ids == [first, moved.record_id]


async def test_create_branched_session_exports_one_path(session: AgentSession) -> None:
    first, second = await said(session, "hello", "hi")
    await session.branch(first)
    await session.append(answer("good day"))
    cut = (await session.daemon.fork(session.id, leaf_id=second)).session
    assert [entry["id"] for entry in (await session.daemon.path(cut.session_id)).entries] == [first, second]
    assert cut.entry_count == 2


# --- reading


async def test_get_context_without_a_compaction_has_all_messages_of_the_path(session: AgentSession) -> None:
    ids = await said(session, "one", "two", "three")
    await session.branch(ids[0])
    other = await session.append(answer("another"))
    assert (await session.context()).entry_ids == [ids[0], other]


async def test_get_context_begins_with_the_latest_compaction_on_the_path(session: AgentSession) -> None:
    ids = await said(session, "one", "two", "three", "four", "five", "six")
    await session.compact("first", first_kept_entry_id=ids[2])
    latest = await session.compact("second", first_kept_entry_id=ids[4])
    last = await session.append(prompt("seven"))
    context = await session.context()
    assert context.entry_ids == [latest.record_id, ids[4], ids[5], last]
    assert "second" in str(context.messages[0])
    assert "first" not in str(context.messages)


async def test_get_context_tracks_model_and_thinking_level(session: AgentSession) -> None:
    await session.change_model("openai/gpt-4o")
    await session.change_thinking_level("high")
    await said(session, "hello")
    context = await session.context()
    assert (context.models["default"], context.thinking_level) == ("openai/gpt-4o", "high")


async def test_get_tree_has_every_entry_with_its_children_and_label(session: AgentSession) -> None:
    first, second = await said(session, "hello", "hi")
    await session.branch(first)
    third = await session.append(answer("good day"))
    await session.label(second, "short")
    rows = (await session.daemon.tree(session.id)).nodes
    assert [(row.id, row.parent_id, row.label) for row in rows] == [
        (first, None, None), (second, first, "short"), (third, first, None),
    ]  # fmt: skip
    assert rows[0].child_count == 2


async def test_list_has_id_path_name_times_and_message_count(session: AgentSession, tmp_path: Path) -> None:
    await said(session, "hello", "hi")
    await session.rename("Greetings")
    (listed,) = (await session.daemon.list_sessions(str(tmp_path))).sessions
    assert (listed.session_id, listed.title, listed.message_count) == (session.id, "Greetings", 2)
    assert listed.path is not None
    assert Path(listed.path).is_file()
    assert listed.created_at <= listed.updated_at


# --- safety


async def test_a_compaction_never_parts_a_tool_call_from_its_result(session: AgentSession) -> None:
    await said(session, "look", "I will")
    calling = await session.append(call("look", "c1"))
    with pytest.raises(RpcError) as raised:
        await session.compact("too early", first_kept_entry_id=calling)
    assert raised.value.kind == "wouldBreakTree"
    back = await session.append(result("c1", "there"))
    with pytest.raises(RpcError) as raised:
        await session.compact("parted", first_kept_entry_id=back)
    assert raised.value.kind == "wouldBreakTree"
    await session.append(prompt("thanks"))
    await session.compact("whole", first_kept_entry_id=calling)


# --- the AgentSession


async def test_section_11_events_of_an_agent_are_kept_as_they_happen(session: AgentSession) -> None:
    async def on_event(event: dict[str, Any]) -> None:
        if event["type"] == "message_end":
            await session.append(event["message"])

    told = [prompt("look"), call("look", "c1"), result("c1", "there"), answer("it is there")]
    for message in told:
        await on_event({"type": "message_start", "message": message})
        await on_event({"type": "message_end", "message": message})
    assert (await session.context()).messages == told


async def test_section_11_it_decides_when_to_compact_by_window_and_reserve(
    locations: Locations, tmp_path: Path
) -> None:
    writer = Writer()
    async with an_agent(locations, tmp_path, writer) as session:
        await session.compact_above(**WINDOW)
        await fill(session, used=2_900)
        assert len((await session.context()).messages) == 8
        assert not writer.asked
        await session.append(prompt("more"))
        await session.append(answer("more", used=3_100))
        assert (await session.context()).messages[0]["role"] == "compactionSummary"
        assert len(writer.asked) == 1


async def test_section_11_a_retry_may_keep_what_was_learnt_from_the_failure(
    locations: Locations, tmp_path: Path
) -> None:
    async with an_agent(locations, tmp_path, Writer(says="The first way failed.")) as session:
        await session.append(prompt("fix it"))
        async with session.turn():
            await session.append(answer("done, but wrongly"))
        await session.retry(summarize=True)
        await session.append(answer("done"))
        assert await the_path(session.daemon, session.id) == ["user", "branch_summary", "assistant"]
