"""A context that is kept between questions is what it would be if it were built anew."""

import random
from pathlib import Path
from typing import Any

from support.daemons import assistant, running, user


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
            assert await peer.call("session/context", sessionId=session, leafId=leaf) == answer
