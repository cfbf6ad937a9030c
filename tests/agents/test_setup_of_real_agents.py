"""The real agents run the hooks that setup installed, and undo leaves their settings byte for byte as before.

Needs scripts/install-agents. Without it these tests fail and say so; `-m "not agents"` leaves them out.
"""

import contextlib
import json  # noqa: TID251 - an independent reader
import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from sessiond.agents.table import AGENTS
from sessiond.paths import Locations
from support.homes import a_home, environment, sessiond, wait_until
from support.patience import BOUND
from support.real_agents import RealAgents
from support.scripted_model import ScriptedModel

pytestmark = pytest.mark.agents


NOTE = "The last session was about herons."


class RecordingDaemon:
    """A daemon's socket that responds to `agent/wake` and keeps the params of each."""

    def __init__(self, locations: Locations) -> None:
        Path(locations.runtime).mkdir(parents=True, exist_ok=True, mode=0o700)
        self.woken: list[dict[str, str]] = []
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(locations.socket)
        self._socket.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                request = connection.recv(65_536).partition(b"\r\n\r\n")[2]
                # An agent also starts the MCP server that setup registers, which connects.
                if request and (decoded := json.loads(request))["method"] == "agent/wake":
                    self.woken.append(decoded["params"])
                    body = (
                        b'{"jsonrpc":"2.0","id":1,"result":{"isFollowed":true,"note":"%b"}}' % NOTE.encode()
                    )
                    with contextlib.suppress(BrokenPipeError):  # a hook on a busy machine waits no longer
                        connection.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def settings_of(home: Path, name: str) -> bytes | None:
    hooks = AGENTS[name].hooks
    assert hooks is not None
    path = Path(hooks.path({"HOME": str(home)}))
    return path.read_bytes() if path.exists() else None


@pytest.mark.parametrize("name", [name for name, agent in AGENTS.items() if agent.hooks is not None])
def test_a_turn_wakes_the_daemon_through_the_hook_and_undo_leaves_the_settings_as_before(
    name: str, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    with ScriptedModel() as model, a_home() as locations:
        model.when("Where is the heron?").says("The heron stands in the reeds.")
        agents = RealAgents(tmp_path / "home", model.url)
        if name == "qwen":  # its first turn writes its settings file anew
            agents.turn(name, project, "Where is the heron?")
        before = settings_of(agents.home, name)
        environ = environment(locations, HOME=str(agents.home), SHELL="/bin/bash")
        environ = {text: value for text, value in environ.items() if not text.startswith("XDG_")}

        def setup(*words: str) -> None:
            subprocess.run(
                sessiond("setup", *words), env=environ, check=True, stdout=subprocess.DEVNULL, timeout=BOUND
            )

        setup("--yes", "--agent", name)
        assert settings_of(agents.home, name) != before
        daemon = RecordingDaemon(locations)
        if name == "codex":  # it runs no hook that a person has not trusted
            trusting = ["--skip-git-repo-check", "--dangerously-bypass-hook-trust"]
            said = agents.run(["codex", "exec", *trusting, "Where is the heron?"], project)
        else:
            said = agents.turn(name, project, "Where is the heron?")
        assert "The heron stands in the reeds." in said
        if name in ("claude-code", "codex", "gemini"):  # Qwen Code begins no session without a terminal
            assert NOTE in json.dumps(model.request_with("Where is the heron?").body)
        wait_until(lambda: bool(daemon.woken))
        daemon.close()
        assert {item["agent"] for item in daemon.woken} == {name}
        paths = {os.path.realpath(file["path"]) for file in daemon.woken if "path" in file}
        assert paths <= {str(file) for file in agents.session_files(name)}
        Path(locations.socket).unlink()
        setup("--undo")
        assert settings_of(agents.home, name) == before
