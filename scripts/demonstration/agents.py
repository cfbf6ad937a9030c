"""The first two scenes: sessions that three real agents wrote are followed, searched, and resumed in another agent."""

import os
import sys
from pathlib import Path
from typing import Any

from scripts.demonstration.stage import Terminal, ask, claim, heading, say, soon

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests/data"
CLAUDE = "fb915636-f465-49b7-90af-dae7fa15aff2"
CODEX = "01a20a6f-d913-7ce1-b438-86c97941a699"
FILES = {
    f".claude/projects/-home-dev-demo/{CLAUDE}.jsonl": DATA / "agents/claude-code-2.1.197.jsonl",
    f".codex/sessions/2026/11/23/rollout-2026-11-23T22-03-51-{CODEX}.jsonl": DATA
    / "agents/codex-0.169.0.jsonl",
    ".omp/agent/sessions/-weather/2026-11-02T09-14-07-000Z_019a43c0.jsonl": DATA / "peers/omp-18.3.4.jsonl",
}
"""The recorded session of each agent, by its place in a person's home."""
QUESTION = "Where is the heron?"


def put_agents(home: Path) -> list[Path]:
    """Put the sessions of the agents into a home, in the project ~/demo. Returns their files."""
    (home / "demo/.git").mkdir(parents=True)
    (home / "demo/.git/HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (home / "demo/weather").mkdir()
    for place, recorded in FILES.items():
        text = recorded.read_text(encoding="utf-8").replace("/home/dev/weather", "/home/dev/demo/weather")
        file = home / place
        file.parent.mkdir(parents=True)
        file.write_text(text.replace("/home/dev/demo", str(home / "demo")), encoding="utf-8")
    return [home / place for place in FILES]


def follow_agents(terminal: Terminal, files: list[Path]) -> None:
    """Follow the three agents, search their sessions, and show what an agent writes and deletes."""
    heading(
        "1. Sessions that Claude Code, Codex and oh-my-pi wrote, in a throw-away home: followed, not imported"
    )
    originals = [file.read_bytes() for file in files]
    terminal.run("cd ~/demo/weather")
    terminal.run("sessiond agents follow --all")
    claim("the sessions of all three are here", soon(lambda: len(listed_agents(terminal)) == len(files)))
    terminal.run("sessiond list")
    claim(
        "the whole repository is listed, each session with its agent",
        listed_agents(terminal) == ["claude-code", "codex", "oh-my-pi"],
    )
    terminal.run("sessiond search 'use a tool' --wait")
    found = {hit["origin"]["agent"] for hit in hits(terminal, "use a tool")}
    claim("one search finds what was typed in two agents", found == {"claude-code", "codex"})
    claim("no byte of the agents' files has changed", [file.read_bytes() for file in files] == originals)
    claude = files[0]
    line = answer_of_claude(claude, "A kingfisher was seen just now.")
    with claude.open("ab") as file:
        file.write(line)
    claim("what Claude Code writes is found at once", soon(lambda: bool(hits(terminal, "kingfisher"))))
    claude.unlink()
    claim("Claude Code deletes its file, and the session says so", soon(lambda: is_gone(terminal)))
    terminal.run("sessiond search kingfisher")
    claim("and is still there", bool(hits(terminal, "kingfisher")))


def answer_of_claude(file: Path, text: str) -> bytes:
    """The line with which Claude Code continues its session after the last answer in the file."""
    line = next(line for line in reversed(file.read_bytes().splitlines()) if b"Answer number 9" in line)
    uuid = line.split(b'"uuid":"')[1][:36]
    parent = line.split(b'"parentUuid":"')[1][:36]
    fresh = line.replace(uuid, b"0" * 35 + b"1").replace(parent, uuid)
    return fresh.replace(b"Answer number 9", text.encode()).replace(b"msg_9", b"msg_10") + b"\n"


def listed_agents(terminal: Terminal) -> list[str]:
    return sorted(session["origin"]["agent"] for session in ask(terminal, "sessiond list --json")["sessions"])


def hits(terminal: Terminal, words: str) -> list[Any]:
    return list(ask(terminal, f"sessiond search '{words}' --wait --json")["hits"])


def is_gone(terminal: Terminal) -> bool:
    sessions = ask(terminal, "sessiond list --agent claude-code --json")["sessions"]
    return any(session["origin"]["gone"] for session in sessions)


def resume_elsewhere(terminal: Terminal, home: Path) -> None:
    """Write the session of Claude Code for Codex; if Codex is installed, go on in it."""
    heading("2. Resume: the session of Claude Code goes on in Codex")
    terminal.run(f"sessiond resume {CLAUDE[:8]} --in codex --print")
    [written] = [path for path in (home / ".codex").rglob("rollout-*.jsonl") if CODEX not in path.name]
    text = written.read_text(encoding="utf-8")
    claim(
        "Codex has a new session with both sides of it", "after the summary" in text and "kingfisher" in text
    )
    installed = Path(os.environ.get("SESSIOND_AGENTS") or ROOT / ".cache/agents")
    if not (installed / "codex/installed.json").exists():
        say("The command above goes on in it. With scripts/install-agents, the real Codex does that here.")
        return
    sys.path.append(str(ROOT / "tests"))  # the model in place of a provider is that of the tests
    from support.real_agents import RealAgents
    from support.scripted_model import ScriptedModel

    with ScriptedModel() as model:
        model.when(QUESTION).says("The heron stands in the reeds.")
        agents = RealAgents(home, model.url)
        say(f"The real Codex goes on in it, and is asked: {QUESTION}")
        said = agents.resume("codex", home / "demo", written.stem[-36:], QUESTION)
        claim("the answer arrives", "The heron stands in the reeds." in said)
        asked = model.request_with(QUESTION).texts("user") + model.request_with(QUESTION).texts("assistant")
        claim("the model has received the words of Claude Code", any("kingfisher" in part for part in asked))
    claim("sessiond follows that, too", soon(lambda: bool(hits(terminal, "heron stands"))))
