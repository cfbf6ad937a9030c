"""Content that is meant to do more than to be read: too deep, too large, obeyed by terminals, by Markdown, by logs."""

import json  # noqa: TID251  (an attacker has no msgspec)
import re
from pathlib import Path
from typing import Any, Final

from campaigns.attacks.asking import command, is_well, line, on_a_terminal, raw, refused
from campaigns.campaign import Ground, hold
from campaigns.daemons import Home

SESSION: Final = "hostile-session"
_GROWTH: Final = 400 * 1024 * 1024
"""Bytes that the daemon may have grown by, at most, after all of it."""

EVIL: Final = (
    "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x1b[0m\x1b]52;c;ZXZpbA==\x07\x9b31mc1\x9d0;owned\x9c\x1bP+q\x1b\\"
    "\x08\x08\x7f\u202eright-to-left\u2066\u200f\U000e0041\r\x0b\x0c"
)
_OURS: Final = re.compile(rb"\x1b\[[0-9;]{1,12}m|\r\x1b\[K|\r\n")
_OBEYED: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0001-\U000e007f]"
)


def _message(role: str, text: str, **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": [{"type": "text", "text": text}], "provider": text, "model": text}
    return {"type": "message", "message": message, **more}


def deep_and_huge_values_in_requests(_ground: Ground, home: Home) -> None:
    """Each gets an error or is stored; the next client is answered."""
    home.call("session/create", cwd="/w", id=SESSION)
    params = b'{"sessionId":"%b","entries":[{"type":"custom","customType":"x","data":%b}]}'
    head = b'{"jsonrpc":"2.0","id":1,"method":"session/append","params":'
    deep = b"[" * 200_000 + b"]" * 200_000
    for data in (
        deep,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"9" * 1_000_000,
        b"1e999999999",
        b"-" + b"1" * 5_000,
        b'"' + b"\\u0000" * 100_000 + b'"',
        b'"\\ud800"',
        b"[" + b"{}," * 300_000 + b"{}]",
    ):
        body = head + params % (SESSION.encode(), data) + b"}"
        answer = raw(home, b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        hold(answer.startswith(b"Content-Length: "), f"no answer to {data[:30]!r}: {answer[:100]!r}")
        is_well(home)
    path = Path(home.call("session/info", sessionId=SESSION)["session"]["path"])
    for stored in path.read_bytes().splitlines():
        json.loads(stored, parse_int=lambda text: len(text), parse_float=lambda text: 0.0)


def files_that_are_larger_than_they_look(ground: Ground, home: Home) -> None:
    """Many tiny lines, one huge line, lines that are too deep: they are told of, and the daemon stays small."""
    before = home.call("server/status")["rssBytes"]
    folder = home.folder.parent / f"{home.folder.name}-files"
    folder.mkdir()
    header = b'{"type":"session","version":3,"id":"large-session","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}\n'
    for name, body in (
        ("tiny", b"\n" * (2_000_000 if ground.long else 100_000)),
        ("objects", b"{}\n" * (1_000_000 if ground.long else 50_000)),
        ("huge", b'{"type":"message","id":"x","a":"' + b"a" * 64_000_000),
        ("deep", (b"[" * 50_000 + b"\n") * 20),
        ("nul", bytes(8_000_000)),
    ):
        path = folder / f"{name}.jsonl"
        path.write_bytes(header.replace(b"large", name.encode()) + body)
        with home.connect_blocking() as daemon:
            opened = daemon.call("session/open", {"path": str(path)})
            hold(opened["problems"] or name == "tiny", f"nothing is said of {name}")
            daemon.call("session/close", {"sessionId": opened["session"]["sessionId"]})
    found = home.call("server/doctor", paths=[str(folder)])
    hold(found["healthy"] is False, "the doctor finds nothing wrong with them")
    grown = home.call("server/status")["rssBytes"] - before
    hold(grown < _GROWTH, f"the daemon has grown by {grown:,} bytes")


def text_that_terminals_obey(ground: Ground, home: Home) -> None:
    """Nothing of it reaches a terminal, whichever command shows it; pipes get it only where they ask for JSON."""
    home.call("session/create", cwd=f"/w/{EVIL}".replace("\0", ""), id=SESSION, title=EVIL, tags=[EVIL])
    entries = [
        _message("user", EVIL, id="e1"),
        _message("assistant", EVIL, id="e2"),
        {"type": "custom_message", "customType": EVIL, "content": EVIL, "display": True, "id": "e3"},
        {"type": EVIL, "id": "e4"},
        {"type": "branch_summary", "fromId": "e1", "summary": EVIL, "id": "e5"},
    ]
    home.call("session/append", sessionId=SESSION, entries=entries)
    home.call("session/label", sessionId=SESSION, entryId="e1", label=EVIL)
    path = Path(home.call("session/info", sessionId=SESSION)["session"]["path"])
    with path.open("ab") as file:
        file.write(
            json.dumps({"type": "message", "id": EVIL, "parentId": EVIL}).encode()
            + b"\n"
            + EVIL.encode()
            + b"\n"
        )
    path.with_name(f"{EVIL.replace('/', '')}.txt").write_bytes(b"")
    other = home.folder.parent / f"{home.folder.name}-other.jsonl"
    header = {
        "type": "session",
        "version": 3,
        "id": EVIL,
        "timestamp": EVIL,
        "cwd": EVIL,
        "parentSession": EVIL,
    }
    lines = [
        header,
        _message("user", "x", id=EVIL, parentId=None),
        _message("assistant", "y", id="a2", parentId=EVIL),
    ]
    other.write_text("".join(json.dumps(row) + "\n" for row in lines), encoding="utf-8")
    shown: tuple[tuple[str, ...], ...] = (
        ("list", "--all"), ("show", SESSION), ("show", SESSION, "--entry", "e1"), ("tree", SESSION),
        ("tree", SESSION, "--filter", "all"), ("tree", SESSION, "--ascii"), ("context", SESSION),
        ("context", SESSION, "--explain"), ("stats", SESSION), ("state", SESSION),
        ("search", "owned", "--all"), ("history",), ("clients",), ("doctor",), ("export", SESSION),
        ("export", SESSION, "--format", "jsonl"),
        ("branch", SESSION, "e1", "--dry-run"), ("compact", SESSION, "--dry-run", "--keep-recent", "1"),
        ("show", EVIL), ("tree", SESSION, "--root", EVIL), (EVIL,), ("list", f"--{EVIL}"),
        ("label", SESSION, "e2", EVIL),
        ("continue", "--cwd", f"/w/{EVIL}"), ("trash",), ("cleanup", "--keep", "0"), ("import", str(path)),
    )  # fmt: skip
    shown += tuple((verb, str(other)) for verb in ("show", "tree", "context", "stats", "state", "export"))
    shown += (
        ("rename", str(other), EVIL),
        ("tag", str(other), "--add", EVIL),
        ("context", str(other), "--explain"),
    )
    shown += (("label", str(other), EVIL, EVIL), ("branch", str(other), EVIL, "--dry-run"), ("list", "--all"))
    shown += (
        ("fork", str(other), "--cwd", "/w"),
        ("branch", str(other), EVIL),
        ("delete", str(other)),
        ("trash",),
    )
    verbatim = ("export", "--entry")
    for words in shown:
        if not any(word in verbatim for word in words):
            done = command(home, *words)
            for text in (done.stdout, done.stderr):
                obeyed = _OBEYED.search(text)
                hold(obeyed is None, f"{words}: {obeyed and text[max(0, obeyed.start() - 40) :][:80]!r}")
        if ground.long or ground.dice.random() < 0.2 or "export" in words:
            _look_at_terminal(home, words)
        if ground.long and words[0] in (
            "list",
            "show",
            "tree",
            "context",
            "search",
            "doctor",
            "clients",
            "stats",
        ):
            _look_at_terminal(home, (*words, "--json"))
    _look_at_terminal(home, ("tree", SESSION, "--json"))


def _look_at_terminal(home: Home, words: tuple[str, ...]) -> None:
    text = _OURS.sub(b"\n", on_a_terminal(home, *words)).decode("utf-8", "replace")
    obeyed = _OBEYED.search(text)
    hold(obeyed is None, f"on a terminal, {words}: {obeyed and text[max(0, obeyed.start() - 40) :][:80]!r}")


def text_that_markdown_obeys(_ground: Ground, home: Home) -> None:
    """Text stays in its fence, however it tries to close it; names and titles are words and nothing else."""
    evil = "```\n````\n~~~\n# Injected heading\n<script>alert(1)</script>\n[link](javascript:alert(1))\n![x](http://evil/)\n"
    home.call("session/create", cwd="/w/<script>", id=SESSION, title=evil, tags=[evil[:40]])
    entries = [_message("user", evil), _message("assistant", evil + "`" * 40)]
    home.call("session/append", sessionId=SESSION, entries=entries)
    text = home.call("session/export", sessionId=SESSION, format="markdown", redact=False)["text"]
    fence: str | None = None
    for each in text.split("\n"):
        opening = re.match(r" {0,3}(`{3,}|~{3,})", each)
        if fence is None and opening:
            fence = opening[1]
        elif fence is not None:
            if re.fullmatch(rf" {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}\s*", each):
                fence = None
        else:
            bad = re.search(r"(?<!\\)<script|(?<!\\)\]\(|(?<!\\)\[link", each)
            hold(bad is None, f"outside a fence: {each!r}")
            hold(not re.match(r" {0,3}#+ Injected", each), f"a heading was injected: {each!r}")
    hold(fence is None, "a fence stays open")


def secrets_in_the_log(_ground: Ground, home: Home) -> None:
    """Text, names, wrong requests and garbage stand in no log, no argument and no variable."""
    secret = "sk-THE-SECRET-0123456789abcdef"
    home.call("session/create", cwd=f"/w/{secret}", id=SESSION, title=secret)
    home.call(
        "session/append", sessionId=SESSION, entries=[_message("user", secret), _message("assistant", secret)]
    )
    command(home, "append", SESSION, "--user", secret)
    command(home, "search", secret, "--all")
    refused(home, "session/append", sessionId=SESSION, entries=[{"type": secret, "id": secret * 20}])
    refused(home, "session/info", sessionId=secret)
    refused(home, f"no/{secret}")
    raw(
        home,
        b'{"jsonrpc":"2.0","id":1,"method":"session/list","params":{"cwd":%d, "%b": }}\n'
        % (7, secret.encode()),
    )
    raw(home, b"Content-Length: 10\r\n\r\n" + secret.encode())
    raw(home, b"Content-Length: " + secret.encode() + b"\r\n\r\n")
    raw(home, line("session/list", {"limit": secret}))
    pid = home.pid()
    for place in (home.locations.log, f"/proc/{pid}/cmdline", f"/proc/{pid}/environ"):
        hold(secret.encode() not in Path(place).read_bytes(), f"a secret stands in {place}")


def lines_that_forge_the_log(_ground: Ground, home: Home) -> None:
    """The name of a client adds no line to the log, and nothing that a terminal obeys."""
    forged = "2026-01-01 00:00:00,000 CRITICAL sessiond: forged"
    home.call("session/list")
    hello = {"capabilities": {}, "clientInfo": {"name": f"x\n{forged}\x1b[31m", "version": f"\n{forged}"}}
    raw(
        home,
        line("initialize", hello),
        line("server/drain", {"note": f"x\n{forged}\x9b", "timeoutMs": 100}, 2),
    )
    home.kill()
    for each in Path(home.locations.log).read_text(encoding="utf-8").split("\n"):
        hold(not each.startswith(forged), "a client wrote a line of the log")
        hold(not _OBEYED.search(each), f"the log holds what a terminal obeys: {each!r:.200}")
