"""The typed methods against the real daemon: every method of the table, with what its arguments mean."""

import inspect
import re
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

import sessiond.client
from sessiond.client import AgentSession, connect
from sessiond.client.blocking import BlockingDaemon
from sessiond.client.daemon import Daemon
from sessiond.client.notifications import Notifications
from sessiond.client.subscription import Subscription
from sessiond.protocol import methods as m, types as t
from support.agents import answer, prompt
from support.homes import a_home

CALLED_BY_THE_CONNECTION = ("notified", "disconnected")
CLIENT = Path(sessiond.client.__file__).parent


@pytest.fixture
async def daemon() -> AsyncIterator[Daemon]:
    with a_home() as locations:
        async with connect(locations=locations) as daemon:
            yield daemon


async def talked(daemon: Daemon, folder: Path) -> tuple[str, list[str]]:
    """A session with two questions and answers, and the ids of its entries."""
    session = (await daemon.create(str(folder))).session.session_id
    messages = [prompt("why"), answer("because"), prompt("how"), answer("so")]
    done = await daemon.append(session, [{"type": "message", "message": message} for message in messages])
    return session, [entry.id for entry in done.entries]


def test_there_is_a_call_for_every_method_of_the_table_that_programs_need() -> None:
    called = set()
    for file in CLIENT.rglob("*.py"):
        for name in re.findall(r"\bm\.([A-Z_]+)\b", file.read_text(encoding="utf-8")):
            called.add(getattr(getattr(m, name), "name", None))
    assert set(m.METHODS) - called == {"view/document", "view/path"}  # what an editor's webview loads


@pytest.mark.parametrize("kind", [Daemon, AgentSession, Subscription, Notifications, BlockingDaemon])
def test_every_public_method_says_what_it_takes_returns_and_raises(kind: type) -> None:
    lacking = [
        f"{name}: {section}"
        for name, method in public_methods(kind).items()
        for section in sections_of(method)
        if section not in (inspect.getdoc(method) or "")
    ]
    assert lacking == []


def public_methods(kind: type) -> dict[str, Callable[..., object]]:
    """The public functions of a class and its bases by name."""
    return {
        name: getmember
        for name, getmember in inspect.getmembers(kind, inspect.isroutine)
        if not name.startswith("_") and name not in CALLED_BY_THE_CONNECTION
    }


def sections_of(method: Callable[..., object]) -> Iterator[str]:
    """Return the sentences that its docstring must have."""
    signature = inspect.signature(method)
    names = [name for name in signature.parameters if name not in ("self", "cls")]
    if names:
        yield "Args:"
    yield from (f"{name}: " for name in names)
    if signature.return_annotation not in (None, "None"):
        yield "Returns:"
    if inspect.iscoroutinefunction(method) and method not in (Daemon.aclose, Notifications.aclose):
        yield "Raises:"


async def test_bytes_that_were_put_are_got_by_hash_or_reference(daemon: Daemon) -> None:
    data = bytes(range(256)) * 33_000  # more than one page
    put = await daemon.put_blob(data)
    assert await daemon.get_blob(put.hash) == await daemon.get_blob(put.ref) == data
    assert not (await daemon.put_blob(data)).created
    steps: list[t.Progress] = []
    found = await daemon.collect_blobs(grace_ms=0, progress=steps.append)
    assert ([blob.hash for blob in found.removed], found.dry_run) == ([put.hash], True)
    assert steps[-1].kind == "end"


async def test_a_context_is_explained_and_shaped_for_a_provider(daemon: Daemon, tmp_path: Path) -> None:
    session, ids = await talked(daemon, tmp_path)
    context = await daemon.context(session, ids[1], format="google", explain=True)
    assert [message["role"] for message in context.messages] == ["user", "model"]
    assert [told.entry_id for told in context.explanation or []] == ids[:2]
    assert context.tokens > 0


async def test_a_compaction_and_a_branch_can_be_prepared_without_being_made(
    daemon: Daemon, tmp_path: Path
) -> None:
    session, ids = await talked(daemon, tmp_path)
    small = t.CompactionChoice(keep_recent_tokens=1)
    plan = await daemon.prepare_compaction(session, settings=small, instructions="Be brief.")
    assert plan.first_kept_entry_id in ids
    assert "Be brief." in (plan.prompt or "")
    left = await daemon.prepare_branch(session, ids[0])
    assert left.entry_ids_to_summarize == ids[1:]
    done = await daemon.compact(session, summary="S", first_kept_entry_id=ids[2], details={"a": 1})
    (stored,) = (await daemon.entries(session, entry_ids=[done.record_id])).entries
    assert stored["details"] == {"a": 1}


async def test_settings_are_chosen_for_a_session_and_taken_back(daemon: Daemon, tmp_path: Path) -> None:
    session, _ = await talked(daemon, tmp_path)
    usual = (await daemon.configure(session)).auto_compact
    chosen = await daemon.configure(session, auto_compact=t.CompactionChoice(context_window=90_000))
    assert (chosen.auto_compact.context_window, chosen.record_id is None) == (90_000, False)
    assert (await daemon.configure(session, auto_compact=None)).auto_compact == usual


async def test_a_working_state_counts_each_change_once(daemon: Daemon, tmp_path: Path) -> None:
    session, _ = await talked(daemon, tmp_path)
    for _ in range(2):
        await daemon.update_state(
            session, tokens=10, decision=t.NewDecision(decision="d"), tags=["x"], id="once"
        )
    begun = await daemon.begin_task(session, decision=t.NewDecision(decision="e"))
    state = (await daemon.state(session)).state
    assert (state.tokens_used, state.tags) == (10, ["x"])
    assert [decision.decision for decision in begun.state.key_decisions] == ["d", "e"]
    assert (await daemon.stats(session)).tree_stats.message_counts == {"user": 2, "assistant": 2}


async def test_sessions_are_found_go_out_and_come_in(daemon: Daemon, tmp_path: Path) -> None:
    session, _ = await talked(daemon, tmp_path)
    assert (await daemon.search("because", session_id=session)).hits[0].session_id == session
    out = tmp_path / "out.jsonl"
    assert (await daemon.export_session(session, "go", path=str(out))).entry_count == 4
    came = await daemon.import_sessions([str(out)], format="go", cwd=str(tmp_path))
    assert came.sessions[0].status == "created"


async def test_the_ranges_of_a_hit_are_slices_of_its_snippet(daemon: Daemon, tmp_path: Path) -> None:
    session = (await daemon.create(str(tmp_path))).session.session_id
    message = {"role": "user", "content": "😀 👩‍🚀 a basilisk"}
    await daemon.append(session, [{"type": "message", "message": message}])
    [hit] = (await daemon.search("basilisk", session_id=session)).hits
    assert [hit.snippet[range_.start : range_.end] for range_ in hit.ranges] == ["basilisk"]


async def test_prompts_are_remembered(daemon: Daemon) -> None:
    assert (await daemon.add_prompt("a prompt of its own")).added
    assert (await daemon.list_prompts()).prompts[0].prompt == "a prompt of its own"
    assert (await daemon.list_prompts("own")).prompts[0].prompt == "a prompt of its own"
