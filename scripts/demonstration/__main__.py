"""The demonstration, in ten scenes. The exit status is 1 if a claim is false."""

import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
from scripts.demonstration.agents import follow_agents, put_agents, resume_elsewhere
from scripts.demonstration.stage import (
    ClaimFailed,
    CommandFailed,
    Running,
    Terminal,
    ask,
    claim,
    heading,
    paint,
    say,
    session_in,
    soon,
    terminals,
)

ROOT = Path(__file__).resolve().parent.parent.parent
REAL = ROOT / "tests/data/peers/pi-1.6.0.jsonl"
FOLDER = "/home/dev/weather"
SESSION = "019a43c0-7d18-7c5e-9b1a-5c1d0f6e2a41"
SHORT = SESSION[:8]


def main() -> int:
    start = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="sessiond-demo-") as folder:
            (home := Path(folder).resolve() / "ada").mkdir()
            tell_of_agents(home)
            tell(Path(folder))
    except (ClaimFailed, CommandFailed) as failure:
        print(f"\n{paint('✗', '31')} This does not hold: {failure}", file=sys.stderr)
        return 1
    heading(
        f"All of this was checked while it ran, in {time.monotonic() - start:.0f} s. Nothing was left behind."
    )
    return 0


def tell_of_agents(home: Path) -> None:
    files = put_agents(home)
    with terminals(home) as (left, _):
        follow_agents(left, files)
        resume_elsewhere(left, home)


def tell(home: Path) -> None:
    file = put_real_session(home)
    put_summarizer(home)
    original = file.read_bytes()
    with terminals(home) as (left, right):
        open_real_session(left, original, file)
        give_each_its_own(left, right)
        watching = watch_and_append(left, right)
        branch_and_label(left)
        fork(left, file)
        compact(left)
        kill_and_go_on(left, watching)
        go_home(left, right, file, original)


def put_real_session(home: Path) -> Path:
    """Copy the file that pi wrote to the folder of the sessions, with the same file name."""
    folder = home / "data/sessions/--home-dev-weather--"
    folder.mkdir(parents=True, mode=0o700)
    return Path(shutil.copy(REAL, folder / f"2026-11-02T09-14-07-000Z_{SESSION}.jsonl"))


def put_summarizer(home: Path) -> None:
    """Let a program that replaces a model write the summaries."""
    command = [sys.executable, str(ROOT / "scripts/demonstration/summarizer.py")]
    folder = home / "config"
    folder.mkdir(mode=0o700)
    (folder / "config.toml").write_text(
        f"[summarizer]\ncommand = {msgspec.json.encode(command).decode()}\n", encoding="utf-8"
    )


def open_real_session(left: Terminal, original: bytes, file: Path) -> None:
    heading("3. A session that the real pi 1.6.0 wrote, in a throw-away home")
    lines = len(original.split(b"\n")) - 1
    say(f"{lines} lines, copied byte for byte. No daemon runs yet; the first command starts it.")
    chosen = left.run(f"sessiond continue --cwd {FOLDER}")
    claim("the terminal called left was given pi's session", session_in(chosen) == SESSION)
    left.run(f"sessiond tree {SHORT}")
    claim("looking changed no byte of the file", file.read_bytes() == original)


def give_each_its_own(left: Terminal, right: Terminal) -> None:
    heading("4. Every terminal finds its own session, and is told why")
    own = session_in(right.run(f"sessiond continue --cwd {FOLDER}"))
    claim("right got another session than left, because left has that one", own != SESSION)
    again = left.run(f"sessiond continue --cwd {FOLDER}")
    claim("left still has its own", session_in(again) == SESSION)
    right.run(f"sessiond append {own[:8]} --user 'What is the weather in Bergen?'", lines=1)
    claim("right is back in its own, a draft until an assistant speaks", right_is_in(right, own))


def right_is_in(right: Terminal, session: str) -> bool:
    found = ask(right, f"sessiond continue --cwd {FOLDER} --json")
    return bool(found["session"]["sessionId"] == session and found["reason"] == "breadcrumb")


def watch_and_append(left: Terminal, right: Terminal) -> Running:
    heading("5. One appends, the other watches it arrive")
    watching = right.start(["sessiond", "watch", SESSION], f"sessiond watch {SHORT}")
    claim("right has attached to left's session", soon(lambda: watching.has("Watching")))
    entry = left.run(f"sessiond append {SHORT} --user 'Publish 0.2.' --assistant 'Published.'").split()[-1]
    claim("right has seen both arrive", soon(lambda: watching.has(entry)))
    show_new(watching)
    return watching


def show_new(watching: Running) -> None:
    for line in watching.lines[-2:]:
        print(f"  {paint('right ▸', '35')} {line}")


def branch_and_label(left: Terminal) -> None:
    heading("6. Branch and label: nothing is removed, the leaf moves")
    question = find(left, "What is left to do")
    left.run(f"sessiond branch {SHORT} {question}")
    answer = left.run(f"sessiond append {SHORT} --assistant 'Only the README is left to do.'").split()[-1]
    left.run(f"sessiond label {SHORT} {answer} 'second opinion'")
    left.run(f"sessiond tree {SHORT} --root {question}")
    here = ask(left, f"sessiond context {SHORT} --json")
    there = ask(left, f"sessiond context {SHORT} --leaf {find(left, 'Published.')} --json")
    claim("a model at this leaf would see the new answer last", here["messages"][-1]["entryId"] == answer)
    claim("and on the other branch the old one", answer not in [row["entryId"] for row in there["messages"]])
    claim("both begin with the compaction that pi wrote", here["messages"][0] == there["messages"][0])


def fork(left: Terminal, file: Path) -> None:
    heading("7. Fork: a path becomes a session of its own")
    before = file.read_bytes()
    forked = session_in(left.run(f"sessiond fork {SHORT} --title 'Weather: only the README'"))
    rows = ask(left, f"sessiond tree {forked} --filter labeledOnly --json")["nodes"]
    labels = [row["label"] for row in rows]
    say(f"It kept the labels on its path: {', '.join(labels)}")
    claim(
        "labels of other branches stayed behind", "second opinion" in labels and "sqlite cache" not in labels
    )
    claim("its source was not touched", file.read_bytes() == before)


def compact(left: Terminal) -> None:
    heading("8. Compact: a summary stands for the older part, and the way back is one command")
    before = ask(left, f"sessiond context {SHORT} --json")
    left.run(f"sessiond compact {SHORT} --keep-recent 20 --dry-run")
    claim("the dry run changed nothing", ask(left, f"sessiond context {SHORT} --json") == before)
    say("config.toml names a program for summaries; here it only stands for a model.")
    left.run(f"sessiond compact {SHORT} --keep-recent 20")
    after = ask(left, f"sessiond context {SHORT} --json")
    claim(
        "the context begins with its summary", "weather program" in after["messages"][0]["message"]["summary"]
    )
    claim("and takes fewer tokens", after["tokens"] < before["tokens"])
    claim(
        "what it stands for is still in the tree",
        {row["entryId"] for row in before["messages"]} <= set(entries(left)),
    )
    left.run(f"sessiond branch {SHORT} {before['leafId']}")
    again = ask(left, f"sessiond context {SHORT} --json")
    claim("it can be undone", again["messages"] == before["messages"])


def kill_and_go_on(left: Terminal, watching: Running) -> None:
    heading("9. kill -9 while a script appends entries, one by one")
    before = entries(left)
    program = str(ROOT / "scripts/demonstration/script.py")
    script = left.start([sys.executable, program, SESSION], f"python script.py {SHORT}")
    claim("a script has attached and appends", soon(lambda: len(script.lines) >= 20))
    left.run("sessiond clients")
    pid = ask(left, "sessiond status --json")["pid"]
    claim("some are acknowledged, and more are on their way", soon(lambda: len(script.lines) >= 100))
    os.kill(pid, signal.SIGKILL)
    acknowledged = list(script.lines)
    say(f"kill -9 {pid}, after {len(acknowledged)} acknowledgements")
    after = entries(left)
    claim("the next command starts a new daemon", ask(left, "sessiond status --json")["pid"] != pid)
    claim(f"all {len(before)} entries from before are there, in order", after[: len(before)] == before)
    appended = after[len(before) :]
    claim(f"and the {len(acknowledged)} acknowledged ones behind them", starts_with(appended, acknowledged))
    enough = len(acknowledged) + 200
    claim("the script goes on by itself", soon(lambda: len(script.lines) >= enough))
    script.finish()
    final = entries(left)
    claim(
        f"all its {len(script.lines)} entries are there, in order, each once",
        final[len(before) :] == script.lines,
    )
    claim("right never stopped watching, and saw each once", soon(lambda: seen(watching)[-1:] == final[-1:]))
    claim("in the same order", seen(watching)[-len(script.lines) :] == script.lines)
    watching.stop()


def starts_with(ids: list[str], beginning: list[str]) -> bool:
    return ids[: len(beginning)] == beginning


def seen(watching: Running) -> list[str]:
    """The ids of the entries that `sessiond watch` has printed: time, id, who, text."""
    return [line.split()[1] for line in watching.lines if line[2:3] == ":"]


def go_home(left: Terminal, right: Terminal, file: Path, original: bytes) -> None:
    heading("10. Afterwards")
    left.run(f"sessiond continue --cwd {FOLDER}")
    right.run(f"sessiond continue --cwd {FOLDER}")
    left.run(f"sessiond list --cwd {FOLDER} --drafts")
    claim(
        "what pi wrote still stands at the start of the file, byte for byte",
        file.read_bytes().startswith(original),
    )


def entries(terminal: Terminal) -> list[str]:
    """The ids of all entries, in log order."""
    found: list[str] = []
    params: dict[str, Any] = {"sessionId": SESSION, "limit": 1000}
    while True:
        page = ask(terminal, f"sessiond rpc session/entries '{msgspec.json.encode(params).decode()}'")
        found += [item["entry"]["id"] for item in page["items"]]
        if not page.get("nextCursor"):
            return found
        params["cursor"] = page["nextCursor"]


def find(terminal: Terminal, text: str) -> str:
    """The entry whose text contains this."""
    rows = ask(terminal, f"sessiond tree {SHORT} --json")["nodes"]
    return next(str(row["id"]) for row in rows if text in row["preview"])


if __name__ == "__main__":
    sys.exit(main())
