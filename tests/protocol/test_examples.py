"""Every JSON example of the protocol is what the wire's types say it is, field for field."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from scripts.protocol.examples import (
    DOCUMENT,
    EXAMPLES,
    Answered,
    Example,
    answered,
    asked_of_clients,
    examples,
    notifications,
)

from sessiond.protocol import types as t
from sessiond.protocol.errors import CODES, KINDS, ErrorData
from sessiond.protocol.methods import CLIENT_METHODS, METHODS, NOTIFICATIONS, PROGRESS
from support.columns import entries_of, seqs_of

LSP = {"initialize", "initialized", "shutdown", "exit"}

NOTES = {name: note.params for name, note in NOTIFICATIONS.items()} | {PROGRESS: t.ProgressNote}
EXCHANGES = [answer for answer in answered() if answer.method in METHODS]
RESULTS = [exchange for exchange in EXCHANGES if "result" in exchange.reply.message]
FAILURES = [answer for answer in answered() if "error" in answer.reply.message]


def where(item: object) -> str:
    match item:
        case Answered(request, _):
            return request.where
        case Example():
            return item.where
        case _:
            return str(item)


def assert_exactly(value: Any, kind: type) -> None:
    """It decodes, and encodes again to itself: no unknown field, and none that only says its default."""
    decoded: object = msgspec.json.decode(msgspec.json.encode(value), type=kind)
    assert msgspec.json.decode(msgspec.json.encode(decoded)) == value


@pytest.mark.parametrize("exchange", EXCHANGES, ids=where)
def test_a_request_is_made_of_its_methods_params(exchange: Answered) -> None:
    params = exchange.request.message.get("params", {})
    refused = exchange.reply.message.get("error", {}).get("data", {}).get("kind") == "invalidParams"
    if refused:
        with pytest.raises(msgspec.ValidationError):
            assert_exactly(params, METHODS[exchange.method].params)
    else:
        assert_exactly(params, METHODS[exchange.method].params)


@pytest.mark.parametrize("exchange", RESULTS, ids=where)
def test_a_reply_is_made_of_its_methods_result(exchange: Answered) -> None:
    assert_exactly(exchange.reply.message["result"], METHODS[exchange.method].result)


@pytest.mark.parametrize("note", notifications(), ids=where)
def test_a_notification_is_made_of_its_params(note: Example) -> None:
    assert_exactly(note.message["params"], NOTES[note.message["method"]])


@pytest.mark.parametrize("exchange", asked_of_clients(), ids=where)
def test_a_request_to_a_client_and_its_reply_are_made_of_their_types(exchange: Answered) -> None:
    method = CLIENT_METHODS[exchange.method]
    assert_exactly(exchange.request.message["params"], method.params)
    assert_exactly(exchange.reply.message["result"], method.result)


@pytest.mark.parametrize("exchange", FAILURES, ids=where)
def test_an_error_has_a_known_kind_its_code_and_may_happen_there(exchange: Answered) -> None:
    error = exchange.reply.message["error"]
    assert_exactly(error["data"], ErrorData)
    kind = error["data"]["kind"]
    assert error["code"] == CODES[kind]
    assert error["data"]["retryable"] == KINDS[kind].retryable
    assert_exactly(error["data"]["details"], KINDS[kind].details)
    own = METHODS[exchange.method].errors if exchange.method in METHODS else ()
    assert kind in own or KINDS[kind].general
    assert exchange.method in METHODS or kind == "methodNotFound"


def test_the_handshake_is_made_of_its_types() -> None:
    (exchange,) = (answer for answer in answered() if answer.method == "initialize")
    assert_exactly(
        exchange.request.message["params"]["initializationOptions"]["sessiond"], t.InitializeOptions
    )
    capabilities = exchange.reply.message["result"]["capabilities"]
    assert_exactly(capabilities["experimental"]["sessiond"], t.HelloResult)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_an_exchange_in_its_own_section(name: str) -> None:
    replies = [
        exchange.reply.message
        for exchange in EXCHANGES
        if exchange.method == name and exchange.request.heading == name
    ]
    assert any("result" in reply for reply in replies)
    assert any("error" in reply for reply in replies) or not METHODS[name].errors


@pytest.mark.parametrize("name", CLIENT_METHODS)
def test_a_request_to_a_client_has_an_exchange_in_its_own_section(name: str) -> None:
    assert any(answer.method == name and answer.request.heading == name for answer in asked_of_clients())


@pytest.mark.parametrize("name", NOTES)
def test_a_notification_has_an_example_in_its_own_section(name: str) -> None:
    assert any(note.message["method"] == name and note.heading == name for note in notifications())


def test_every_message_is_json_rpc_and_every_request_has_one_reply() -> None:
    assert all(example.message["jsonrpc"] == "2.0" for example in examples())
    for from_client in (True, False):
        sent = [example for example in examples() if "id" in example.message]
        asked = Counter(
            example.message["id"]
            for example in sent
            if example.from_client is from_client and "method" in example.message
        )
        told = Counter(
            example.message["id"]
            for example in sent
            if example.from_client is not from_client and "method" not in example.message
        )
        assert asked == told
        assert max(asked.values()) == 1


def test_a_client_sends_only_methods_that_there_are() -> None:
    sent = {
        example.message["method"]
        for example in examples()
        if example.from_client and "method" in example.message
    }
    unknown = sent - METHODS.keys() - LSP
    assert unknown == {"session/apend"}  # the example of methodNotFound


def test_the_story_keeps_the_lines_it_has_told() -> None:
    """An id stands for one entry in one place, wherever the document shows it."""
    seen: dict[tuple[str, str], tuple[int, Any]] = {}
    read = [result for result in RESULTS if result.method in ("session/entries", "session/path")]
    told = [
        notification
        for notification in notifications()
        if notification.message["method"] == "session/appended"
    ]
    pages = [
        *((answer.request.message["params"]["sessionId"], answer.reply.message["result"]) for answer in read),
        *((schema.message["params"]["sessionId"], schema.message["params"]) for schema in told),
    ]
    for session_id, page in pages:
        for seq, entry in zip(seqs_of(page), entries_of(page), strict=True):
            assert seen.setdefault((session_id, entry["id"]), (seq, entry)) == (seq, entry)


@pytest.mark.parametrize(
    ("source", "target", "link"),
    [
        (DOCUMENT, DOCUMENT, r"\]\(#([^)]+)\)"),
        (EXAMPLES, DOCUMENT, r"\]\(\.\./protocol\.md#([^)]+)\)"),
    ],
    ids=["inside the document", "from the examples"],
)
def test_every_link_leads_to_one_place(source: Path, target: Path, link: str) -> None:
    headings = re.findall(r"^#+ \[?([^\]\n]+)", target.read_text(encoding="utf-8"), re.MULTILINE)
    anchors = Counter(re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings)
    links = set(re.findall(link, source.read_text(encoding="utf-8")))
    assert {link: anchors[link] for link in links} == dict.fromkeys(links, 1) != {}
