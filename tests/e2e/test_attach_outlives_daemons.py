"""An editor does not notice that the daemon was killed: the real things on both sides."""

import os
import signal
from pathlib import Path

import pytest

from sessiond.client.daemon_socket import read_endpoint
from support.attached import attached
from support.homes import a_home
from support.logs import assistant, header, log, user

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_an_editor_goes_on_after_the_daemon_was_killed(tmp_path: Path) -> None:
    with a_home() as locations, attached(locations) as editor:
        capabilities = editor.initialize()["capabilities"]
        assert capabilities["documentSymbolProvider"]
        file = tmp_path / "talk.jsonl"
        file.write_bytes(log(header(), user("hi"), assistant("hello")))
        document = {"uri": file.as_uri()}
        outline = editor.call("textDocument/documentSymbol", textDocument=document)
        assert outline
        for _ in range(2):
            killed = read_endpoint(locations)["pid"]
            os.kill(killed, signal.SIGKILL)
            assert editor.call("textDocument/documentSymbol", textDocument=document) == outline
            assert read_endpoint(locations)["pid"] != killed
        assert editor.call("shutdown") is None
        editor.notify("exit")
        assert editor.end() == 0


def test_a_session_goes_on_where_its_client_left_off_after_the_daemon_was_killed(tmp_path: Path) -> None:
    with a_home() as locations, attached(locations) as editor:
        editor.initialize()
        session = editor.call("session/create", cwd=str(tmp_path))["session"]["sessionId"]
        draft = {"type": "message", "message": {"role": "user", "content": "hi"}}
        done = editor.call("session/append", sessionId=session, entries=[draft])
        position = {"logId": done["logId"], "seq": done["lastSeq"]}
        os.kill(read_endpoint(locations)["pid"], signal.SIGKILL)
        question = editor.ask("session/info", sessionId=session)
        heard = editor.read()
        while heard.get("method") != "session/lagged":
            assert heard.get("id") != question
            heard = editor.read()
        assert heard["params"] == {"sessionId": session, "logId": done["logId"], "lastSeq": done["lastSeq"]}
        editor.answer(question)
        resumed = editor.call("session/subscribe", sessionId=session, after=position)
        assert (resumed["mode"], resumed["toSeq"]) == ("replay", done["lastSeq"])
