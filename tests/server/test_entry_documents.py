"""`view/entry`: an entry as Markdown, over the wire."""

from support.daemons import Running, assistant, refusal, user
from support.shared import started


async def test_an_entry_is_read_as_a_document(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, user("Why?", id="q1"), assistant("Because.", id="a1"))
    await peer.append(session_id, user("Or so.", id="q2"), parentId="q1", advance=False)
    await peer.call("session/label", sessionId=session_id, entryId="q1", label="here")
    found = await peer.call("view/entry", sessionId=session_id, entryId="q1")
    assert found["uri"] == f"sessiond://session/{session_id}/entry/q1.md"
    assert found["languageId"] == "markdown"
    assert "label: here" in found["text"]
    assert "- Children: a1, q2" in found["text"]
    assert "```text\nWhy?\n```" in found["text"]
    other = await peer.call("view/entry", sessionId=session_id, entryId="q2")
    assert "- Parent: q1" in other["text"]
    assert "- Place: on another branch than the leaf" in other["text"]


async def test_a_text_that_was_cut_is_whole_in_its_document(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    whole = "x" * 600_000 + " the end"
    await peer.append(session_id, user(whole, id="long"))
    found = await peer.call("view/entry", sessionId=session_id, entryId="long")
    assert " the end\n```\n\n---\n" in found["text"]


async def test_an_entry_that_is_not_there_has_no_document(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    refused = await refusal(peer.call("view/entry", sessionId=session_id, entryId="nobody"))
    assert refused.kind == "entryNotFound"
