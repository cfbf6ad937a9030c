"""The client in Python, over the cases that all clients share."""

import json  # noqa: TID251 - the daemon here is a script
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sessiond.client.blocking import BlockingDaemon
from sessiond.client.commands import APPEND, PROVIDER_FIELDS, is_repeatable, repeatable
from sessiond.client.daemon_socket import published_socket, read_endpoint
from sessiond.client.first_process import FirstProcess
from sessiond.client.message_parts import may_repeat_write
from sessiond.client.methods.append import with_entry_id
from sessiond.client.terminal import identify
from sessiond.client.wire import DisconnectedError, MessageReader, RpcError, frame
from sessiond.paths import Locations, find_locations
from sessiond.protocol import errors, methods as m, types as t
from sessiond.rpc.connection import Connection
from sessiond.rpc.message import Head, decode_head
from support.patience import BOUND
from support.scripted import SESSION, Scripted
from support.shared_cases import CASES, filled, paths_here, places

VARIABLES = ("HOME", "SESSIOND_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")
NEW = "<new>"
KINDS = {"draining": "draining", "refused": "readOnly"}


@pytest.mark.skipif(sys.platform != "linux", reason="the folders are those of Linux")
def test_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    with places() as placed:
        for row in paths_here(placed):
            # An editor passes its option on as the variable.
            option = {"SESSIOND_HOME": row["option"]} if row.get("option") else {}
            with monkeypatch.context() as patch:
                for name in VARIABLES:
                    patch.delenv(name, raising=False)
                for name, value in {**row["environment"], **option}.items():
                    patch.setenv(name, value)
                locations = find_locations()
            assert (locations.state, locations.socket) == (row["state"], row["socket"]), row["name"]


def test_sockets(tmp_path: Path) -> None:
    folder = str(tmp_path)
    locations = Locations(data=folder, state=folder, runtime=folder, config=folder)
    placed = {"socket": locations.socket}
    for row in CASES["sockets"]:
        Path(locations.endpoint).unlink(missing_ok=True)
        if row["endpoint"] is not None:
            Path(locations.endpoint).write_text(filled(row["endpoint"], placed), encoding="utf-8")
        published = published_socket(read_endpoint(locations))
        found = dict.fromkeys((published or locations.socket, locations.socket))
        assert list(found) == [filled(item, placed) for item in row["sockets"]], row["name"]


@pytest.mark.parametrize("row", CASES["requests"], ids=lambda row: row["name"])
def test_repeatable_requests(row: dict[str, Any]) -> None:
    method, params, sent = row["method"], row["params"], row["sent"]
    if method != APPEND:
        assert with_new_id("commandId", repeatable(method, params), params) == sent
    assert is_repeatable(method, sent) == row["repeatable"]
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": sent}).encode()
    assert may_repeat_write(method, decode_head(body)) == row["repeatable"]


@pytest.mark.parametrize(
    "row", [row for row in CASES["requests"] if row["params"].get("entries")], ids=lambda row: row["name"]
)
def test_the_coroutine_gives_ids_to_the_same_entries_and_makes_entries_of_the_others(
    row: dict[str, Any],
) -> None:
    format = row["params"].get("format", "agent")
    for given, sent in zip(row["params"]["entries"], row["sent"]["entries"], strict=True):
        found = with_new_id("id", with_entry_id(given, format), given)
        around = {"id": NEW, "type": "message", "message": given}
        assert found in (sent, around)
        if format != "agent" and any(name in given for name in PROVIDER_FIELDS):
            assert found == around


def with_new_id(name: str, found: Any, given: Any) -> dict[str, Any]:
    """The params or the entry as the table has it, where the client has given it an id."""
    is_new = found.get(name) != given.get(name)
    return {**found, name: NEW} if is_new else dict(found)


class Answering(Scripted):
    """A daemon, and its successors, whose answers to requests are those of a row of the table."""

    def __init__(self, answers: list[str]) -> None:
        super().__init__()
        self.answers = list(answers)
        self.params: list[Any] = []

    def received(self, connection: Connection, head: Head, body: bytes) -> None:
        if head.method == m.HELLO.name:
            super().received(connection, head, body)
            return
        assert isinstance(head.id, int | str)
        self.params.append(msgspec.json.decode(body)["params"])
        answer = self.answers.pop(0)
        if answer == "ok":
            connection.reply(head.id, getattr(self, "_" + str(head.method).replace("/", "_"))({}))
        elif kind := KINDS.get(answer):
            connection.fail(head.id, errors.CODES[kind], kind, {"kind": kind})
        if answer in ("lost", "draining"):
            connection.close()


@pytest.mark.parametrize("row", CASES["outcomes"], ids=lambda row: "-".join(map(str, row.values())))
async def test_outcomes_of_coroutines(row: dict[str, Any]) -> None:
    scripted = Answering(row["answers"])
    daemon = scripted.client()
    try:
        if row["repeatable"]:
            await daemon.call(m.RENAME, t.RenameParams(session_id=SESSION, title="T"))
        else:
            await daemon.call(m.CLOSE, t.CloseParams(session_id=SESSION))
        outcome = "ok"
    except (DisconnectedError, RpcError) as error:
        outcome = outcome_of(error)
    finally:
        await daemon.aclose()
    assert (outcome, len(scripted.params)) == (row["outcome"], row["sent"])
    assert all(params == scripted.params[0] for params in scripted.params)


@pytest.mark.parametrize("row", CASES["outcomes"], ids=lambda row: "-".join(map(str, row.values())))
def test_outcomes_of_the_blocking_client(row: dict[str, Any]) -> None:
    asked: list[Any] = []
    with blocking_daemon(row["answers"], asked) as daemon:
        try:
            daemon.call("session/rename" if row["repeatable"] else "session/close", {"sessionId": SESSION})
            outcome = "ok"
        except (DisconnectedError, RpcError) as error:
            outcome = outcome_of(error)
    assert (outcome, len(asked)) == (row["outcome"], row["sent"])
    assert all(params == asked[0] for params in asked)


def outcome_of(error: DisconnectedError | RpcError) -> str:
    if isinstance(error, DisconnectedError):
        return "disconnected"
    return next(answer for answer, kind in KINDS.items() if kind == error.kind)


def blocking_daemon(answers: list[str], asked: list[Any]) -> BlockingDaemon:
    """A client of a daemon, and of its successors, that answer as a row of the table says."""
    left = iter(answers)

    def dial() -> socket.socket:
        ours, theirs = socket.socketpair()
        threading.Thread(target=serve, args=(theirs, left, asked), daemon=True).start()
        return ours

    return BlockingDaemon(dial)


def serve(sock: socket.socket, answers: Iterator[str], asked: list[Any]) -> None:
    with sock:
        reader = MessageReader(sock)
        reader.wait(BOUND)
        answer = ""
        while answer not in ("lost", "draining"):
            try:
                request = json.loads(reader.read())
            except DisconnectedError:
                return
            asked.append(request["params"])
            answer = next(answers)
            kind = KINDS.get(answer)
            error = {"code": errors.CODES[kind], "message": kind, "data": {"kind": kind}} if kind else None
            if answer != "lost":
                told = {"error": error} if error else {"result": {}}
                sock.sendall(frame({"jsonrpc": "2.0", "id": request["id"], **told}))


@pytest.mark.parametrize("row", CASES["terminals"], ids=lambda row: row["name"])
def test_terminals(row: dict[str, Any]) -> None:
    facts = row["first"]
    first = (
        None
        if facts is None
        else FirstProcess(
            9,
            81234,
            facts.get("device"),
            parent=facts.get("parent"),
            environ=facts.get("environment"),
            parent_environ=facts.get("parentEnvironment"),
        )
    )
    process = {} if first is None else {"pid": 9, "startTime": 81234}
    expected = row["id"] and {"id": row["id"], "kind": row["kind"], **process, "cwd": "/w"}
    assert identify(row["environment"], first, cwd="/w") == expected
