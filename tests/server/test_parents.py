"""The parent of a session: given by id or by path, checked, and named by id and path."""

from pathlib import Path

import pytest

from support.daemons import Running, assistant, refusal, user
from support.shared import started


async def test_a_session_names_its_parent_by_id_and_path(memory: Running) -> None:
    peer, parent = await started(memory, "/work")
    await peer.append(parent, user("1"), assistant("2"))
    path = (await peer.call("session/info", sessionId=parent))["session"]["path"]
    for params in ({"parentSessionId": parent}, {"parentPath": path}):
        made = (await peer.call("session/create", cwd="/work", **params))["session"]
        assert (made["parentSessionId"], made["parentPath"]) == (parent, path)
    forked = (await peer.call("session/fork", sessionId=parent))["session"]
    assert (forked["parentSessionId"], forked["parentPath"]) == (parent, path)


async def test_the_parent_may_be_created_just_before(memory: Running) -> None:
    peer = await memory.attach()
    peer.send("session/create", cwd="/work", id="parent-of-one")
    made = (await peer.call("session/create", cwd="/work", parentSessionId="parent-of-one"))["session"]
    assert made["parentSessionId"] == "parent-of-one"


async def test_an_ephemeral_parent_is_named_by_its_id(memory: Running) -> None:
    peer, parent = await started(memory, "/work", ephemeral=True)
    made = (await peer.call("session/create", cwd="/work", parentSessionId=parent))["session"]
    assert (made["parentSessionId"], made["parentPath"]) == (parent, None)


async def test_the_path_of_a_file_with_another_name_gives_no_id(memory: Running, tmp_path: Path) -> None:
    peer = await memory.attach()
    path = str(tmp_path / "notes.jsonl")
    made = (await peer.call("session/create", cwd="/work", parentPath=path))["session"]
    assert (made["parentSessionId"], made["parentPath"]) == (None, path)


@pytest.mark.parametrize(
    ("params", "kind"),
    [
        ({"parentSessionId": "nobody-knows"}, "sessionNotFound"),
        ({"parentPath": "notes.jsonl"}, "invalidParams"),
        ({"parentSessionId": "nobody-knows", "parentPath": "/notes.jsonl"}, "invalidParams"),
    ],
)
async def test_a_parent_that_cannot_be_is_refused(memory: Running, params: dict[str, str], kind: str) -> None:
    peer = await memory.attach()
    assert (await refusal(peer.call("session/create", cwd="/work", **params))).kind == kind
    assert (await peer.call("session/list", includeDrafts=True))["sessions"] == []


@pytest.mark.parametrize("params", [{"title": "x" * 1_001}, {"tags": ["x" * 101]}, {"tags": [""]},
                                    {"tags": [str(number) for number in range(101)]}])  # fmt: skip
async def test_a_title_and_tags_have_limits(memory: Running, params: dict[str, object]) -> None:
    peer, session_id = await started(memory, "/work")
    assert (await refusal(peer.call("session/create", cwd="/work", **params))).kind == "invalidParams"
    if "tags" in params:
        assert (
            await refusal(peer.call("session/tag", sessionId=session_id, **params))
        ).kind == "invalidParams"


async def test_a_list_counts_its_sessions_only_on_request(memory: Running) -> None:
    peer, _ = await started(memory, "/work")
    page = await peer.call("session/list", includeDrafts=True)
    assert (len(page["sessions"]), page["totalCount"]) == (1, None)
    assert (await peer.call("session/list", includeDrafts=True, withTotal=True))["totalCount"] == 1
