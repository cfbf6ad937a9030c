"""The clients of protocol.md, each in 60 lines, beside other clients and across the end of a daemon."""

import json  # noqa: TID251 - what a reader of the output would use
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessiond.paths import Locations
from support.homes import a_home, environment

EXAMPLES = Path(__file__).parent.parent.parent / "scripts/examples"
CLIENTS = {
    "client.py": [sys.executable],
    "client.mjs": ["node"],
    "client.sh": ["bash"],
}
pytestmark = pytest.mark.slow


@pytest.fixture
def home() -> Iterator[Locations]:
    with a_home() as locations:
        yield locations


def environ(home: Locations) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return environment(home, PATH=path, SESSIOND_TERMINAL="reader", PYTHONUTF8="1", PYTHONUNBUFFERED="")


def rpc(home: Locations, method: str, **params: object) -> dict[str, object]:
    """The result of a request of another client."""
    command = ["sessiond", "rpc", method, json.dumps(params)]
    done = subprocess.run(command, env=environ(home), capture_output=True, encoding="utf-8", check=True)
    result: dict[str, object] = json.loads(done.stdout)
    return result


def lines_until(client: "subprocess.Popen[str]", start: str) -> list[str]:
    """The lines that the client prints, until one begins with `start`."""
    assert client.stdout is not None
    lines: list[str] = []
    for line in client.stdout:
        lines.append(line.strip())
        if line.startswith(start):
            return lines
    raise AssertionError(lines)


def say(client: "subprocess.Popen[str]", text: str) -> list[str]:
    """Give the client a line of input. Returns the lines that it prints until it has the context."""
    assert client.stdin is not None
    client.stdin.write(f"{text}\n")
    client.stdin.flush()
    return lines_until(client, "messages:")


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_has_at_most_60_lines(name: str) -> None:
    assert len((EXAMPLES / name).read_text(encoding="utf-8").splitlines()) <= 60


@pytest.mark.parametrize(
    "name", ["client.py", pytest.param("client.mjs", marks=pytest.mark.system), "client.sh"]
)
def test_a_client_appends_each_line_once_also_when_the_daemon_has_ended(
    name: str, home: Locations, tmp_path: Path
) -> None:
    command = [*CLIENTS[name], str(EXAMPLES / name), str(tmp_path)]
    with subprocess.Popen(
        command, env=environ(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as client:
        session_id = lines_until(client, "session:")[-1].partition(" ")[2]
        first = say(client, 'Say "no".')
        assert [line.partition(" ")[0] for line in first] == ["appended:", "messages:"]
        other = {
            "type": "message",
            "id": "other-1",
            "message": {"role": "user", "content": "From elsewhere."},
        }
        rpc(home, "session/append", sessionId=session_id, entries=[other])
        pid = json.loads(Path(home.endpoint).read_text(encoding="utf-8"))["pid"]
        second = say(client, "Again.")
        assert "appended: other-1" in second
        assert second[-1] == "messages: 3"
        os.kill(pid, signal.SIGKILL)
        third = say(client, "After the end.")
        assert third[-1] == "messages: 4"
        assert sum(line.startswith("appended:") for line in (*first, *second, *third)) == 4
        assert client.stdin is not None
        client.stdin.close()
        assert client.wait() == 0
    messages = rpc(home, "session/context", sessionId=session_id)["messages"]
    assert isinstance(messages, list)
    texts = [message["message"]["content"] for message in messages]
    assert [text.strip() for text in texts] == ['Say "no".', "From elsewhere.", "Again.", "After the end."]
