"""Each usage example, method and rule of NOVA's session manager, told with sessiond (decision 0022)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.daemons import Peer, Running, assistant, refusal, running, user
from support.shared import lines_of, started


async def state_of(peer: Peer, session_id: str, **params: Any) -> dict[str, Any]:
    state: dict[str, Any] = (await peer.call("state/get", sessionId=session_id, **params))["state"]
    return state


async def update(peer: Peer, session_id: str, **change: Any) -> dict[str, Any]:
    updated: dict[str, Any] = await peer.call("state/update", sessionId=session_id, **change)
    return updated


async def begin(peer: Peer, session_id: str, **params: Any) -> dict[str, Any]:
    begun: dict[str, Any] = await peer.call("state/beginTask", sessionId=session_id, **params)
    return begun


IDENTITY = {"sessionId", "createdAt", "updatedAt", "parentSessionId", "forkCount"}
"""Fields with values of a fork's own; `updatedAt` too, while nothing was updated."""


def inherited(state: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in state.items() if name not in IDENTITY}


# --- the usage examples ------------------------------------------------------------------------------------


async def test_usage_example_basic_session(daemon: Running, cwd: str) -> None:
    peer, session = await started(daemon, cwd)

    result = await begin(peer, session)

    assert result["sessionId"] == session
    assert result["state"]["turnCount"] == 1
    assert result["context"].splitlines() == [f"Session ID: {session}", "Turns: 1"]


async def test_usage_example_session_continuation(daemon: Running, cwd: str) -> None:
    peer, session = await started(daemon, cwd)

    tasks = [await begin(peer, session) for _ in range(3)]

    assert [task["state"]["turnCount"] for task in tasks] == [1, 2, 3]
    assert {task["sessionId"] for task in tasks} == {session}


async def test_usage_example_session_forking(daemon: Running, cwd: str) -> None:
    peer, main = await started(daemon, cwd)
    await begin(peer, main, decision={"decision": "Use SQLite", "rationale": "One file"})
    before = await state_of(peer, main)

    exploration = (await peer.call("session/fork", sessionId=main))["session"]["sessionId"]
    await begin(peer, exploration)

    explored, after = await state_of(peer, exploration), await state_of(peer, main)
    assert (explored["turnCount"], explored["parentSessionId"]) == (2, main)
    assert explored["keyDecisions"] == before["keyDecisions"]
    assert after == before | {"forkCount": 1}  # the original session is unchanged


async def test_usage_example_session_state(daemon: Running, cwd: str) -> None:
    peer, session = await started(daemon, cwd)
    await update(peer, session, agentName="scout", artifact={"name": "plan", "path": "/work/plan.md"})

    state = await state_of(peer, session)
    assert (state["agentName"], len(state["keyDecisions"])) == ("scout", 0)
    assert state["latestArtifacts"] == {"plan": "/work/plan.md"}

    assert (await update(peer, session, plan="Updated plan"))["state"]["plan"] == "Updated plan"


# --- get_or_create_session ---------------------------------------------------------------------------------


async def test_get_or_create_session_without_an_id_makes_a_uuid(daemon: Running, cwd: str) -> None:
    _, session = await started(daemon, cwd)
    assert [len(part) for part in session.split("-")] == [8, 4, 4, 4, 12]


async def test_get_or_create_session_takes_model_tags_and_agent_name(daemon: Running, cwd: str) -> None:
    peer, session = await started(daemon, cwd, tags=["feature", "pr"])
    await update(peer, session, model="anthropic/claude-sonnet-4-5", agentName="scout")

    state = await state_of(peer, session)

    assert (state["model"], state["agentName"]) == ("anthropic/claude-sonnet-4-5", "scout")
    assert state["tags"] == ["feature", "pr"]


async def test_get_or_create_session_resumes_from_disk(tmp_path: Path) -> None:
    async with running(tmp_path) as first:
        peer, session = await started(first, "/work", id="nova-resumed")
        await update(peer, session, tokens=70, plan="Go on")
        before = await state_of(peer, session)
    async with running(tmp_path) as second:
        peer = await second.attach()
        await peer.call("session/open", sessionId=session)
        assert await state_of(peer, session) == before


async def test_get_or_create_session_says_what_is_available_when_there_is_none(memory: Running) -> None:
    peer, session = await started(memory, "/work", id="nova-available")
    refused = await refusal(peer.call("session/open", sessionId="nova-avialable"))
    assert (refused.kind, refused.details["didYouMean"]) == ("sessionNotFound", [session])


async def test_get_or_create_session_refuses_an_id_that_is_taken(memory: Running) -> None:
    peer, session = await started(memory, "/work", id="nova-taken-1")
    refused = await refusal(peer.call("session/create", cwd="/work", id=session))
    assert (refused.kind, refused.details["sessionId"]) == ("alreadyExists", session)


# --- run_task ----------------------------------------------------------------------------------------------


async def test_run_task_counts_the_turn_and_makes_the_context(daemon: Running, cwd: str) -> None:
    peer, session = await started(daemon, cwd)
    await update(peer, session, model="anthropic/claude", plan="Fix the parser")

    result = await begin(peer, session, decision={"decision": "Buffer", "rationale": "Simple"})

    assert result["context"].splitlines() == [
        f"Session ID: {session}", "Model: anthropic/claude", "Turns: 1", "Plan: Fix the parser",
        "Recent decision: Buffer",
    ]  # fmt: skip
    assert (result["model"], result["pruned"]) == ("anthropic/claude", False)
    (decision,) = result["state"]["keyDecisions"]
    assert (decision["decision"], decision["rationale"]) == ("Buffer", "Simple")


async def test_run_task_without_a_decision_tracks_none(daemon: Running, cwd: str) -> None:
    peer, session = await started(daemon, cwd)
    assert (await begin(peer, session))["state"]["keyDecisions"] == []


async def test_run_task_prunes_once_a_limit_is_passed(daemon: Running, cwd: str) -> None:
    peer, session = await started(daemon, cwd)
    await update(peer, session, tokens=150_000, artifact={"name": "a", "path": "/a"})
    assert (await begin(peer, session))["pruned"] is False

    assert (await update(peer, session, tokens=1))["shouldPrune"] is True
    task = await begin(peer, session)

    assert (task["pruned"], task["state"]["pruned"], task["state"]["latestArtifacts"]) == (True, True, {})
    assert task["state"]["lastPrunedAt"] == task["state"]["updatedAt"]
    assert (await begin(peer, session))["pruned"] is False  # not again


async def test_run_task_takes_limits_of_its_own(daemon: Running, cwd: str) -> None:
    peer, session = await started(daemon, cwd)
    for number in range(4):
        task = await begin(peer, session, decision={"decision": f"d{number}"}, limits={"maxDecisions": 3})
    assert [decision["decision"] for decision in task["state"]["keyDecisions"]] == ["d1", "d2", "d3"]
    assert (task["pruned"], task["state"]["metrics"]["decisionCount"]) == (True, 0)


async def test_run_task_in_a_session_that_is_not_there_is_refused(memory: Running) -> None:
    peer = await memory.attach()
    assert (await refusal(begin(peer, "nova-nowhere"))).kind == "sessionNotFound"


# --- fork_session ------------------------------------------------------------------------------------------


async def test_fork_session_inherits_plan_decisions_artifacts_tokens_tags_model_and_agent(
    daemon: Running, cwd: str
) -> None:
    peer, parent = await started(daemon, cwd, tags=["feature"])
    await update(
        peer, parent, plan="Fix it", decision={"decision": "Buffer", "rationale": "Simple"}, tokens=300,
        artifact={"name": "a", "path": "/a"}, model="anthropic/claude", agentName="scout",
    )  # fmt: skip
    point = await state_of(peer, parent)

    child = (await peer.call("session/fork", sessionId=parent))["session"]

    state = await state_of(peer, child["sessionId"])
    assert inherited(state) == inherited(point)
    assert (state["parentSessionId"], state["forkCount"]) == (parent, 0)
    assert child["tags"] == ["feature"]


async def test_fork_session_is_independent_afterwards(daemon: Running, cwd: str) -> None:
    peer, parent = await started(daemon, cwd)
    child = (await peer.call("session/fork", sessionId=parent))["session"]["sessionId"]
    await update(peer, parent, tokens=5, tags=["parent"])
    await update(peer, child, plan="Alone")
    assert (await state_of(peer, parent))["plan"] is None
    assert (await state_of(peer, child))["tokensUsed"] == 0
    assert (await state_of(peer, child))["tags"] == []


async def test_fork_session_of_a_session_that_is_not_there_is_refused(memory: Running) -> None:
    peer = await memory.attach()
    assert (await refusal(peer.call("session/fork", sessionId="nova-nowhere"))).kind == "sessionNotFound"


@pytest.mark.parametrize("position", ["at", "before"])
async def test_a_fork_in_the_middle_has_the_state_of_its_point(memory: Running, position: str) -> None:
    peer, parent = await started(memory, "/work", tags=["first"])
    await update(peer, parent, tokens=10, tags=["second"])
    middle = (await update(peer, parent, tokens=20))["recordId"]
    await update(peer, parent, tokens=40, tags=["third"])
    at = middle
    if position == "before":
        at = lines_of((await peer.call("session/info", sessionId=parent))["session"]["path"])[2]["id"]

    child = await peer.call("session/fork", sessionId=parent, leafId=middle, position=position)

    point = await state_of(peer, parent, leafId=at)
    assert inherited(await state_of(peer, child["session"]["sessionId"])) == inherited(point)
    assert child["session"]["tags"] == point["tags"] == ["second"]


async def test_forks_of_forks_are_counted_where_they_come_from(memory: Running) -> None:
    peer, parent = await started(memory, "/work")
    children = [(await peer.call("session/fork", sessionId=parent))["session"]["sessionId"] for _ in "ab"]
    grandchild = (await peer.call("session/fork", sessionId=children[0]))["session"]["sessionId"]
    counts = [(await state_of(peer, name))["forkCount"] for name in (parent, *children, grandchild)]
    assert counts == [2, 1, 0, 0]


async def test_a_fork_knows_its_parent_after_the_parents_file_has_moved(memory: Running) -> None:
    peer, parent = await started(memory, "/work")
    child = (await peer.call("session/fork", sessionId=parent))["session"]["sessionId"]
    await peer.append(parent, user("q"), assistant("a"))  # no draft any more: its file goes elsewhere
    assert (await state_of(peer, child))["parentSessionId"] == parent
    assert (await state_of(peer, parent))["forkCount"] == 1


async def test_a_parent_named_by_its_id_counts_too(memory: Running) -> None:
    peer, parent = await started(memory, "/work")
    _, child = await started(memory, "/work", parentSessionId=parent)
    assert (await state_of(peer, child))["parentSessionId"] == parent
    assert (await state_of(peer, parent))["forkCount"] == 1


async def test_forks_in_memory_are_counted(memory: Running) -> None:
    peer, parent = await started(memory, "/work", ephemeral=True)
    await peer.call("session/fork", sessionId=parent)
    assert (await state_of(peer, parent))["forkCount"] == 1


# --- cleanup_session ---------------------------------------------------------------------------------------


async def test_cleanup_session_keeps_the_state_in_the_trash(memory: Running) -> None:
    peer, session = await started(memory, "/work")
    await begin(peer, session)
    assert (await peer.call("session/close", sessionId=session))["trashPath"] is None
    trashed = (await peer.call("session/delete", sessionId=session))["trashPath"]
    assert lines_of(trashed)[1]["customType"] == "sessiond.state"
    assert (await refusal(peer.call("state/get", sessionId=session))).kind == "sessionTrashed"


# --- get_session_state -------------------------------------------------------------------------------------


async def test_get_session_state_changes_nothing(daemon: Running, cwd: str) -> None:
    peer, session = await started(daemon, cwd)
    first = await peer.call("state/get", sessionId=session)
    assert await peer.call("state/get", sessionId=session) == first
    assert (first["leafId"], first["shouldPrune"]) == (None, False)


async def test_get_session_state_has_all_fields_of_nova(memory: Running) -> None:
    peer, session = await started(memory, "/work")
    state = await state_of(peer, session)
    assert state.keys() == {
        "sessionId", "createdAt", "updatedAt", "model", "agentName", "plan", "keyDecisions",
        "latestArtifacts", "tokensUsed", "turnCount", "tags", "metrics", "parentSessionId", "forkCount", "pruned",
        "lastPrunedAt",
    }  # fmt: skip
    assert state["metrics"].keys() == {"decisionCount", "totalTokens", "taskCount"}


async def test_get_session_state_of_a_session_that_is_not_there_is_refused(memory: Running) -> None:
    peer = await memory.attach()
    assert (await refusal(peer.call("state/get", sessionId="nova-nowhere"))).kind == "sessionNotFound"


async def test_get_session_state_at_a_branch_point_is_the_state_of_then(daemon: Running, cwd: str) -> None:
    peer, session = await started(daemon, cwd)
    point = (await update(peer, session, tokens=5, plan="one"))["recordId"]
    await update(peer, session, tokens=7, plan="two", tags=["late"])
    then = await state_of(peer, session, leafId=point)
    assert (then["tokensUsed"], then["plan"], then["tags"]) == (5, "one", [])

    await peer.call("session/branch", sessionId=session, entryId=point)

    assert await state_of(peer, session) == then
    assert (await update(peer, session, tokens=1))["state"]["tokensUsed"] == 6


async def test_the_model_of_the_path_is_the_state_s_until_an_update_names_one(memory: Running) -> None:
    peer, session = await started(memory, "/work")
    await peer.append(session, {"type": "model_change", "model": "openai/gpt", "role": "default"})
    assert (await begin(peer, session))["model"] == "openai/gpt"
    assert (await update(peer, session, model="anthropic/claude"))["state"]["model"] == "anthropic/claude"


# --- validate_session_id -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "session_id",
    ["12345678", "a" * 128, "feature-branch_2", "550e8400-e29b-41d4-a716-446655440000"],
    ids=["eight-characters", "128-characters", "hyphens-and-underscores", "uuid"],
)
async def test_validate_session_id_accepts(memory: Running, session_id: str) -> None:
    _, made = await started(memory, "/work", id=session_id)
    assert made == session_id


@pytest.mark.parametrize(
    "session_id",
    [
        "", "short12", "../../../etc/passwd", "session/../../x", "C:\\sessions\\x", "..........",
        "session..two", "session two", "session:two", "session\n12", "sessión-12", "session\x0012", "-rf-session",
        "_hidden_session", "a" * 129,
    ],
    ids=[
        "empty", "seven-characters", "path-traversal", "path-separator", "backslash", "dots-only",
        "two-dots-inside", "blank", "colon", "newline", "accent", "nul", "leading-hyphen",
        "leading-underscore", "129-characters",
    ],
)  # fmt: skip
async def test_validate_session_id_refuses(memory: Running, session_id: str) -> None:
    peer = await memory.attach()
    refused = await refusal(peer.call("session/create", cwd="/work", id=session_id))
    assert refused.kind == "invalidParams"
    assert memory.files("drafts") == []


# --- should_prune, compress, add_decision, add_artifact, update_tokens, increment_turns --------------------


async def test_should_prune_is_false_below_the_limits_and_after_a_pruning(daemon: Running, cwd: str) -> None:
    peer, session = await started(daemon, cwd)
    said = [
        (await update(peer, session, **change))["shouldPrune"]
        for change in ({"tokens": 150_000}, {"tokens": 1}, {"compress": True}, {"tokens": 200_000})
    ]
    assert said == [False, True, False, False]


async def test_should_prune_goes_by_limits_of_the_request(memory: Running) -> None:
    peer, session = await started(memory, "/work")
    assert (await update(peer, session, tokens=11, limits={"maxTokens": 10}))["shouldPrune"] is True
    assert (await peer.call("state/get", sessionId=session))["shouldPrune"] is False


async def test_compress_keeps_the_newest_decisions(daemon: Running, cwd: str) -> None:
    peer, session = await started(daemon, cwd)
    for number in range(5):
        await update(peer, session, decision={"decision": f"d{number}"})
    pruned = (await update(peer, session, compress=True, limits={"maxDecisions": 2}))["state"]
    assert [decision["decision"] for decision in pruned["keyDecisions"]] == ["d3", "d4"]
    assert (pruned["pruned"], pruned["metrics"]["decisionCount"]) == (True, 0)
    assert pruned["lastPrunedAt"] is not None


async def test_compress_keeps_artifacts_while_tokens_are_few(memory: Running) -> None:
    peer, session = await started(memory, "/work")
    await update(peer, session, artifact={"name": "a", "path": "/a"}, tokens=10)
    assert (await update(peer, session, compress=True))["state"]["latestArtifacts"] == {"a": "/a"}
    limits = {"maxTokens": 9}
    assert (await update(peer, session, compress=True, limits=limits))["state"]["latestArtifacts"] == {}


async def test_add_decision_keeps_the_last_ten(daemon: Running, cwd: str) -> None:
    peer, session = await started(daemon, cwd)
    for number in range(12):
        state = (await update(peer, session, decision={"decision": f"d{number}"}))["state"]
    assert [decision["decision"] for decision in state["keyDecisions"]] == [
        f"d{number}" for number in range(2, 12)
    ]
    assert state["metrics"]["decisionCount"] == 12


async def test_add_decision_takes_a_timestamp_or_its_own(memory: Running) -> None:
    peer, session = await started(memory, "/work")
    own = {"decision": "d", "rationale": "r", "timestamp": "2025-01-01T00:00:00"}
    await update(peer, session, decision=own)
    state = (await update(peer, session, decision={"decision": "e"}))["state"]
    assert state["keyDecisions"][0] == own
    assert state["keyDecisions"][1]["timestamp"] == state["updatedAt"]


async def test_add_artifact_replaces_one_of_the_same_name(memory: Running) -> None:
    peer, session = await started(memory, "/work")
    await update(peer, session, artifact={"name": "a", "path": "/1"})
    state = (await update(peer, session, artifact={"name": "a", "path": "/2"}))["state"]
    assert state["latestArtifacts"] == {"a": "/2"}


async def test_update_tokens_adds_and_takes_nothing_away(memory: Running) -> None:
    peer, session = await started(memory, "/work")
    await update(peer, session, tokens=5)
    state = (await update(peer, session, tokens=7))["state"]
    assert (state["tokensUsed"], state["metrics"]["totalTokens"]) == (12, 12)
    assert (await refusal(update(peer, session, tokens=-1))).kind == "invalidParams"


async def test_increment_turns_counts_one_task_however_many_turns(memory: Running) -> None:
    peer, session = await started(memory, "/work")
    state = (await update(peer, session, turns=3))["state"]
    assert (state["turnCount"], state["metrics"]["taskCount"]) == (3, 1)


async def test_an_update_of_nothing_is_refused(memory: Running) -> None:
    peer, session = await started(memory, "/work")
    assert (await refusal(update(peer, session))).kind == "invalidParams"
    assert (await refusal(update(peer, session, limits={"maxTokens": 1}))).kind == "invalidParams"


# --- to_dict, from_dict ------------------------------------------------------------------------------------


async def test_to_dict_and_from_dict_are_lines_of_the_log(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        peer, session = await started(daemon, "/work", tags=["a"])
        await update(peer, session, decision={"decision": "d", "rationale": "r"}, tokens=9, tags=["b", " b "])
        before = await state_of(peer, session)
        path = (await peer.call("session/info", sessionId=session))["session"]["path"]
    tags, change = lines_of(path)[1:]
    assert (tags["customType"], tags["data"]) == ("sessiond.tags", {"tags": ["b"]})
    assert change["customType"] == "sessiond.state"
    assert change["data"] == {"decision": {"decision": "d", "rationale": "r"}, "tokens": 9}
    async with running(tmp_path) as daemon:
        assert await state_of(await daemon.attach(), session) == before


# --- what NOVA leaves open ---------------------------------------------------------------------------------


async def test_two_clients_that_update_at_once_lose_nothing(daemon: Running, cwd: str) -> None:
    one, session = await started(daemon, cwd)
    two = await daemon.attach()

    answers = await asyncio.gather(
        *(update(peer, session, tokens=1, turns=1) for _ in range(20) for peer in (one, two))
    )

    assert sorted(answer["state"]["tokensUsed"] for answer in answers) == list(range(1, 41))
    assert all(answer["state"]["tokensUsed"] == answer["seq"] for answer in answers)
    assert (await state_of(two, session))["turnCount"] == 40


async def test_an_update_with_an_id_may_be_sent_again_and_counts_once(daemon: Running, cwd: str) -> None:
    peer, session = await started(daemon, cwd)
    change = {"id": "u1", "tokens": 5, "tags": ["a"], "decision": {"decision": "d"}}
    first = await update(peer, session, **change)
    await update(peer, session, tokens=1)
    assert await update(peer, session, **change) == first | {"duplicate": True}
    assert (await state_of(peer, session))["tokensUsed"] == 6
    assert first["recordId"] == "u1"
    assert (await refusal(update(peer, session, id="u1", tokens=6))).kind == "idReused"


async def test_a_task_with_an_id_begins_once(daemon: Running, cwd: str) -> None:
    peer, session = await started(daemon, cwd)
    first = await begin(peer, session, id="t1", decision={"decision": "d"})
    again = await begin(peer, session, id="t1", decision={"decision": "d"})
    assert again == first | {"duplicate": True}
    assert (await begin(peer, session, id="t2"))["state"]["turnCount"] == 2


async def test_tags_alone_with_an_id_may_be_sent_again(memory: Running) -> None:
    peer, session = await started(memory, "/work")
    first = await update(peer, session, id="u1", tags=["a"])
    await update(peer, session, tags=["b"])
    again = await update(peer, session, id="u1", tags=["a"])
    assert (again["recordId"], again["seq"]) == (first["recordId"], first["seq"]) == ("u1", 1)
    assert (await state_of(peer, session))["tags"] == ["b"]


async def test_an_update_keeps_its_place_among_appends(daemon: Running, cwd: str) -> None:
    peer, session = await started(daemon, cwd)
    first, updated, last = await asyncio.gather(
        peer.append(session, user("before")),
        update(peer, session, tokens=1),
        peer.append(session, user("after")),
    )
    assert (first["lastSeq"], updated["seq"], last["lastSeq"]) == (1, 2, 3)


async def test_tags_of_an_update_are_those_that_lists_filter_by(memory: Running) -> None:
    peer, session = await started(memory, "/work", tags=["old"])
    await peer.append(session, user("q"), assistant("a"))
    changed = await update(peer, session, tags=["bug", "parser"], plan="Fix it")
    assert changed["state"]["tags"] == ["bug", "parser"]
    found = await peer.call("session/list", tags=["bug"])
    assert [listed["sessionId"] for listed in found["sessions"]] == [session]
    assert (await peer.call("session/list", tags=["old"]))["sessions"] == []
    assert peer.told("session/changed")[-1]["changed"] == ["tags"]


async def test_tags_alone_are_one_line(memory: Running) -> None:
    peer, session = await started(memory, "/work")
    changed = await update(peer, session, tags=["a"])
    assert (changed["seq"], changed["state"]["tags"]) == (1, ["a"])


async def test_tags_that_two_clients_change_at_once_are_all_heard(memory: Running) -> None:
    peer, session = await started(memory, "/work")
    await asyncio.gather(
        update(peer, session, tags=["a"]), *(peer.call("session/tag", sessionId=session, add=[word]) for word in "bc")
    )  # fmt: skip
    assert (await state_of(peer, session))["tags"] == ["a", "b", "c"]


async def test_nothing_of_a_state_stands_in_the_daemon_s_log(daemon: Running, cwd: str) -> None:
    if daemon.mode != "process":
        return  # only a process of its own has a log
    secret = "sk-live-9d1f"
    peer, session = await started(daemon, cwd)
    await update(
        peer, session, plan=secret, decision={"decision": secret, "rationale": secret}, tags=[secret],
        artifact={"name": secret, "path": f"/{secret}"}, model=secret, agentName=secret,
    )  # fmt: skip
    await begin(peer, session, decision={"decision": secret})
    await refusal(update(peer, session, plan=secret, tokens=-1))
    await refusal(peer.call("state/get", sessionId=session, leafId=secret))
    log = daemon.home / "state" / "sessiond.log"
    assert secret not in log.read_text(encoding="utf-8")
