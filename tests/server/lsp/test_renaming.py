"""Renaming a label, where it was set and at its entry."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from support.daemons import Peer, Running, assistant, user
from support.editors import editor, place, texts_at
from support.shared import started


async def labeled(daemon: Running, cwd: str) -> tuple[Peer, str, Path]:
    """A session whose first entry has a label: its lines are the header, q1, a1 and the label."""
    peer, session_id = await started(daemon, cwd)
    await peer.append(session_id, user("Why?", id="q1"), assistant("So.", id="a1"))
    await peer.call("session/label", sessionId=session_id, entryId="q1", label="the start")
    path = Path((await peer.call("session/info", sessionId=session_id))["session"]["path"])
    return peer, session_id, path


async def labels_of(peer: Peer, session_id: str) -> Sequence[str | None]:
    rows = (await peer.call("session/tree", sessionId=session_id))["nodes"]
    return [row["label"] for row in rows]


async def prepared(client: pytest_lsp.LanguageClient, path: Path, line: int, within: str) -> object:
    at = place(path, line, within)
    return await client.text_document_prepare_rename_async(
        types.PrepareRenameParams(at.text_document, at.position)
    )


async def renamed(client: pytest_lsp.LanguageClient, path: Path, line: int, within: str, name: str) -> object:
    at = place(path, line, within)
    return await client.text_document_rename_async(types.RenameParams(at.text_document, at.position, name))


@pytest.mark.parametrize(("line", "within", "shown"), [(1, "", "q1"), (3, "the start", "the start")])
async def test_a_label_is_renamed_at_its_entry_and_where_it_was_set(
    served: Running, cwd: str, line: int, within: str, shown: str
) -> None:
    peer, session_id, path = await labeled(served, cwd)
    async with editor(served.home) as client:
        found = await prepared(client, path, line, within)
        assert isinstance(found, types.PrepareRenamePlaceholder)
        assert (found.placeholder, texts_at(path, [found.range])) == ("the start", [shown])
        before = path.read_bytes()
        assert await renamed(client, path, line, within, " the cause ") == types.WorkspaceEdit()
    assert await labels_of(peer, session_id) == ["the cause", None]
    assert path.read_bytes().startswith(before)


async def test_an_entry_without_a_label_and_a_label_that_was_changed_have_nothing_to_rename(
    served: Running, cwd: str
) -> None:
    peer, session_id, path = await labeled(served, cwd)
    await peer.call("session/label", sessionId=session_id, entryId="q1", label="another")
    async with editor(served.home) as client:
        for line, within in ((0, ""), (2, ""), (3, "the start")):
            assert await prepared(client, path, line, within) is None
            with pytest.raises(JsonRpcException, match="no label here"):
                await renamed(client, path, line, within, "new")
        with pytest.raises(JsonRpcException, match="needs a text"):
            await renamed(client, path, 1, "", "  ")
    assert await labels_of(peer, session_id) == ["another", None]
