"""Sessions over a real LSP client, `LanguageClient` of pygls as pytest-lsp has it: what an editor plugin does with it.

pygls turns results and params into named tuples: `result.session.sessionId`. A key that is no name of Python, such as
`class` or `my-key`, becomes `_N` after its position, so such payloads are compared by their values.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from support.columns import entries_of
from support.daemons import Running, assistant, user
from support.editors import HIERARCHICAL, LanguageProtocol, connected

NESTED = {
    "jsonrpc": "2.0", "id": 1, "method": "exit", "params": {"jsonrpc": "2.0", "id": 1, "result": None},
    "class": ["a"], "my-key": {"def": None}, "": 0,
}  # fmt: skip
"""Contents of an entry that look like messages, and keys that are no names of Python."""


def custom(**about: Any) -> dict[str, Any]:
    """A draft with that payload."""
    return {"type": "custom", "customType": "x", "data": NESTED, **about}


def values(data: Any) -> Any:
    """Values without their keys, of objects and of the named tuples that pygls makes of them."""
    if isinstance(data, dict):
        data = tuple(data.values())
    return [values(item) for item in data] if isinstance(data, tuple | list) else data


class Plugin:
    """An editor plugin that works with sessions: `ask` sends a request, `appended` has what it was told of lines."""

    def __init__(self, client: pytest_lsp.LanguageClient) -> None:
        self._client = client
        self.appended: asyncio.Queue[Any] = asyncio.Queue()

        @client.feature("session/appended")  # type: ignore[untyped-decorator]  # pygls does not say
        def appended(params: Any) -> None:
            self.appended.put_nowait(params)

    async def ask(self, method: str, **params: Any) -> Any:
        async with asyncio.timeout(45):
            protocol: Any = self._client.protocol
            return await protocol.send_request_async(method, params)

    async def create(self, cwd: str) -> str:
        return str((await self.ask("session/create", cwd=cwd)).session.sessionId)

    async def append(self, session_id: str, *entries: dict[str, Any], **placement: Any) -> Any:
        return await self.ask("session/append", sessionId=session_id, entries=list(entries), **placement)

    async def context(self, session_id: str) -> list[tuple[str, str]]:
        """The role of each message in the context, and the entry that it comes from."""
        context = await self.ask("session/context", sessionId=session_id)
        return [(message.message.role, message.entryId) for message in context.messages]

    async def next_appended(self) -> Any:
        async with asyncio.timeout(45):
            return await self.appended.get()


@pytest.fixture
async def plugin(served: Running) -> AsyncIterator[Plugin]:
    async with initialized(served) as one:
        yield one


@contextlib.asynccontextmanager
async def initialized(served: Running) -> AsyncIterator[Plugin]:
    async with connected(served.home, LanguageProtocol) as client:
        plugin = Plugin(client)
        params = types.InitializeParams(capabilities=HIERARCHICAL, process_id=None, root_uri=None)
        result = await client.initialize_session(params)
        assert result.capabilities.experimental is not None
        assert "session/create" in result.capabilities.experimental["sessiond"]["methods"]
        yield plugin
        await client.shutdown_session()


async def test_a_session_is_created_and_written(plugin: Plugin, cwd: str) -> None:
    session_id = await plugin.create(cwd)
    done = await plugin.append(session_id, user("Why?"), assistant("Because."))
    session = (await plugin.ask("session/info", sessionId=session_id)).session
    assert (session.leafId, session.cwd) == (done.entries[-1].id, cwd)


async def test_the_tree_has_both_branches(plugin: Plugin, cwd: str) -> None:
    session_id = await plugin.create(cwd)
    await plugin.append(session_id, user("Why?", id="q1"), assistant("Because.", id="a1"))
    await plugin.append(session_id, user("How?", id="q2"), parentId="q1")
    tree = await plugin.ask("session/tree", sessionId=session_id)
    assert [(node.id, node.parentId) for node in tree.nodes] == [("q1", None), ("a1", "q1"), ("q2", "q1")]
    assert tree.leafId == "q2"


async def test_the_context_has_the_messages_of_the_path(plugin: Plugin, cwd: str) -> None:
    session_id = await plugin.create(cwd)
    await plugin.append(session_id, user("Why?", id="q1"), assistant("Because.", id="a1"))
    assert await plugin.context(session_id) == [("user", "q1"), ("assistant", "a1")]


async def test_a_fork_has_the_path_up_to_an_entry(plugin: Plugin, cwd: str) -> None:
    session_id = await plugin.create(cwd)
    await plugin.append(
        session_id, user("Why?", id="q1"), assistant("Because.", id="a1"), user("Fix it.", id="q2")
    )
    forked = (await plugin.ask("session/fork", sessionId=session_id, leafId="a1")).session
    assert forked.sessionId != session_id
    assert await plugin.context(forked.sessionId) == [("user", "q1"), ("assistant", "a1")]


async def test_payloads_that_look_like_messages_arrive_unchanged(
    served: Running, plugin: Plugin, cwd: str
) -> None:
    session_id = await plugin.create(cwd)
    await plugin.append(session_id, custom(id="c1"))
    peer = await served.attach()
    [entry] = entries_of(await peer.call("session/entries", sessionId=session_id))
    assert (entry["id"], entry["data"]) == ("c1", NESTED)
    [same] = (await plugin.ask("session/entries", sessionId=session_id)).items
    assert values(same.entry.data) == values(NESTED)


async def test_a_plugin_is_told_of_what_another_client_appends(
    served: Running, plugin: Plugin, cwd: str
) -> None:
    session_id = await plugin.create(cwd)
    peer = await served.attach()
    await peer.append(session_id, user("From elsewhere."), custom())
    note = await plugin.next_appended()
    assert (note.sessionId, [item.seq for item in note.items]) == (session_id, [1, 2])
    assert note.items[0].entry.message.content == "From elsewhere."
    assert values(note.items[1].entry.data) == values(NESTED)


async def test_two_plugins_see_the_same_lines(served: Running, plugin: Plugin, cwd: str) -> None:
    session_id = await plugin.create(cwd)
    async with initialized(served) as other:
        await other.ask("session/open", sessionId=session_id)
        await other.append(session_id, user("Why?", id="q1"))
        one, two = await plugin.next_appended(), await other.next_appended()
    assert one.items[0].entry.id == two.items[0].entry.id == "q1"
    assert one.items[0].seq == two.items[0].seq == 1


async def test_an_error_comes_with_its_kind_and_its_data(plugin: Plugin, cwd: str) -> None:
    session_id = await plugin.create(cwd)
    with pytest.raises(JsonRpcException) as no_session:
        await plugin.context("nowhere")
    with pytest.raises(JsonRpcException) as no_entry:
        await plugin.append(session_id, user("?"), parentId="nobody")
    assert (no_session.value.code, no_entry.value.code) == (1404, 1404)
    assert no_session.value.data == {
        "kind": "sessionNotFound", "retryable": False,
        "details": {"sessionId": "nowhere", "path": None, "didYouMean": []},
    }  # fmt: skip
    assert no_entry.value.data == {
        "kind": "entryNotFound", "retryable": False, "details": {"entryId": "nobody", "didYouMean": []},
    }  # fmt: skip
    assert (await plugin.append(session_id, user("The connection serves on."))).lastSeq == 1
