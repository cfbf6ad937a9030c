"""Params that a method does not have: they are refused by name, so that no misspelt guard is dropped."""

import json  # noqa: TID251 - requests are made by hand here
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, strategies as st

from sessiond.protocol import types as t
from sessiond.protocol.methods import CLIENT_METHODS, METHODS, NOTIFICATIONS
from sessiond.server.connection.params import is_extension
from sessiond.server.errors import InvalidParams
from sessiond.server.handlers.routes import ROUTES
from support.columns import entries_of
from support.daemons import Running, refusal, user
from support.shared import started


async def test_an_append_with_a_misspelt_guard_is_refused_and_stores_nothing(
    daemon: Running, cwd: str
) -> None:
    peer, session_id = await started(daemon, cwd)
    before = (await peer.call("session/info", sessionId=session_id))["session"]["lastSeq"]
    refused = await refusal(peer.append(session_id, user("x"), expectedLeaf="nobody"))
    assert (refused.kind, refused.code) == ("invalidParams", -32602)
    assert refused.details["didYouMean"] == ["expectedLeafId"]
    assert refused.details["path"] == "$.expectedLeaf"
    assert refused.message.startswith("session/append: ")
    assert "`expectedLeaf`" in refused.message
    assert "`expectedLeafId`" in refused.message
    assert (await peer.call("session/info", sessionId=session_id))["session"]["lastSeq"] == before


@pytest.mark.parametrize(
    ("method", "params", "path", "suggested"),
    [
        ("session/append", {"sessionId": "abcdefgh", "entries": [{}], "parent": "a"}, "$.parent", ["parentId"]),
        ("session/append", {"sessionId": "abcdefgh", "entry": {}}, "$.entry", ["entries"]),
        ("session/label", {"sessionId": "abcdefgh", "entry": "a"}, "$.entry", ["entryId"]),
        ("session/fork", {"sessionId": "abcdefgh", "entryId": "a"}, "$.entryId", ["leafId"]),
        ("session/info", {"session_id": "abcdefgh"}, "$.session_id", ["sessionId"]),
        ("state/beginTask", {"sessionId": "abcdefgh", "userInput": "do it"}, "$.userInput", []),
        ("session/create", {"cwd": "/x", "terminal": {"id": "x", "Pid": 1}}, "$.terminal.Pid", ["pid"]),
        ("state/update", {"sessionId": "abcdefgh", "limits": {"tokens": 1}}, "$.limits.tokens",
         ["maxTokens"]),
        ("server/status", {"verbose": True}, "$.verbose", []),
    ],
)  # fmt: skip
async def test_a_likely_wrong_name_is_refused_with_the_right_one(
    memory: Running, method: str, params: dict[str, Any], path: str, suggested: list[str]
) -> None:
    refused = await refusal((await memory.attach()).call(method, **params))
    assert (refused.kind, refused.details["path"], refused.details["didYouMean"]) == (
        "invalidParams", path, suggested,
    )  # fmt: skip


async def test_several_unknown_names_are_named_together(memory: Running) -> None:
    refused = await refusal((await memory.attach()).call("session/list", folder="/x", pages=3))
    assert "`folder`, `pages`" in refused.message
    many = {f"unknown{i}" * 50: i for i in range(5_000)}
    refused = await refusal((await memory.attach()).call("session/list", **many))
    assert len(refused.message) < 1_000


async def test_an_unknown_name_is_shown_without_control_sequences(memory: Running) -> None:
    refused = await refusal((await memory.attach()).call("session/list", **{"\x1b[31mred\x07\n": 1}))
    assert "`red`" in refused.message
    assert refused.details["path"] == "$.red"


async def test_meta_and_names_that_begin_with_x_are_left_to_clients(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    extras = {"_meta": {"trace": "7"}, "x-mine": [1]}
    entry = {**user("1e400 stays", id="a"), "big": 12345678901234567890123, "_meta": {"of": "the entry"}}
    await peer.append(session_id, entry, **extras)
    [stored] = entries_of(await peer.call("session/entries", sessionId=session_id, entryIds=["a"], **extras))
    assert {name: stored[name] for name in entry} == entry
    assert "x-mine" not in stored
    terminal = {"id": "tty-x", **extras}
    opened = await peer.call("session/open", sessionId=session_id, terminal=terminal, **extras)
    assert opened["session"]["sessionId"] == session_id


async def test_unknown_options_of_the_handshake_are_ignored(memory: Running) -> None:
    peer = await memory.attach()
    ours = {
        "clientId": "newer-1", "unknown": 1, "capabilities": {"unknown": {}},
        "terminal": {"id": "tty-x", "unknown": 1},
    }  # fmt: skip
    answer = await peer.call("initialize", initializationOptions={"sessiond": ours, "other": 1})
    assert answer["capabilities"]["experimental"]["sessiond"]["clientId"] == "newer-1"


@pytest.mark.parametrize(
    ("method", "params", "sentence"),
    [
        ("session/list", {"limit": 0}, "session/list: `limit` must be at least 1."),
        ("session/list", {"limit": 10_001}, "session/list: `limit` must be at most 10,000."),
        ("session/list", {"limit": "5"}, "session/list: `limit` must be an integer, not a string."),
        ("session/list", {"sort": "size"},
         "session/list: `sort` must be one of `created`, `title`, `updated`, not 'size'."),
        ("session/list", {"tags": [1]}, "session/list: `tags[0]` must be a string, not an integer."),
        ("session/list", [], "session/list: params must be an object, not an array."),
        ("session/create", {}, "session/create: missing parameter `cwd`."),
        ("session/info", {"sessionId": ""}, "session/info: `sessionId` must have at least 1 character."),
        ("session/append", {"sessionId": "x", "entries": []},
         "session/append: `entries` must have at least 1 item."),
        ("session/create", {"cwd": "/x", "terminal": {"id": "x", "pid": 0}},
         "session/create: `terminal.pid` must be at least 1."),
        ("session/create", {"cwd": "/x", "terminal": {}},
         "session/create: missing parameter `id` in `terminal`."),
        ("session/append", {"sessionId": "x", "entries": [{}], "expectedLeaf": "a"},
         "session/append: unknown parameter `expectedLeaf`. Did you mean `expectedLeafId`?"),
        ("server/status", {"verbose": True},
         "server/status: unknown parameter `verbose`. There are none."),
    ],
)  # fmt: skip
def test_a_refusal_names_the_parameter_and_what_it_must_be(method: str, params: Any, sentence: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        decoded(method, json.dumps(params).encode())
    assert str(refused.value) == sentence


_NAMES = st.text(max_size=12).filter(lambda text: not is_extension(text))
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(method=st.sampled_from(sorted(METHODS)), params=st.dictionaries(_NAMES, _JSON, max_size=4))
def test_no_name_that_a_method_does_not_have_is_ever_taken(method: str, params: dict[str, Any]) -> None:
    known = {field.encode_name for field in msgspec.structs.fields(METHODS[method].params)}
    try:
        decoded(method, json.dumps(params).encode())
    except InvalidParams as error:
        assert error.place.startswith("$")  # noqa: PT017 - a refusal is one of two fine outcomes
    else:
        assert params.keys() <= known


def decoded(method: str, body: bytes) -> Any:
    """As the daemon decodes the params of a request."""
    route = ROUTES[method]
    try:
        return route.decode(body)
    except msgspec.DecodeError:
        return route.decode_slowly(body)


# --- what clients decode -----------------------------------------------------------------------------------


def structs_in(kind: Any) -> set[type[msgspec.Struct]]:
    """Every object type that a type names, itself included."""
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return {struct for arg in get_args(kind) for struct in structs_in(arg)}
    inside = {struct for field in msgspec.structs.fields(kind) for struct in structs_in(field.type)}
    return {kind} | inside


TO_CLIENTS = [
    *(method.result for method in METHODS.values()),
    *(note.params for note in NOTIFICATIONS.values()),
    *(method.params for method in CLIENT_METHODS.values()),
]


@pytest.mark.parametrize("kind", TO_CLIENTS, ids=lambda kind: kind.__name__)
def test_clients_ignore_names_that_they_do_not_know(kind: type[msgspec.Struct]) -> None:
    strict = {
        struct.__name__ for struct in structs_in(kind) if struct.__struct_config__.forbid_unknown_fields
    }
    assert not strict


def test_a_result_of_a_newer_daemon_is_decoded_without_what_is_new() -> None:
    body = b'{"leafId": null, "logId": "x", "lastSeq": 3, "branched": false, "new": {}, "entries": ['
    body += b'{"id": "a", "seq": 3, "status": "created", "new": 1}]}'
    result = msgspec.json.decode(body, type=t.AppendResult)
    assert [entry.id for entry in result.entries] == ["a"]
