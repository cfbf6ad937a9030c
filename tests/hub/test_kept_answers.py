"""State and statistics that go on from what was kept are what they would be if they were found anew."""

import random
from pathlib import Path
from typing import Any

from support.daemons import assistant, running, user


async def test_states_and_statistics_asked_for_in_any_order_are_those_of_a_fresh_daemon(
    tmp_path: Path,
) -> None:
    choose = random.Random(11)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        session = (await peer.call("session/create", cwd="/p", tags=["t0"]))["session"]["sessionId"]
        await peer.append(session, user("q", id="e0"), assistant("a", id="e1"))
        asked: list[tuple[str, str, Any]] = []
        for number in range(2, 80):
            draft: dict[str, Any] = choose.choice(
                [
                    user("u"), assistant("a"), custom("sessiond.state", {"tokens": number, "turns": 1}),
                    custom("sessiond.tags", {"tags": [f"t{number}"]}),
                    {"type": "model_change", "provider": "p", "modelId": f"m{number}"},
                ]
            )  # fmt: skip
            draft |= {"id": f"e{number}"}
            place = {"parentId": f"e{choose.randrange(number)}"} if choose.random() < 0.3 else {}
            await peer.append(session, draft, **place)
            leaf = f"e{choose.randrange(number + 1)}"
            asked += [
                (method, leaf, await peer.call(method, sessionId=session, leafId=leaf))
                for method in ("state/get", "session/stats")
            ]
    async with running(tmp_path) as fresh:
        peer = await fresh.attach()
        for method, leaf, kept in reversed(asked):
            answer = await peer.call(method, sessionId=session, leafId=leaf)
            if method == "session/stats":  # the tree has grown since
                answer, kept = answer["pathStats"], kept["pathStats"]
            assert answer == kept


def custom(custom_type: str, data: Any) -> dict[str, Any]:
    return {"type": "custom", "customType": custom_type, "data": data}
