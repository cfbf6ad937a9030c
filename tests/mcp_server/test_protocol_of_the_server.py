"""The protocol of `sessiond mcp`: both eras, and what a client gets for everything that is wrong."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from support.commands import Shell, a_shell
from support.mcp_clients import STATELESS, McpClient, McpRefused, an_mcp_client

READING = [
    "recall", "search_sessions", "list_sessions", "session_overview", "read_session", "compare_branches", "usage",
]  # fmt: skip
WRITING = ["label_entry", "tag_session", "fork_session", "save_note"]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder: Path = tmp_path_factory.mktemp("project")
    with a_shell(folder) as made:
        yield made


@pytest.fixture
def client(shell: Shell) -> Iterator[McpClient]:
    with an_mcp_client(shell, era="none") as made:
        yield made


def refusal(client: McpClient, method: str, **params: Any) -> McpRefused:
    with pytest.raises(McpRefused) as refused:
        client.call(method, **params)
    return refused.value


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_known_version_is_agreed_on(client: McpClient, version: str) -> None:
    assert client.initialize(version)["protocolVersion"] == version


@pytest.mark.parametrize("version", ["2026-07-28", "2031-01-01", ""])
def test_for_another_version_the_newest_one_with_a_handshake_is_offered(
    client: McpClient, version: str
) -> None:
    assert client.initialize(version)["protocolVersion"] == "2025-11-25"


def test_the_handshake_tells_what_the_server_can_do(client: McpClient) -> None:
    hello = client.initialize()
    assert hello["capabilities"] == {"tools": {}, "resources": {}, "prompts": {}, "logging": {}}
    assert hello["serverInfo"]["name"] == "sessiond"
    assert "recall" in hello["instructions"]
    assert client.call("ping") == {}


def test_a_request_before_the_handshake_is_refused(client: McpClient) -> None:
    assert refusal(client, "tools/list").code == -32602
    assert client.call("ping") == {}
    client.initialize()
    assert client.call("tools/list")["tools"]


def test_a_second_handshake_is_refused(client: McpClient) -> None:
    client.initialize()
    assert refusal(client, "initialize", protocolVersion="2025-11-25").code == -32600


def test_a_stateless_client_discovers_the_server(client: McpClient) -> None:
    client.meta = STATELESS
    found = client.call("server/discover")
    assert found["supportedVersions"] == ["2026-07-28"]
    assert found["resultType"] == "complete"
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "sessiond"
    assert "logging" not in found["capabilities"]


def test_each_stateless_result_says_that_it_is_complete_and_how_long_it_may_be_cached(
    client: McpClient,
) -> None:
    client.meta = STATELESS
    for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
        result = client.call(method)
        assert result["resultType"] == "complete"
        assert result["ttlMs"] >= 0
        assert result["cacheScope"] == "private"
    called = client.call("tools/call", name="list_sessions", arguments={})
    assert called["resultType"] == "complete"
    assert "ttlMs" not in called


def test_a_result_after_a_handshake_has_nothing_of_the_later_era(client: McpClient) -> None:
    client.initialize()
    assert client.call("tools/list").keys() == {"tools"}


@pytest.mark.parametrize("method", ["ping", "logging/setLevel", "resources/subscribe"])
def test_methods_that_an_era_does_not_have_are_not_found(client: McpClient, method: str) -> None:
    client.meta = STATELESS
    assert refusal(client, method, level="info").code == -32601


def test_a_stateless_request_must_have_its_version_and_capabilities(client: McpClient) -> None:
    client.meta = STATELESS
    client.call("server/discover")
    client.meta = {}
    missing = refusal(client, "tools/list")
    assert missing.code == -32602
    assert "protocolVersion" in missing.message
    assert "clientCapabilities" in missing.message


def test_a_version_that_is_not_supported_is_refused_with_those_that_are(client: McpClient) -> None:
    client.meta = {**STATELESS, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}
    refused = refusal(client, "server/discover")
    assert (refused.code, refused.data) == (-32022, {"supported": ["2026-07-28"], "requested": "2031-01-01"})
    client.meta = None
    assert client.initialize()["protocolVersion"] == "2025-11-25"


def test_the_eras_are_not_mixed_on_one_connection(client: McpClient) -> None:
    client.meta = STATELESS
    client.call("server/discover")
    client.meta = None
    refused = refusal(client, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={})
    assert refused.code == -32022
    assert refused.data["supported"] == ["2026-07-28"]


def test_a_stateless_request_after_a_handshake_is_refused(client: McpClient) -> None:
    client.initialize()
    client.meta = STATELESS
    assert refusal(client, "tools/list").code == -32600


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("no JSON", -32700),
        ("{", -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "\xff"}', -32700),
        ("[" * 100_000, -32700),
        ('[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600),
        ("17", -32600),
        ('{"id": 1, "method": "ping"}', -32600),
        ('{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600),
        ('{"jsonrpc": "2.0", "id": [], "method": "ping"}', -32600),
        ('{"jsonrpc": "2.0", "id": 1}', -32600),
        ('{"jsonrpc": "2.0", "id": 1, "method": 5}', -32600),
    ],
)
def test_a_malformed_line_gets_an_error_and_the_next_one_is_read(
    client: McpClient, line: str | bytes, code: int
) -> None:
    client.send_line(line)
    answer = client.next_message()
    assert answer["error"]["code"] == code
    assert client.initialize()["serverInfo"]["name"] == "sessiond"


def test_blank_lines_are_ignored(client: McpClient) -> None:
    client.send_line("")
    client.send_line("  \r")
    assert client.initialize()


def test_unknown_methods_are_refused_and_unknown_notifications_ignored(client: McpClient) -> None:
    client.initialize()
    client.notify("notifications/herons", wings=2)
    client.send({"method": "herons/fly"})
    assert refusal(client, "herons/fly").code == -32601
    assert refusal(client, "server/discover").code == -32601


@pytest.mark.parametrize("params", [{"name": 5}, {}, {"arguments": {}}])
def test_params_of_the_wrong_type_are_refused(client: McpClient, params: dict[str, Any]) -> None:
    client.initialize()
    assert refusal(client, "tools/call", **params).code == -32602


@pytest.mark.parametrize("arguments", [[], "x", 1])
def test_arguments_that_are_no_object_are_an_error_for_the_model(client: McpClient, arguments: Any) -> None:
    client.initialize()
    assert client.call("tools/call", name="recall", arguments=arguments)["isError"]


def test_params_that_are_no_object_are_refused(client: McpClient) -> None:
    client.initialize()
    client.send({"id": "x", "method": "tools/call", "params": ["recall"]})
    assert client.response("x")["error"]["code"] == -32602


def test_an_unknown_tool_is_refused(client: McpClient) -> None:
    client.initialize()
    refused = refusal(client, "tools/call", name="delete_session", arguments={})
    assert refused.code == -32602
    assert "delete_session" in refused.message


def test_tools_that_write_are_offered_only_if_that_is_allowed(shell: Shell, client: McpClient) -> None:
    client.initialize()
    assert [tool["name"] for tool in client.call("tools/list")["tools"]] == READING
    assert refusal(client, "tools/call", name="save_note", arguments={"text": "no"}).code == -32602
    with an_mcp_client(shell, "--allow-write") as writer:
        assert [tool["name"] for tool in writer.call("tools/list")["tools"]] == [*READING, *WRITING]


def test_each_tool_has_a_valid_schema_and_says_whether_it_only_reads(shell: Shell) -> None:
    with an_mcp_client(shell, "--allow-write") as client:
        for tool in client.call("tools/list")["tools"]:
            Draft202012Validator.check_schema(tool["inputSchema"])
            assert tool["inputSchema"]["type"] == "object"
            assert tool["annotations"]["readOnlyHint"] == (tool["name"] in READING)
            assert tool["annotations"]["destructiveHint"] is False
            assert tool["description"]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({}, "question"),
        ({"question": ""}, "question"),
        ({"question": "x" * 1_001}, "question"),
        ({"question": "x", "also": ["y"] * 9}, "also"),
        ({"question": "x", "herons": 1}, "herons"),
        ({"question": "x", "budget_tokens": -1}, "budget_tokens"),
        ({"question": ["x"]}, "question"),
        ({"question": "x" * 5_000_000}, "question"),
    ],
)
def test_the_model_is_told_which_argument_is_wrong(
    client: McpClient, arguments: dict[str, Any], part: str
) -> None:
    client.initialize()
    assert part in client.failing_tool("recall", **arguments)


def test_a_level_of_the_log_is_accepted_and_another_word_is_not(client: McpClient) -> None:
    client.initialize()
    assert client.call("logging/setLevel", level="emergency") == {}
    assert refusal(client, "logging/setLevel", level="loud").code == -32602
    client.failing_tool("recall", question="")
    assert client.notes == []
    client.call("logging/setLevel", level="debug")
    client.failing_tool("recall", question="")
    assert [note["method"] for note in client.notes] == ["notifications/message"]


def test_a_canceled_request_gets_no_response_and_others_are_answered(client: McpClient) -> None:
    client.initialize()
    ids = [client.start("tools/call", name="list_sessions", arguments={}) for _ in range(30)]
    client.notify("notifications/cancelled", requestId=ids[-1], reason="no longer wanted")
    client.notify("notifications/cancelled", requestId=12_345)
    client.notify("notifications/cancelled", requestId=[])
    last = client.start("ping")
    answered: set[int] = set()
    while not {*ids[:-1], last} <= answered:
        answered.add(client.next_message()["id"])
    assert ids[-1] not in answered
    assert client.call("ping") == {}


def test_requests_in_any_number_are_all_answered(client: McpClient) -> None:
    client.initialize()
    ids = {
        client.start("resources/templates/list" if number % 2 else "resources/list") for number in range(400)
    }
    while ids:
        ids.discard(client.next_message()["id"])


def test_the_server_ends_when_its_input_ends(client: McpClient) -> None:
    client.initialize()
    id = client.start("tools/list")
    assert client.close() == 0
    assert client.response(id)["result"]["tools"]


def test_the_server_ends_with_an_input_that_never_said_anything(client: McpClient) -> None:
    assert client.close() == 0
