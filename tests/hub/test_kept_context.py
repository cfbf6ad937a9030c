"""A context that is kept between questions is what it would be if it were built anew."""

import random
from pathlib import Path
from typing import Any

from support.columns import entries_of
from support.daemons import assistant, running, user

OF_THE_WHOLE_SESSION: dict[str, Any] = {"messageCount": 0, "offPathCount": 0}


async def test_contexts_asked_for_in_any_order_are_those_of_a_fresh_daemon(tmp_path: Path) -> None:
    choose = random.Random(7)
    asked: list[tuple[str, Any]] = []
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        session = (await peer.call("session/create", cwd="/p"))["session"]["sessionId"]
        await peer.append(session, user("q", id="e0"), assistant("a", id="e1"))
        for number in range(2, 60):
            kind = choose.choice(["user", "assistant", "branch", "compaction", "thinking"])
            place = {"parentId": f"e{choose.randrange(number)}"} if kind == "branch" else {}
            draft: dict[str, Any] = user(f"u{number}")
            if kind == "assistant":
                draft = assistant(f"a{number}")
            elif kind == "thinking":
                draft = {"type": "thinking_level_change", "thinkingLevel": choose.choice(["low", "high"])}
            elif kind == "compaction":
                draft = {"type": "compaction", "summary": f"s{number}", "firstKeptEntryId": f"e{number}"}
            await peer.append(session, {**draft, "id": f"e{number}"}, **place)
            leaf = f"e{choose.randrange(number + 1)}" if choose.random() < 0.3 else f"e{number}"
            asked.append((leaf, await peer.call("session/context", sessionId=session, leafId=leaf)))
    for leaf, answer in asked:
        async with running(tmp_path) as fresh:
            peer = await fresh.attach()
            again = await peer.call("session/context", sessionId=session, leafId=leaf)
            assert {**again, **OF_THE_WHOLE_SESSION} == {**answer, **OF_THE_WHOLE_SESSION}


async def test_a_context_that_was_empty_when_it_was_asked_for_has_the_model_of_a_later_answer(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        session = (await peer.call("session/create", cwd="/p"))["session"]["sessionId"]
        assert (await peer.call("session/context", sessionId=session))["models"] == {}
        await peer.append(session, user("q"), assistant("a"))
        seen = await peer.call("session/context", sessionId=session)
        assert seen["models"] == {"default": "anthropic/claude-test-1"}


async def test_a_model_change_without_a_provider_is_in_the_context_and_in_lists(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        session = (await peer.call("session/create", cwd="/p"))["session"]["sessionId"]
        for draft in ({"model": "one"}, {"modelId": "two"}):
            change = {"type": "model_change", **draft}
            await peer.append(session, change, user("q"), assistant("a"))
            [name] = draft.values()
            seen = await peer.call("session/context", sessionId=session)
            assert seen["models"] == {"default": name}
            [row] = (await peer.call("session/list"))["sessions"]
            assert row["model"] == name
        entries = entries_of(await peer.call("session/entries", sessionId=session))
        changes = [entry for entry in entries if entry["type"] == "model_change"]
        assert [(item["model"], item["modelId"]) for item in changes] == [("one", "one"), ("two", "two")]
