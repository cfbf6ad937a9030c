"""The messages to a new daemon about an editor that was attached to another one."""

import json  # noqa: TID251 - messages are read as an editor reads them
from typing import Any

import pytest

from sessiond.client.conversation import Conversation, HandshakeRefusedError


def message(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


def request(id: int | str, method: str, **params: Any) -> bytes:
    return message(id=id, method=method, params=params)


def notification(method: str, **params: Any) -> bytes:
    return message(method=method, params=params)


def result(id: int | str, value: Any = None) -> bytes:
    return message(id=id, result=value)


def read(bodies: list[bytes]) -> list[Any]:
    return [json.loads(body) for body in bodies]


def did(what: str, uri: str, **more: Any) -> bytes:
    return notification(f"textDocument/did{what}", textDocument={"uri": uri}, **more)


def attached(*bodies: bytes) -> Conversation:
    """An editor that has been greeted and said all this."""
    talk = Conversation()
    talk.record_sent(request(0, "initialize", rootUri=None))
    assert talk.to_client(result(0, {"capabilities": {}}))
    talk.record_sent(notification("initialized"))
    for body in bodies:
        talk.record_sent(body)
    return talk


def met_again(talk: Conversation) -> list[Any]:
    """Return the messages to the next daemon after the greeting, which it takes."""
    (greeting,) = read(talk.handshake())
    assert talk.to_client(result(greeting["id"], {"capabilities": {}})) is None
    return read(talk.replayed_messages())


def test_the_handshake_is_repeated_under_an_id_of_our_own_and_its_answer_kept_from_the_editor() -> None:
    talk = attached()
    assert talk.is_greeted
    talk.daemon_lost()
    (greeting,) = read(talk.handshake())
    assert greeting["params"] == {"rootUri": None}
    assert greeting["id"] != 0
    assert talk.to_client(result(greeting["id"], {})) is None
    assert [told["method"] for told in read(talk.replayed_messages())] == ["initialized"]


def test_hello_is_repeated_like_initialize() -> None:
    talk = Conversation()
    talk.record_sent(request(1, "server/hello", clientId="reporter"))
    assert talk.to_client(result(1, {}))
    assert talk.is_resumable
    talk.daemon_lost()
    (greeting,) = read(talk.handshake())
    assert (greeting["method"], greeting["params"]) == ("server/hello", {"clientId": "reporter"})
    assert talk.to_client(result(greeting["id"], {})) is None
    assert read(talk.replayed_messages()) == []


def test_a_handshake_that_was_refused_is_not_repeated() -> None:
    talk = Conversation()
    talk.record_sent(request(1, "server/hello", protocolVersions=[9]))
    assert talk.to_client(message(id=1, error={"code": 1426, "message": "no"}))
    assert not talk.is_resumable
    talk.record_sent(request(2, "server/hello", protocolVersions=[1]))
    assert talk.to_client(result(2, {}))
    talk.daemon_lost()
    assert read(talk.handshake())[0]["params"] == {"protocolVersions": [1]}


def test_an_editor_that_waits_for_its_own_handshake_gets_it_from_the_next_daemon() -> None:
    talk = Conversation()
    talk.record_sent(request("first", "initialize"))
    assert talk.daemon_lost() == []
    assert read(talk.handshake())[0]["id"] == "first"
    answer = result("first", {"capabilities": {}})
    assert talk.to_client(answer) == answer
    assert talk.is_greeted
    assert talk.replayed_messages() == []


def test_documents_are_as_the_editor_has_them() -> None:
    talk = attached(
        did("Open", "file:///a", text="1"),
        did("Open", "file:///b"),
        did("Change", "file:///a", contentChanges=[{"text": "2"}]),
        did("Close", "file:///b"),
        did("Save", "file:///a"),
    )
    talk.daemon_lost()
    told = met_again(talk)
    assert [sent["method"] for sent in told] == [
        "initialized",
        "textDocument/didOpen",
        "textDocument/didChange",
    ]
    assert {sent["params"]["textDocument"]["uri"] for sent in told[1:]} == {"file:///a"}


def test_of_settings_the_latest_are_told() -> None:
    talk = attached(
        notification("workspace/didChangeConfiguration", settings=1),
        notification("workspace/didChangeConfiguration", settings=2),
    )
    talk.daemon_lost()
    assert [answer["params"] for answer in met_again(talk)[1:]] == [{"settings": 2}]


def test_a_request_that_only_reads_is_sent_again_once() -> None:
    talk = attached(request(7, "textDocument/hover"), request(8, "session/tree", sessionId="s"))
    assert talk.daemon_lost() == []
    assert [answer["id"] for answer in met_again(talk)[1:]] == [7, 8]
    assert [item["error"]["data"]["kind"] for item in read(talk.daemon_lost())] == ["outcomeUnknown"] * 2
    assert [answer["method"] for answer in met_again(talk)] == ["initialized"]


def test_a_request_that_writes_is_sent_again_once_if_it_has_a_command_id() -> None:
    talk = attached(
        request(7, "session/rename", sessionId="s", title="T", commandId="c"),
        request(8, "state/beginTask", sessionId="s", commandId="d"),
        request(9, "session/rename", sessionId="s", title="T"),
    )
    (told,) = read(talk.daemon_lost())
    assert (told["id"], told["error"]["data"]["kind"]) == (9, "outcomeUnknown")
    assert [(answer["id"], answer["params"].get("commandId")) for answer in met_again(talk)[1:]] == [
        (7, "c"),
        (8, "d"),
    ]
    assert [item["error"]["data"]["kind"] for item in read(talk.daemon_lost())] == ["outcomeUnknown"] * 2


def test_an_append_is_sent_again_once_if_all_its_entries_have_ids() -> None:
    entry = {"type": "message", "message": {"role": "user", "content": "x"}}
    talk = attached(
        request(7, "session/append", sessionId="s", entries=[{"id": "a", **entry}, {"id": "b", **entry}]),
        request(8, "session/append", sessionId="s", entries=[{"id": "c", **entry}, entry]),
        request(9, "session/append", sessionId="s", entries=[{"id": "d", **entry}], format="openai"),
        request(
            10, "session/append", sessionId="s", entries=[{"id": "msg_1", "role": "user"}], format="openai"
        ),
        request(11, "session/append", sessionId="s", entries=[{"id": 5, **entry}]),
        request(12, "session/append", sessionId="s", entries=[{"id": None, **entry}]),
    )
    told = {item["id"]: item["error"]["data"]["details"]["entryIds"] for item in read(talk.daemon_lost())}
    assert told == {8: ["c"], 10: [], 11: [], 12: []}
    assert [answer["id"] for answer in met_again(talk)[1:]] == [7, 9]
    again = {item["id"]: item["error"]["data"]["details"]["entryIds"] for item in read(talk.daemon_lost())}
    assert again == {7: ["a", "b"], 9: ["d"]}


@pytest.mark.parametrize(
    "method", ["session/append", "workspace/executeCommand", "server/stop", "foreign/method"]
)
def test_of_what_may_have_been_done_the_editor_is_told_so(method: str) -> None:
    talk = attached(request(7, method))
    (told,) = read(talk.daemon_lost())
    assert told["id"] == 7
    assert told["error"]["data"] == {
        "kind": "outcomeUnknown", "retryable": False, "details": {"entryIds": []},
    }  # fmt: skip
    assert not talk.has_unanswered_requests


def test_requests_that_a_leaving_daemon_did_not_begin_are_sent_to_the_next_one() -> None:
    talk = attached(request(7, "session/append"))
    refusal = {"code": 1429, "message": "leaving", "data": {"kind": "draining", "retryable": True}}
    assert talk.to_client(message(id=7, error=refusal)) is None
    assert talk.daemon_lost() == []
    assert [answer["id"] for answer in met_again(talk)[1:]] == [7]
    answer = result(7, {})
    assert talk.to_client(answer) == answer


def test_an_answered_request_is_over() -> None:
    talk = attached(request(7, "session/append"), request(8, "textDocument/hover"))
    talk.to_client(result(7))
    talk.to_client(message(id=8, error={"code": 1, "message": "no"}))
    assert talk.daemon_lost() == []
    assert [answer["method"] for answer in met_again(talk)] == ["initialized"]


def test_an_answer_to_a_daemon_that_is_gone_goes_nowhere() -> None:
    talk = attached()
    talk.to_client(request(1, "client/summarize"))
    assert [(item["method"], item["params"]) for item in read(talk.daemon_lost())] == [
        ("$/cancelRequest", {"id": 1})
    ]
    met_again(talk)
    assert talk.to_daemon(result(1, "old")) is None


def test_questions_of_two_daemons_under_one_id_are_kept_apart() -> None:
    talk = attached()
    talk.to_client(request(1, "client/summarize"))
    talk.daemon_lost()
    met_again(talk)
    passed = talk.to_client(request(1, "client/summarize"))
    assert passed is not None
    id = json.loads(passed)["id"]
    assert id != 1
    assert talk.to_daemon(result(1, "old")) is None
    answer = talk.to_daemon(result(id, "new"))
    assert answer is not None
    assert json.loads(answer) == {"jsonrpc": "2.0", "id": 1, "result": "new"}


def test_registrations_of_a_daemon_are_taken_back_before_the_next_one_registers_them() -> None:
    talk = attached()
    watching = {"id": "files", "method": "workspace/didChangeWatchedFiles"}
    once = {"id": "once", "method": "textDocument/hover"}
    talk.to_client(request("a", "client/registerCapability", registrations=[watching, once]))
    talk.to_client(request("b", "client/unregisterCapability", unregisterations=[once]))
    talk.daemon_lost()
    met_again(talk)
    (told,) = read(talk.change_messages())
    assert told["method"] == "client/unregisterCapability"
    assert told["params"] == {"unregisterations": [watching]}
    assert talk.to_daemon(result(told["id"])) is None
    assert talk.change_messages() == []


def test_a_session_that_the_editor_follows_is_to_be_subscribed_again_after_the_last_line_it_saw() -> None:
    talk = attached(
        request(1, "session/open", sessionId="a"),
        request(2, "session/open", sessionId="b"),
        request(3, "session/open", sessionId="c"),
    )
    for number, name in enumerate("abc", start=1):
        talk.to_client(result(number, {"session": {"sessionId": name, "logId": f"log-{name}", "lastSeq": 3}}))
    talk.to_client(notification("session/appended", sessionId="a", logId="log-a", toSeq=5, items=[]))
    talk.record_sent(request(4, "session/unsubscribe", sessionId="b"))
    talk.to_client(result(4, {"wasSubscribed": True}))
    talk.daemon_lost()
    met_again(talk)
    assert [item["params"] for item in read(talk.change_messages())] == [
        {"sessionId": "a", "logId": "log-a", "lastSeq": 5},
        {"sessionId": "c", "logId": "log-c", "lastSeq": 3},
    ]
    assert talk.change_messages() == []


def test_the_watches_of_lists_lapse_with_their_daemon() -> None:
    talk = attached(*(request(number, "server/watch") for number in (1, 2, 3)))
    for number, name in enumerate(("w-1", "w-2", "w-3"), start=1):
        talk.to_client(result(number, {"watchId": name, "mode": "snapshot", "epoch": "e", "position": 7}))
    talk.record_sent(request(4, "server/unwatch", watchId="w-1"))
    talk.to_client(result(4, {"wasWatching": True}))
    talk.to_client(notification("server/watchLapsed", watchId="w-2", reason="tooOld", message="."))
    talk.daemon_lost()
    met_again(talk)
    [told] = read(talk.change_messages())
    assert told["method"] == "server/watchLapsed"
    assert (told["params"]["watchId"], told["params"]["reason"]) == ("w-3", "daemonEnded")
    assert talk.change_messages() == []


def test_the_watches_of_trees_lapse_with_their_daemon() -> None:
    talk = attached(*(request(number, "session/watchTree", sessionId="a") for number in (1, 2)))
    for number, name in enumerate(("w-1", "w-2"), start=1):
        talk.to_client(result(number, {"watchId": name}))
    talk.to_client(notification("session/treeLapsed", watchId="w-1", reason="closed", message="."))
    talk.daemon_lost()
    met_again(talk)
    [told] = read(talk.change_messages())
    assert told["method"] == "session/treeLapsed"
    assert (told["params"]["watchId"], told["params"]["reason"]) == ("w-2", "daemonEnded")


def test_a_daemon_that_refuses_the_handshake_ends_it() -> None:
    talk = attached()
    talk.daemon_lost()
    (greeting,) = read(talk.handshake())
    with pytest.raises(HandshakeRefusedError):
        talk.to_client(message(id=greeting["id"], error={"code": 1426, "message": "too old"}))


def test_without_a_daemon_an_editor_may_leave() -> None:
    talk = attached()
    talk.daemon_lost()
    answer, needs_daemon = talk.handle_offline(request(9, "shutdown"))
    assert answer is not None
    assert json.loads(answer) == {"jsonrpc": "2.0", "id": 9, "result": None}
    assert not needs_daemon
    talk.handle_offline(notification("exit"))
    assert talk.is_over


def test_a_daemon_that_cannot_be_had_answers_nothing_but_loses_no_notification() -> None:
    talk = attached(request(7, "textDocument/hover"))
    talk.daemon_lost()
    opening = did("Open", "file:///a")
    kept, told = talk.daemon_unreachable([opening, request(8, "textDocument/hover")], "no room")
    assert kept == [opening]
    assert sorted(entry["id"] for entry in read(told)) == [7, 8]
    assert {item["error"]["data"]["kind"] for item in read(told)} == {"unreachable"}
    assert not talk.has_unanswered_requests


def test_a_body_that_is_no_message_passes_as_it_is() -> None:
    talk = attached()
    assert talk.to_daemon(b"[]") == b"[]"
    talk.record_sent(b"[]")
    assert talk.to_client(b"{") == b"{"


def complaint(kind: str) -> bytes:
    return message(id=None, error={"code": 1, "message": "no", "data": {"kind": kind, "retryable": False}})


def test_a_complaint_about_what_the_editor_sent_is_for_the_editor_and_refuses_no_greeting() -> None:
    talk = attached()
    refused = []
    for kind in ("parse", "tooLarge"):
        assert talk.to_client(complaint(kind)) == complaint(kind)
        refused.append(talk.refused_size)
    talk.daemon_lost()
    assert [*refused, talk.refused_size] == [False, True, False]


def test_a_daemon_without_room_that_turns_the_editor_away_has_said_nothing_of_use() -> None:
    talk = attached()
    talk.daemon_lost()
    talk.handshake()
    assert talk.to_client(complaint("overloaded")) is None
    assert (talk.is_greeted, talk.message_count) == (False, 0)


def test_only_a_request_that_is_too_large_is_answered() -> None:
    talk = attached()
    (answer,) = read(talk.message_too_large(request(5, "session/append")))
    assert (answer["id"], answer["error"]["data"]["kind"]) == (5, "tooLarge")
    assert talk.message_too_large(notification("note")) == []
