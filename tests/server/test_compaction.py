"""`session/prepareCompaction` and `session/compact` with a summary that the client gives; settings of a session."""

from pathlib import Path
from typing import Any

import pytest

from support.columns import message_ids_of, messages_of
from support.daemons import Running, assistant, refusal, running, user
from support.shared import lines_of, started
from support.summarizers import SMALL, answer_of, compactions, summarizing, talk, tool_call, tool_result


async def context_ids(peer: Any, session_id: str, **params: Any) -> list[str]:
    seen = await peer.call("session/context", sessionId=session_id, **params)
    return list(message_ids_of(seen))


# --- preparing ---------------------------------------------------------------------------------------------


async def test_a_preparation_is_the_preview_of_the_compaction(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    prepared = await peer.call("session/prepareCompaction", sessionId=session_id, settings=SMALL)
    assert prepared["reason"] is None
    assert "?" * 400 in prepared["prompt"]
    kept_from = prepared["firstKeptEntryId"]
    before = await context_ids(peer, session_id)
    assert prepared["entryIdsToSummarize"] == before[: before.index(kept_from)]
    done = await peer.call("session/compact", sessionId=session_id, settings=SMALL, summary="So far.")
    assert await context_ids(peer, session_id) == [done["recordId"], *before[before.index(kept_from) :]]
    assert done["tokensBefore"] == prepared["tokensBefore"]
    assert prepared["tokensAfter"] < done["tokensAfter"] < prepared["tokensBefore"]


async def test_a_session_is_needy_above_the_window_less_the_reserve(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    tokens = (await peer.call("session/prepareCompaction", sessionId=session_id))["tokensBefore"]
    for window, needed in ((tokens + 101, False), (tokens + 99, True)):
        settings = {"contextWindow": window, "reserveTokens": 100, "keepRecentTokens": 10}
        prepared = await peer.call("session/prepareCompaction", sessionId=session_id, settings=settings)
        assert prepared["needed"] is needed


async def test_a_preparation_changes_nothing(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    before = memory.everything()
    await peer.call("session/prepareCompaction", sessionId=session_id, settings=SMALL)
    assert memory.everything() == before


async def test_settings_that_leave_no_room_are_refused(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    full = {"contextWindow": 1000, "reserveTokens": 500, "keepRecentTokens": 500}
    for method in ("session/prepareCompaction", "session/compact"):
        refused = await refusal(peer.call(method, sessionId=session_id, settings=full))
        assert refused.kind == "invalidParams"
    refused = await refusal(peer.call("session/configure", sessionId=session_id, autoCompact=full))
    assert refused.kind == "invalidParams"


async def test_a_prompt_that_nobody_could_take_is_not_sent(
    memory: Running, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("hub.summaries.requesting", "server.handlers.compacting"):
        monkeypatch.setattr(f"sessiond.{module}.MAX_PROMPT_BYTES", 1_000)
    peer, session_id = await talk(memory, cwd)
    writer = await summarizing(memory)
    for method, params in (
        ("session/prepareCompaction", {"settings": SMALL}),
        ("session/prepareBranch", {"entryId": "q0"}),
    ):
        assert (await refusal(peer.call(method, sessionId=session_id, **params))).kind == "tooLarge"
    refused = await refusal(peer.call("session/compact", sessionId=session_id, settings=SMALL))
    assert refused.kind == "summarizerFailed"
    assert writer.peer.asked == []


# --- a given summary ---------------------------------------------------------------------------------------


async def test_all_that_is_given_is_stored(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    given = {
        "summary": "Much.", "firstKeptEntryId": "q8", "shortSummary": "M.", "details": {"n": 1},
        "preserveData": [1, None], "fromExtension": True, "tokensBefore": 77,
    }  # fmt: skip
    done = await peer.call("session/compact", sessionId=session_id, **given)
    [entry] = await compactions(peer, session_id)
    assert {name: entry[name] for name in given} == given
    assert (entry["id"], entry["parentId"]) == (done["recordId"], "a9")
    assert {name: done[name] for name in ("summary", "firstKeptEntryId", "tokensBefore")} == {
        "summary": "Much.", "firstKeptEntryId": "q8", "tokensBefore": 77,
    }  # fmt: skip
    assert (done["summarizedBy"], done["leafId"], done["previousLeafId"]) == ("given", entry["id"], "a9")


async def test_a_compaction_is_undone_by_moving_the_leaf_before_it(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    before = await context_ids(peer, session_id)
    done = await peer.call("session/compact", sessionId=session_id, summary="Much.", settings=SMALL)
    assert await context_ids(peer, session_id) != before
    await peer.call("session/branch", sessionId=session_id, entryId=done["previousLeafId"])
    assert await context_ids(peer, session_id) == before


async def test_tokens_are_counted_as_the_context_counts_them(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    await peer.append(session_id, user("more"), answer_of("yes", 31_415))
    done = await peer.call("session/compact", sessionId=session_id, summary="Much.", settings=SMALL)
    assert done["tokensBefore"] == 31_415
    seen = await peer.call("session/context", sessionId=session_id)
    assert seen["tokens"] == done["tokensAfter"]


async def test_tokens_after_a_given_cut_are_those_of_the_new_context(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    await peer.call("session/compact", sessionId=session_id, summary="Once.", firstKeptEntryId="q3")
    await peer.append(session_id, user("more", id="more"), assistant("yes"))
    done = await peer.call("session/compact", sessionId=session_id, summary="Twice.", firstKeptEntryId="q7")
    assert (await peer.call("session/context", sessionId=session_id))["tokens"] == done["tokensAfter"]


async def test_the_files_that_were_touched_are_noted_unless_details_are_given(
    memory: Running, cwd: str
) -> None:
    peer, session_id = await talk(memory, cwd, turns=1)
    await peer.append(session_id, tool_call("c1"), tool_result("c1"), assistant("read"))
    await peer.append(session_id, *(user("?" * 800) for _ in range(5)))
    await peer.call("session/compact", sessionId=session_id, summary="Much.", settings=SMALL)
    [entry] = await compactions(peer, session_id)
    assert entry["details"] == {"readFiles": ["notes.md"], "modifiedFiles": []}
    await peer.call("session/branch", sessionId=session_id, entryId=entry["parentId"])
    await peer.call("session/compact", sessionId=session_id, summary="Much.", settings=SMALL, details=None)
    assert (await compactions(peer, session_id))[-1]["details"] is None


@pytest.mark.parametrize(
    ("first_kept", "kind"), [("r1", "wouldBreakTree"), ("side", "wouldBreakTree"), ("none", "entryNotFound")]
)
async def test_a_cut_that_would_break_the_tree_is_refused(
    memory: Running, cwd: str, first_kept: str, kind: str
) -> None:
    peer, session_id = await talk(memory, cwd, turns=1)
    await peer.append(session_id, user("aside", id="side"), parentId="q0", advance=False)
    await peer.append(session_id, tool_call("c1", id="t1"), tool_result("c1", id="r1"), assistant("read"))
    refused = await refusal(
        peer.call("session/compact", sessionId=session_id, summary="S", firstKeptEntryId=first_kept)
    )
    assert refused.kind == kind
    assert await compactions(peer, session_id) == []


async def test_a_compaction_inside_a_tool_call_is_refused(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    await peer.append(session_id, user("look"), tool_call("c1"))
    for cut in ({}, {"firstKeptEntryId": "q5"}):
        refused = await refusal(
            peer.call("session/compact", sessionId=session_id, summary="S", settings=SMALL, **cut)
        )
        assert refused.kind == "wouldBreakTree"


async def test_a_turn_that_was_given_up_in_its_calls_may_be_compacted(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    aborted = tool_call("c1")
    aborted["message"]["stopReason"] = "aborted"
    await peer.append(session_id, user("look"), aborted)
    await peer.call("session/compact", sessionId=session_id, summary="S", settings=SMALL)


async def test_an_expected_leaf_that_has_moved_is_a_conflict(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    for params in ({"summary": "S"}, {}):
        refused = await refusal(
            peer.call("session/compact", sessionId=session_id, settings=SMALL, expectedLeafId="a8", **params)
        )
        assert (refused.kind, refused.details["currentLeafId"], refused.details["missingCount"]) == (
            "leafConflict",
            "a9",
            2,
        )


async def test_a_summary_that_is_given_for_a_short_session_is_used(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    prepared = await peer.call("session/prepareCompaction", sessionId=session_id)
    assert prepared["reason"] == "nothingToSummarize"
    result = await peer.call("session/compact", sessionId=session_id, summary="Of herons.")
    assert (result["summary"], result["summarizedBy"]) == ("Of herons.", "given")
    context = messages_of(await peer.call("session/context", sessionId=session_id))
    assert (context[0]["role"], context[0]["summary"]) == ("compactionSummary", "Of herons.")
    assert [message["role"] for message in context[1:]] == ["user", "assistant"]  # the last turn is kept
    refused = await refusal(peer.call("session/compact", sessionId=session_id))
    assert refused.kind == "nothingToCompact"


async def test_a_summary_of_a_single_turn_keeps_its_answer(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, user("one"), assistant("two", id="b"))
    result = await peer.call("session/compact", sessionId=session_id, summary="S")
    assert result["firstKeptEntryId"] == "b"
    assert await context_ids(peer, session_id) == [result["recordId"], "b"]


async def test_a_summary_of_a_single_message_leaves_nothing_to_keep(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, user("one"))
    refused = await refusal(peer.call("session/compact", sessionId=session_id, summary="S"))
    assert refused.kind == "nothingToCompact"


async def test_a_path_that_is_compacted_already_or_too_short_is_refused(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    await summarizing(memory)
    refused = await refusal(peer.call("session/compact", sessionId=session_id))
    assert refused.kind == "nothingToCompact"
    await peer.call("session/compact", sessionId=session_id, summary="S", settings=SMALL)
    refused = await refusal(peer.call("session/compact", sessionId=session_id, summary="S", settings=SMALL))
    assert refused.kind == "nothingToCompact"
    prepared = await peer.call("session/prepareCompaction", sessionId=session_id, settings=SMALL)
    assert (prepared["reason"], prepared["prompt"]) == ("alreadyCompacted", None)


async def test_a_cut_goes_with_a_summary(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    await summarizing(memory)
    refused = await refusal(peer.call("session/compact", sessionId=session_id, firstKeptEntryId="q5"))
    assert refused.kind == "invalidParams"


async def test_a_session_that_cannot_be_written_is_refused_before_anybody_writes_a_summary(
    tmp_path: Path, cwd: str
) -> None:
    async with running(tmp_path) as daemon:
        peer, session_id = await talk(daemon, cwd)
        [path] = daemon.files()
    path.write_bytes(path.read_bytes().replace(b'"version":3', b'"version":9', 1))
    async with running(tmp_path) as daemon:
        writer = await summarizing(daemon)
        peer = await daemon.attach()
        for method, params in (
            ("session/compact", {"settings": SMALL}),
            ("session/branch", {"entryId": "q3", "summarize": True}),
        ):
            refused = await refusal(peer.call(method, sessionId=session_id, **params))
            assert refused.kind == "unsupportedVersion"
        assert writer.peer.asked == []


async def test_a_reply_comes_before_what_it_caused(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    await peer.call("session/compact", sessionId=session_id, summary="S", settings=SMALL)
    await peer.until(lambda client: any(seq == 21 for seq in client.seqs()))
    assert peer.order[-2:] == ["reply", "session/appended"]


# --- settings of a session ---------------------------------------------------------------------------------


async def test_a_session_keeps_its_settings_and_a_null_takes_them_back(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path) as daemon:
        peer, session_id = await talk(daemon, cwd, turns=1)
        configured = (await peer.call("session/configure", sessionId=session_id))["autoCompact"]
        done = await peer.call(
            "session/configure", sessionId=session_id, autoCompact={"contextWindow": 90_000}
        )
        assert done["autoCompact"] == configured | {"contextWindow": 90_000}
        line = lines_of(daemon.files()[0])[-1]
        assert (line["id"], line["customType"]) == (done["recordId"], "sessiond.settings")
        assert line["data"] == {"autoCompact": {"contextWindow": 90_000}}
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        more = await peer.call("session/configure", sessionId=session_id, autoCompact={"enabled": True})
        assert more["autoCompact"] == configured | {"contextWindow": 90_000, "enabled": True}
        prepared = await peer.call(
            "session/prepareCompaction", sessionId=session_id, settings={"reserveTokens": 7}
        )
        assert prepared["settings"] == more["autoCompact"] | {"reserveTokens": 7}
        back = await peer.call("session/configure", sessionId=session_id, autoCompact=None)
        assert back["autoCompact"] == configured
        asked = await peer.call("session/configure", sessionId=session_id)
        assert asked == back | {"recordId": None}


async def test_settings_that_another_program_wrote_wrong_choose_nothing(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd, turns=1)
    before = await peer.call("session/configure", sessionId=session_id)
    for data in ({"autoCompact": {"enabled": 3, "contextWindow": -1}}, {"autoCompact": [1]}, {}, None, 7):
        await peer.append(session_id, {"type": "custom", "customType": "sessiond.settings", "data": data})
        found = await peer.call("session/configure", sessionId=session_id)
        assert found["autoCompact"] == before["autoCompact"]


async def test_the_system_message_outlives_a_compaction_wherever_its_cut_comes_from(
    memory: Running, cwd: str
) -> None:
    for cut in ({}, {"firstKeptEntryId": "q5"}):
        peer, session_id = await talk(memory, cwd)
        rules = {"type": "message", "id": "rules", "message": {"role": "system", "content": "Be brief."}}
        await peer.append(session_id, rules)
        await peer.call("session/compact", sessionId=session_id, summary="S", settings=SMALL, **cut)
        seen = await peer.call("session/context", sessionId=session_id, format="anthropic")
        assert "Be brief." in str(seen["system"])
