"""The sessions that all pictures show: a large branched one, and others that several agents wrote."""

import hashlib
import json  # noqa: TID251 - files of other programs are written as they write them
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from support.pages import Story, call
from support.stories import Teller

ID = "9d2c41f0-shop"
TITLE = "Flaky checkout"
LEAF = "Checkout no longer fails when two orders meet at a new article."

_BEGAN = datetime(2026, 2, 16, 9, tzinfo=UTC)


class Telling(Story):
    """Entries whose times, models, tokens and costs differ as in real work."""

    def __init__(self) -> None:
        super().__init__()
        self._minute = 0.0
        self._model = "claude-opus-4-1"

    def add(self, type_: str, **payload: Any) -> str:
        seconds = round(self._minute * 60)
        at = _BEGAN + timedelta(seconds=seconds)
        return super().add(type_, **{"timestamp": f"{at:%Y-%m-%dT%H:%M:%S}.000Z", **payload})

    def after(self, minutes: float) -> None:
        self._minute += minutes

    def asks(self, text: str, *, minutes: float = 2.0, **more: Any) -> str:
        self.after(minutes)
        return self.user(text, **more)

    def answers(
        self, *content: str | dict[str, Any], tokens: tuple[int, int, int] = (900, 14_000, 180),
        seconds: float = 20, **more: Any,
    ) -> str:  # fmt: skip
        """Answer after some seconds. `tokens`: in, cached, out."""
        self.after(seconds / 60)
        name = self.assistant(*content, **more)
        given, cached, out = tokens
        cost = {"input": given * 15e-6, "cacheRead": cached * 1.5e-6, "output": out * 75e-6}
        message = self.entries[-1]["message"]
        message["model"] = self._model
        message["usage"] = {
            "input": given, "output": out, "cacheRead": cached, "totalTokens": sum(tokens),
            "cost": cost | {"total": sum(cost.values())},
        }  # fmt: skip
        return name

    def returns(self, tool: str, text: str, *, seconds: float = 1.0, error: bool = False) -> str:
        self.after(seconds / 60)
        name = self.result(text, error=error)
        self.entries[-1]["message"]["toolName"] = tool
        return name

    def fails(self, error: str, *, seconds: float = 1.0) -> str:
        """Answer with an error of the provider only."""
        name = self.answers("", tokens=(0, 0, 0), seconds=seconds)
        self.entries[-1]["message"] |= {"content": [], "stopReason": "error", "errorMessage": error}
        return name

    def uses(self, model: str) -> None:
        self._model = model
        self.add("model_change", provider="anthropic", modelId=model)


def checkout_story() -> Story:
    """A bug is looked for, explained, fixed and tested in a morning; five approaches are tried and abandoned."""
    story = Telling()
    bug = story.asks(
        "The checkout test fails about once in **ten** runs. Find out why, and fix it.\n\n"
        "It began with `a41c9e0`; the log says `KeyError: 'reserved'`.",
        minutes=0,
    )
    story.answers(
        {"type": "thinking", "thinking": "Only sometimes: two orders run in another order."},
        "I run it until it fails, and look at what it was doing.",
        call("bash", command="pytest -x -q tests/test_checkout.py --count 20"), tokens=(3_210, 18_400, 412),
    )  # fmt: skip
    story.returns(
        "bash",
        '....F\n    def reserve(self, order):\n>       self.slots[order.sku]["reserved"] += order.amount\n'
        "E       KeyError: 'reserved'\n\nshop/stock.py:41: KeyError\n1 failed, 4 passed in 3.11s",
        seconds=14, error=True,
    )  # fmt: skip
    story.answers(
        "The slot of a new article is seen too early.", call("read", path="shop/stock.py"), seconds=9
    )
    story.returns("read", "1  class Stock:\n2      def __init__(self) -> None:\n3          self.slots = {}\n")
    cause = story.answers(
        "`reserve` puts an empty slot into the table, and fills it afterwards. A second order finds it empty.",
        tokens=(2_050, 21_600, 240), seconds=31,
    )  # fmt: skip
    story.asks("Try a lock around the whole stock.", minutes=1.2)
    story.answers(
        "It holds, but a checkout takes 340 ms instead of 90.", tokens=(1_400, 24_800, 310), seconds=95
    )
    slow = story.asks("Would a lock for each article be faster?", minutes=3)
    story.answers("120 ms, and 40 lines more.", tokens=(1_850, 27_000, 505), seconds=140)
    story.asks("And without a lock, with a retry?", minutes=0.7, parentId=slow)
    story.answers(
        "A retry hides the bug: an order can be counted twice.", tokens=(990, 25_100, 220), seconds=44
    )
    story.add(
        "branch_summary", parentId=cause, fromId=story.leaf,
        summary="Locks were ruled out: 120 ms to 340 ms a checkout. A retry hides the bug.",
    )  # fmt: skip
    story.asks("Make each slot whole before another order can see it.", minutes=6)
    story.uses("claude-sonnet-4-5")
    fix = story.answers(
        "The slot was put into the table *before* it had its fields. Now it is made first:",
        call(
            "edit", path="shop/stock.py",
            oldText='slot = self.slots[order.sku] = {}\nslot["reserved"] = 0',
            newText='slot = {"reserved": 0}\nself.slots[order.sku] = slot',
        ), tokens=(4_400, 9_800, 690), seconds=27,
    )  # fmt: skip
    story.returns("edit", "Edited shop/stock.py")
    story.answers("Now I run it two hundred times.", call("bash", command="pytest --count 200"), seconds=6)
    passed = story.returns("bash", "200 passed in 48.20s", seconds=48)
    story.asks("Could `defaultdict` say it in one line?", minutes=4, parentId=fix)
    story.answers("Yes, but a read would then make a slot, too.", tokens=(700, 12_200, 130), seconds=12)
    table = story.answers(
        "Two hundred runs, no failure. What was wrong, and what holds now:\n\n"
        "| | before | now |\n|---|---|---|\n| slot seen | while it was made | when it is whole |\n"
        "| failures in 200 runs | 19 | 0 |\n\n"
        "```python\ndef reserve(self, order: Order) -> None:\n"
        '    slot = self.slots.setdefault(order.sku, {"reserved": 0})\n'
        '    slot["reserved"] += order.amount  # never half made\n```\n',
        parentId=passed, tokens=(1_120, 15_900, 420), seconds=18,
    )  # fmt: skip
    story.add("label", targetId=table, label="fixed")
    story.add("label", targetId=bug, label="the bug")
    story.leaf = table
    for question, answer in (
        ("Post it as a comment on the issue, too.", "I have no access to the issue; here is the text."),
        (
            "Write a test that fails without the fix.",
            "It fails on `a41c9e0~1` in every run: two threads, one slot.",
        ),
    ):
        story.asks(question, minutes=2.5, parentId=table)
        story.answers(answer, tokens=(840, 17_300, 260), seconds=37)
    docs = story.asks("Good. Say it in one line for the changelog.", minutes=11)
    story.answers("> Fixed a race in the reservation of new articles.", seconds=5)
    story.answers(f"> {LEAF}", parentId=docs, tokens=(610, 18_000, 45), seconds=7)
    return story


def entries() -> list[dict[str, Any]]:
    """The entries of the story, with ids as a daemon makes them."""
    told = checkout_story().entries
    ids = {entry["id"]: hashlib.sha256(entry["id"].encode()).hexdigest()[:8] for entry in told}
    names = ("id", "parentId", "targetId", "fromId")
    return [{**entry, **{name: ids.get(entry[name]) for name in names if name in entry}} for entry in told]


def tell(teller: Teller, home: Path) -> None:
    """Let a daemon store all sessions. Those of the agents are written into `home` first."""
    teller.create(ID, *entries(), title=TITLE)
    for path in _write_agents(home, teller.folder):
        teller.call("session/import", path=str(path))


def _write_agents(home: Path, project: Path) -> Iterator[Path]:
    """Write sessions that Claude Code and Codex had in a project into the home of their user."""
    claude = "5b1f0c8e-2a44-4d0e-9f77-1c9be0a6d201"
    yield _write(
        home / f".claude/projects/-home-ada-shop/{claude}.jsonl",
        *_claude(claude, project, [
            ("user", "Why does the invoice PDF have no logo on Windows?"),
            ("assistant", "The path has backslashes, so the template does not find the file."),
            ("user", "Fix it, and add a test that runs everywhere."),
            ("assistant", "Done: the path is made with `as_posix`, and the test uses a folder with a blank."),
        ]),
    )  # fmt: skip
    codex = "019a8c31-77aa-7c10-b1f0-2d3e4f5a6b7c"
    yield _write(
        home / f".codex/sessions/2026/11/01/rollout-2026-02-15T16-20-05-{codex}.jsonl",
        *_codex(codex, project, [
            ("user", "Move the price rules out of the views."),
            ("assistant", "I moved 14 rules into shop/prices.py; the views only call them now."),
        ]),
    )  # fmt: skip
    yield _write(
        home / ".codex/sessions/2026/02/12/rollout-2026-02-12T11-02-44-019a7b20-1100-7c10-b1f0-99aa88bb77cc.jsonl",
        *_codex("019a7b20-1100-7c10-b1f0-99aa88bb77cc", project, [
            ("user", "Which tests are slow, and why?"),
            ("assistant", "Three slow tests start a browser each; sharing one saves 70 seconds."),
        ]),
    )  # fmt: skip


def _claude(name: str, project: Path, said: list[tuple[str, str]]) -> list[dict[str, Any]]:
    lines = []
    for number, (role, text) in enumerate(said):
        message: dict[str, Any] = {"role": role, "content": [{"type": "text", "text": text}]}
        if role == "assistant":
            message |= {"id": f"msg_{number}", "model": "claude-opus-4-1", "stop_reason": "end_turn"}
        lines.append(
            {
                "type": role, "uuid": f"{name[:8]}-{number}",
                "parentUuid": f"{name[:8]}-{number - 1}" if number else None, "sessionId": name,
                "cwd": str(project), "version": "2.1.197", "timestamp": f"2026-02-15T18:{30 + number:02}:11.000Z",
                "message": message,
            }
        )  # fmt: skip
    return lines


def _codex(name: str, project: Path, said: list[tuple[str, str]]) -> list[dict[str, Any]]:
    at = "2026-02-15T16:20:05.000Z"
    meta = {
        "id": name,
        "timestamp": at,
        "cwd": str(project),
        "originator": "codex_cli",
        "cli_version": "0.169.0",
    }
    kinds = {"user": "input_text", "assistant": "output_text"}
    return [
        {"timestamp": at, "type": "session_meta", "payload": meta},
        *[
            {
                "timestamp": f"2026-02-15T16:{21 + number:02}:05.000Z", "type": "response_item",
                "payload": {"type": "message", "role": role, "content": [{"type": kinds[role], "text": text}]},
            }
            for number, (role, text) in enumerate(said)
        ],
    ]  # fmt: skip


def _write(path: Path, *lines: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path
