"""The handshake of a client without LSP, and what both forms of the handshake say about the server."""

from pathlib import Path
from typing import Any

import pytest

from sessiond.protocol.methods import METHODS, NOTIFICATIONS
from support.daemons import Peer, Running, refusal, running, user
from support.shared import started
from support.text_ranges import part_of

TERMINAL = {"id": "tmux:%5@3120", "kind": "tmux", "cwd": "/w"}


async def initialized(peer: Peer, **params: Any) -> dict[str, Any]:
    """Return the description of the server for a client that sends `initialize`."""
    answer = await peer.call("initialize", **params)
    told: dict[str, Any] = answer["capabilities"]["experimental"]["sessiond"]
    return told


async def test_hello_and_initialize_have_the_same_options_and_describe_the_server_alike(
    memory: Running,
) -> None:
    one, other = await memory.attach(), await memory.attach()
    options = {"protocolVersions": [1], "terminal": TERMINAL, "positionEncodings": ["utf-8"]}
    by_hello = await one.call("server/hello", clientId="one", **options)
    by_initialize = await initialized(
        other, initializationOptions={"sessiond": {"clientId": "other", **options}}
    )
    assert by_hello == by_initialize | {"clientId": "one"}
    rows = {client["clientId"]: client for client in (await one.call("server/clients"))["clients"]}
    assert rows["one"]["terminal"] == rows["other"]["terminal"]


async def test_the_description_lists_what_the_server_has(memory: Running) -> None:
    told = await (await memory.attach()).call("server/hello", clientInfo={"name": "a script"})
    assert (told["methods"], told["notifications"]) == (list(METHODS), list(NOTIFICATIONS))
    assert told["experimental"] == [
        name for name, method in METHODS.items() if method.stability == "experimental"
    ]
    assert told["access"] == ["read", "write", "admin"]
    assert "openai" in told["capabilities"]["context"]["formats"]
    assert "claude-code" in told["capabilities"]["import"]["formats"]
    assert "html" in told["capabilities"]["export"]["formats"]
    assert told["capabilities"]["summarize"] == {"summarizers": ["client"]}


async def test_status_says_what_a_client_without_a_handshake_needs(memory: Running) -> None:
    peer, silent = await memory.attach(), await memory.attach()
    told = await peer.call("server/hello")
    status = await silent.call("server/status")
    assert status["protocolVersions"] == [told["protocolVersion"]]
    assert [status[name] for name in ("serverId", "epoch", "limits")] == [
        told[name] for name in ("serverId", "epoch", "limits")
    ]


async def test_hello_names_the_client_and_applies_to_what_follows(memory: Running) -> None:
    peer, other = await memory.attach(), await memory.attach()
    await other.call("server/hello")
    greeting = peer.send(
        "server/hello",
        clientInfo={"name": "report.py", "version": "2"},
        clientId="reporter",
        optOutNotifications=["session/created", "later/notification"],
        capabilities={"summarize": {}},
    )
    created = peer.send("session/create", cwd="/w", id="atlas-one")  # sent before hello is answered
    await greeting
    await created
    await other.until(lambda client: bool(client.told("session/created")))
    assert other.told("session/created")[0]["origin"]["clientId"] == "reporter"
    assert peer.told("session/created") == []
    [row] = [
        client
        for client in (await peer.call("server/clients"))["clients"]
        if client["clientId"] == "reporter"
    ]
    assert (row["name"], row["version"], row["summarizes"]) == ("report.py", "2", True)


@pytest.mark.parametrize("first", ["server/hello", "initialize"])
@pytest.mark.parametrize("second", ["server/hello", "initialize"])
async def test_a_connection_has_one_handshake(memory: Running, first: str, second: str) -> None:
    params: dict[str, dict[str, Any]] = {
        "server/hello": {"clientInfo": {"name": "x"}},
        "initialize": {"initializationOptions": {"sessiond": {}}},
    }
    peer = await memory.attach()
    await peer.call(first, **params[first])
    assert (await refusal(peer.call(second, **params[second]))).kind == "invalidRequest"


async def test_after_a_refused_hello_another_one_is_taken(memory: Running) -> None:
    peer = await memory.attach()
    refused = await refusal(peer.call("server/hello", protocolVersions=[9]))
    assert (refused.kind, refused.details["supportedVersions"]) == ("unsupportedVersion", [1])
    assert (await peer.call("server/hello", protocolVersions=[1, 9]))["protocolVersion"] == 1


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"optOut": []}, "$.optOut"),
        ({"clientId": ""}, "$.clientId"),
        ({"positionEncodings": ["utf-7"]}, "$.positionEncodings[0]"),
        ({"token": "x"}, "$.token"),
    ],
)
async def test_hello_takes_what_it_knows_only(memory: Running, params: dict[str, Any], path: str) -> None:
    refused = await refusal((await memory.attach()).call("server/hello", **params))
    assert (refused.kind, refused.details["path"]) == ("invalidParams", path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_ranges_count_what_the_client_has_chosen(memory: Running, encoding: str) -> None:
    writer, session_id = await started(memory, "/w")
    await writer.append(session_id, user("😀 é 搜索 a garnet 👩‍🚀 and a garnet", id="e"))
    peer = await memory.attach()
    told = await peer.call("server/hello", positionEncodings=[encoding, "utf-16"])
    assert told["positionEncoding"] == encoding
    [hit] = (await peer.call("session/search", query="garnet"))["hits"]
    assert [part_of(hit["snippet"], item, encoding) for item in hit["ranges"]] == ["garnet", "garnet"]


async def test_without_a_choice_ranges_count_utf_16_code_units(memory: Running) -> None:
    writer, session_id = await started(memory, "/w")
    await writer.append(session_id, user("😀 garnet"))
    [hit] = (await (await memory.attach()).call("session/search", query="garnet"))["hits"]
    assert hit["ranges"] == [{"start": 3, "end": 9}]


@pytest.mark.parametrize(
    ("general", "ours", "chosen"),
    [
        ({}, None, "utf-16"),
        ({"positionEncodings": ["utf-32", "utf-16"]}, None, "utf-32"),
        ({"positionEncodings": ["utf-8", "utf-16"]}, ["utf-16"], "utf-16"),
    ],
)
async def test_an_editor_has_the_encoding_of_lsp_unless_its_options_choose_another(
    memory: Running, general: dict[str, Any], ours: list[str] | None, chosen: str
) -> None:
    options = {} if ours is None else {"positionEncodings": ours}
    told = await initialized(
        await memory.attach(),
        processId=None,
        rootUri=None,
        capabilities={"general": general, "textDocument": {}},
        initializationOptions={"sessiond": options},
    )
    assert told["positionEncoding"] == chosen


async def test_the_rows_of_a_client_with_many_sessions_are_counted_and_cut(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        for number in range(3):
            await peer.call("session/create", cwd="/w", id=f"atlas-one-{number}")
        [row] = (await peer.call("server/clients"))["clients"]
        assert (len(row["sessionIds"]), row["sessionCount"], row["subscriptionCount"]) == (3, 3, 3)
