"""A session with a working state and no conversation is a session, as in NOVA: listed, and not trashed as a draft."""

from pathlib import Path
from typing import get_args

from sessiond.protocol.types import Filter
from support.columns import message_ids_of, messages_of
from support.daemons import Running, refusal, user
from support.dialect_files import DATA
from support.shared import started


async def test_an_imported_state_is_listed(memory: Running, tmp_path: Path) -> None:
    file = tmp_path / "nova.json"
    file.write_bytes((DATA / "nova.json").read_bytes())
    peer = await memory.attach()
    for status in ("created", "unchanged"):
        [session] = (await peer.call("session/import", path=str(file), cwd="/work"))["sessions"]
        assert (session["status"], session["isDraft"]) == (status, False)
    [listed] = (await peer.call("session/list"))["sessions"]
    assert (listed["sessionId"], listed["isDraft"]) == (session["sessionId"], False)
    fork = (await peer.call("session/fork", sessionId=session["sessionId"]))["session"]
    assert fork["isDraft"] is False


async def test_the_first_update_of_the_state_makes_a_session_of_a_draft(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, user("Plan it."))
    assert (await peer.call("session/list", cwd=cwd))["sessions"] == []
    await peer.call("state/update", sessionId=session_id, plan="First this, then that.")
    [listed] = (await peer.call("session/list", cwd=cwd))["sessions"]
    assert (listed["sessionId"], listed["isDraft"]) == (session_id, False)
    assert Path(listed["path"]).is_relative_to(memory.home / "data" / "sessions")


async def test_a_compaction_without_a_first_kept_entry_keeps_nothing_from_before(
    memory: Running, cwd: str
) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, user("q"))
    for extra in ({}, {"firstKeptEntryId": None}):
        await peer.append(session_id, {"type": "compaction", "summary": "s", **extra}, user("on"))
        seen = await peer.call("session/context", sessionId=session_id)
        assert [message["role"] for message in messages_of(seen)] == ["compactionSummary", "user"]
    refused = await refusal(
        peer.append(session_id, {"type": "compaction", "summary": "s", "firstKeptEntryId": "nobody"})
    )
    assert refused.kind == "wouldBreakTree"


LABELED_ONLY = 1 << get_args(Filter).index("labeledOnly")
HIDDEN = {
    "type": "custom_message",
    "id": "hid",
    "customType": "hint",
    "content": "a secret hint",
    "display": False,
}


async def test_a_message_that_is_not_displayed_is_seen_by_models_and_complete_views_only(
    memory: Running, cwd: str
) -> None:
    peer, session_id = await started(memory, cwd)
    shown = {**HIDDEN, "id": "shown", "content": "an open hint", "display": True}
    await peer.append(
        session_id, user("q", id="q"), HIDDEN, shown, user("on", id="on"), {**HIDDEN, "id": "tip"}
    )
    for labeled in ("hid", "shown", "tip"):
        await peer.call("session/label", sessionId=session_id, entryId=labeled, label=f"on {labeled}")
    complete = (await peer.call("session/tree", sessionId=session_id, filter="all"))["nodes"]
    assert [row["id"] for row in complete if row["type"] != "label"] == ["q", "hid", "shown", "on", "tip"]
    for name, ids in {
        "default": ["q", "shown", "on"], "noTools": ["q", "shown", "on"],
        "userOnly": ["q", "on"], "labeledOnly": ["shown"],
    }.items():  # fmt: skip
        rows = (await peer.call("session/tree", sessionId=session_id, filter=name))["nodes"]
        assert [row["id"] for row in rows] == ids
    context = await peer.call("session/context", sessionId=session_id)
    assert message_ids_of(context) == ["q", "hid", "shown", "on", "tip"]
    found = await peer.call("session/search", query="hint")
    assert [hit["entryId"] for hit in found["hits"]] == ["shown"]
    rows = (await peer.call("view/page", sessionId=session_id))["rows"]
    assert {row["id"] for row in rows if row["filterMask"] & LABELED_ONLY} == {"shown"}
    text = (await peer.call("session/export", sessionId=session_id, format="markdown"))["text"]
    assert "an open hint" in text
    assert "a secret hint" not in text
