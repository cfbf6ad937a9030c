"""Requests that go to an editor: those of pygls and those of the daemon, over one connection, and never mixed up."""

import asyncio
import json  # noqa: TID251 - responses are written as an editor writes them
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from support.daemons import Running, running
from support.editors import HIERARCHICAL, connected
from support.patience import BOUND
from support.summarizers import SMALL, talk
from support.wire import Wire, in_thread

INITIALIZE: dict[str, Any] = {"processId": None, "rootUri": None, "capabilities": {"textDocument": {}}}
SYMBOLS = {"textDocument": {"uri": "file:///nowhere.jsonl"}}
SUMMARIZES = {"sessiond": {"clientId": "editor", "capabilities": {"summarize": {}}}}


@pytest.mark.parametrize("daemon", ["socket", "process"], indirect=True)
async def test_an_editor_that_writes_summaries_is_asked_for_one(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    async with connected(daemon.home) as client:
        asked: list[Any] = []

        @client.feature("client/summarize")  # type: ignore[untyped-decorator]  # pygls does not say
        async def summarize(params: Any) -> dict[str, str]:
            asked.append(params)
            client.protocol.notify("$/progress", {"token": params.workDoneToken, "value": {"kind": "report"}})
            return {"summary": "From the editor."}

        params = types.InitializeParams(
            capabilities=HIERARCHICAL, process_id=None, root_uri=None, initialization_options=SUMMARIZES
        )
        await client.initialize_session(params)
        done = await peer.call("session/compact", sessionId=session_id, settings=SMALL)
        assert (done["summary"], done["summarizedBy"]) == ("From the editor.", "client")
        assert [item.sessionId for item in asked] == [session_id]


async def test_requests_of_pygls_and_of_the_daemon_never_share_an_id(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path, "socket") as daemon:
        peer, session_id = await talk(daemon, cwd)
        with Wire(tmp_path) as wire:
            capabilities = {"textDocument": {}, "workspace": {"configuration": True}}
            options = {"initializationOptions": SUMMARIZES, **INITIALIZE, "capabilities": capabilities}
            await in_thread(wire.ask, "initialize", options)
            wire.tell("workspace/didChangeConfiguration", {"settings": None})
            compacted = asyncio.ensure_future(
                peer.call("session/compact", sessionId=session_id, settings=SMALL)
            )
            asked = [await in_thread(wire.read), await in_thread(wire.read)]
            by_method = {message["method"]: message["id"] for message in asked}
            assert isinstance(by_method["workspace/configuration"], str)
            assert isinstance(by_method["client/summarize"], int)
            wire.frame(response(by_method["client/summarize"], {"summary": "Mine."}))
            assert (await compacted)["summary"] == "Mine."
            # Late, unknown and repeated responses end nothing.
            for stray in (by_method["client/summarize"], 77, "77"):
                wire.frame(response(stray, {"summary": "Again."}))
            session = (await peer.call("session/info", sessionId=session_id))["session"]
            document = {"textDocument": {"uri": Path(session["path"]).as_uri()}}
            assert (await in_thread(wire.ask, "textDocument/codeLens", document))["result"] == []
            wire.frame(response(by_method["workspace/configuration"], [{"codeLens": True}]))
            async with asyncio.timeout(BOUND):
                while not (await in_thread(wire.ask, "textDocument/codeLens", document))["result"]:
                    pass


async def test_a_late_answer_ends_no_request_of_the_editor_itself(tmp_path: Path) -> None:
    async with running(tmp_path, "socket"):
        with Wire(tmp_path) as wire:
            await in_thread(wire.ask, "initialize", INITIALIZE)
            wire.frame(
                json.dumps(
                    {"jsonrpc": "2.0", "id": 5, "method": "textDocument/documentSymbol", "params": SYMBOLS}
                ).encode()
            )
            wire.frame(response(5, {"summary": "Not what was asked."}))
            answer = await in_thread(wire.read)
            assert (answer["id"], answer["result"]) == (5, [])


def response(request_id: int | str, result: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "result": result}).encode()
