"""The first editors of a daemon: they may come at the same moment, while the LSP side is still imported."""

import socket
import time
from contextlib import ExitStack

import pytest

from sessiond.client.blocking import connect
from sessiond.rpc.framing import Framer
from sessiond.rpc.message import encode_request
from support.homes import a_home
from support.patience import BOUND

EDITORS = 8


@pytest.mark.slow
def test_each_of_several_editors_that_come_at_once_to_a_new_daemon_gets_a_response() -> None:
    body = encode_request(1, "initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    frame = b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    with a_home() as locations, connect(locations=locations), ExitStack() as stack:
        editors = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(EDITORS)]
        for editor in editors:
            editor.connect(str(locations.socket))
        for editor in editors:
            editor.sendall(frame)
        assert [b'"capabilities"' in _first_message(editor) for editor in editors] == [True] * EDITORS


def _first_message(editor: socket.socket) -> bytes:
    framer, deadline = Framer(), time.monotonic() + BOUND
    while True:
        editor.settimeout(max(0.01, deadline - time.monotonic()))
        chunk = editor.recv(65536)
        assert chunk, "the daemon closed the connection"
        for message in framer.feed(chunk):
            return message
