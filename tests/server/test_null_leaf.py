"""A `leafId` of null means before the first entry in every method; if it is absent, the session's leaf is meant."""

from typing import Any

import pytest

from support.columns import seqs_of
from support.daemons import Peer, Running, assistant, user
from support.shared import started


async def said(daemon: Running, cwd: str) -> tuple[Peer, str]:
    peer, session = await started(daemon, cwd)
    await peer.append(session, user("q", id="q"), assistant("a", id="a"))
    return peer, session


@pytest.mark.parametrize(
    ("method", "params", "of_leaf", "of_null"),
    [
        ("session/path", {}, lambda result: seqs_of(result) == [1, 2], lambda result: result["items"] == []),
        ("session/context", {}, lambda result: result["leafId"] == "a", lambda result: result["leafId"] is None),
        ("session/context", {}, lambda result: len(result["messages"]) == 2, lambda result: result["messages"] == []),
        (
            "session/stats", {},
            lambda result: result["pathStats"]["entryCount"] == 2,
            lambda result: result["pathStats"]["entryCount"] == 0,
        ),
        ("session/stats", {}, lambda result: result["leafId"] == "a", lambda result: result["leafId"] is None),
        ("state/get", {}, lambda result: result["leafId"] == "a", lambda result: result["leafId"] is None),
        (
            "session/prepareBranch", {"entryId": "q"},
            lambda result: result["previousLeafId"] == "a", lambda result: result["previousLeafId"] is None,
        ),
        (
            "session/prepareCompaction", {},
            lambda result: result["leafId"] == "a", lambda result: result["leafId"] is None,
        ),
        (
            "session/fork", {},
            lambda result: result["session"]["messageCount"] == 2,
            lambda result: result["session"]["messageCount"] == 0,
        ),
        (
            "session/export", {"format": "markdown"},
            lambda result: "## " in result["text"], lambda result: "## " not in result["text"],
        ),
    ],
)  # fmt: skip
async def test_null_is_before_the_first_entry(
    memory: Running, cwd: str, method: str, params: dict[str, Any], of_leaf: Any, of_null: Any
) -> None:
    peer, session = await said(memory, cwd)
    assert of_leaf(await peer.call(method, sessionId=session, **params))
    assert of_null(await peer.call(method, sessionId=session, **params, leafId=None))


async def test_a_comparison_with_null_has_nothing_on_the_right(memory: Running, cwd: str) -> None:
    peer, session = await said(memory, cwd)
    absent = await peer.call("session/compare", sessionId=session, leftId="q")
    null = await peer.call("session/compare", sessionId=session, leftId="q", rightId=None)
    assert (absent["right"]["entryIds"], null["right"]["entryIds"]) == (["a"], [])
    assert null["left"]["entryIds"] == ["q"]
