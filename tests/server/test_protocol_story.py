"""The story that the examples of the protocol tell, played to a real daemon: its answers are the same."""

import asyncio
import json  # noqa: TID251 - a line is written as another program writes it
import os
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from scripts.protocol.examples import Answered, Example, answered, asked_of_clients, notifications

from support import logs
from support.columns import entries_of
from support.daemons import Peer, Refused, running
from support.summarizers import Summarizing

BY_THE_SCRIPT = {7, 8, 9, 27, 28, 29, 30, 31, 32, 33, 40, 41, 42, 100, 101, 108, 110, 120, 125, 510, 511}
NOT_TO_BE_HAD = {
    44, 205, 224, 233, 502, 815, 816, 817, *range(822, 828), 830, 831, 833, 834, 835, *range(841, 853), 991, 993,
    "session/lagged", "server/watchLapsed", "session/treeLapsed",
}  # fmt: skip
"""A disk that is full, a session written into the home folder, a client without the token at the TCP listener, one that
reads too slowly, a second store, a broken database, and the usage, the files and the storage of agents: other tests
have them."""
VARYING = {
    "path", "createdAt", "updatedAt", "timestamp", "startedAt", "connectedAt", "sizeBytes", "uptimeMs",
    "rssBytes", "freeBytes", "sinceAt", "modifiedAt", "trashedAt", "pid", "epoch", "home", "socket", "version",
    "trashId", "trashPath", "parentPath",
    "queuedBytes", "heldBytes", "inFlightCount", "descriptorCount", "taskCount",
    "advice", "sessionBytes", "lastPrunedAt", "firstEntryAt", "lastEntryAt", "prompt",
    "html", "position", "userHome",
}  # fmt: skip
"""Fields that differ from day to day and from machine to machine; they must have the same type."""
MADE = re.compile(
    r"[0-9a-f]{8}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}|damaged-[0-9a-f]{12}|[cw]-[0-9a-f]{12}"
    r"|[0-9a-f]{6}-[0-9]+"
)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
SHORTENED = {"methods", "notifications", "experimental", "agents"}
"""Lists of which the document shows only the beginning."""

HANDSHAKES = [answer for answer in answered() if answer.method == "server/hello"]
"""Of the script, which sends them before its first request."""

CLAUDE = b"""\
{"type":"file-history-snapshot","messageId":"f1","snapshot":{}}
{"type":"user","uuid":"zoo-1","parentUuid":null,"sessionId":"7c1f0a52-9d0e-4b7b-8f52-1f4f5a0d9b11",\
"cwd":"/home/ada/zoo","timestamp":"2026-02-16T09:00:00.000Z","message":{"role":"user","content":"Sort the zoo."}}
{"type":"assistant","uuid":"zoo-2","parentUuid":"zoo-1","sessionId":"7c1f0a52-9d0e-4b7b-8f52-1f4f5a0d9b11",\
"cwd":"/home/ada/zoo","timestamp":"2026-02-16T09:00:05.000Z","message":{"role":"assistant","model":"claude-test-1",\
"content":[{"type":"text","text":"Sorted by size."}]}}
{"type":"custom-title","customTitle":"Sort the zoo","sessionId":"7c1f0a52-9d0e-4b7b-8f52-1f4f5a0d9b11"}
"""
"""A session of Claude Code."""


def timeless(value: Any) -> Any:
    """A text without the times in it, which differ from day to day."""
    return TIME.sub("<time>", value) if isinstance(value, str) else value


@dataclass
class Story:
    """Two clients of one daemon, and which ids it made where the document has others."""

    nvim: Peer
    script: Peer
    folder: Path
    ids: dict[str, str] = field(default_factory=dict)

    async def ask(self, example: Answered) -> dict[str, Any]:
        """The reply to a request of the document, as the document would print it."""
        number = example.request.message["id"]
        who = self.script if number in BY_THE_SCRIPT else self.nvim
        params = self.ours(example.request.message.get("params", {}))
        try:
            return {"result": await who.call(example.method, **params)}
        except Refused as refused:
            return {"error": {"code": refused.code, "message": refused.message, "data": refused.data}}

    def ours(self, value: Any) -> Any:
        """A value of the document with the ids and places of this daemon."""
        if isinstance(value, dict):
            return {name: self.ours(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.ours(item) for item in value]
        if isinstance(value, str):
            if value.startswith("/home/ada/old/"):
                return str(self.folder / Path(value).name)
            if value in self.ids:
                return self.ids[value]
            whole = next(
                (text for text in self.ids if MADE.fullmatch(value) and text.startswith(value)), None
            )
            return value if whole is None else self.ids[whole][: len(value)]
        return value

    def differences(self, said: Any, real: Any, where: str = "$") -> Iterator[str]:
        """Where a reply is not what the document says."""
        name = where.rpartition(".")[2]
        if isinstance(said, dict) and isinstance(real, dict):
            for key in said.keys() ^ real.keys():
                if where != "$.result.capabilities":  # an editor is told more of LSP than the document prints
                    yield f"{where}.{key} is only in {'the document' if key in said else 'the reply'}"
            for key in said.keys() & real.keys():
                yield from self.differences(said[key], real[key], f"{where}.{key}")
        elif isinstance(said, list) and isinstance(real, list):
            if len(said) != len(real) and name not in SHORTENED:
                yield f"{where} has {len(said)} items in the document, {len(real)} in the reply"
            for index, (one, other) in enumerate(zip(said, real, strict=False)):
                if name not in SHORTENED:
                    yield from self.differences(one, other, f"{where}[{index}]")
        elif (
            isinstance(said, str) and isinstance(real, str) and MADE.fullmatch(said) and MADE.fullmatch(real)
        ):
            if self.ids.setdefault(said, real) != real:
                yield f"{where}: {said} was {self.ids[said]} before, now it is {real}"
        elif name in VARYING:
            if type(said) is not type(real):
                yield f"{where} is {said!r} in the document, {real!r} in the reply"
        elif timeless(said) != timeless(real):
            yield f"{where} is {said!r} in the document, {real!r} in the reply"


@pytest.fixture
async def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Story]:
    monkeypatch.setenv("HOME", str(tmp_path / "ada"))  # without any agent
    folder = tmp_path / "old"
    folder.mkdir()
    notes = logs.log(
        logs.user("Sort these notes.", parent=None, id="a1c9"), logs.assistant("Sorted.", id="b7d2")
    )
    (folder / "notes.jsonl").write_bytes(notes)
    (folder / "claude.jsonl").write_bytes(CLAUDE)
    os.utime(folder / "claude.jsonl", (1_700_000_000, 1_700_000_000))
    async with running(tmp_path / "home", "socket") as daemon:
        await daemon.inside.hub.disk_space.check()  # what is free is known from the first look on
        yield Story(await daemon.attach(), await daemon.attach("jsonLines"), folder)


async def test_the_daemon_answers_as_the_document_says(story: Story) -> None:
    wrong: list[str] = []
    answering = asyncio.create_task(answer_the_daemon(story, wrong))
    for example in answered():
        number = example.request.message["id"]
        if number in NOT_TO_BE_HAD or example in HANDSHAKES:
            continue
        if number == 2:
            for handshake in HANDSHAKES:
                wrong += await compared(story, handshake)
        if number == 47:
            await beside_the_requests(story)
        wrong += await compared(story, example)
    answering.cancel()
    for note in notifications():
        if note.message["method"] not in NOT_TO_BE_HAD:
            wrong += [f"{note.where}: {notification}" for notification in told(story, note)]
    assert not wrong, "\n".join(wrong)


async def compared(story: Story, example: Answered) -> list[str]:
    """How the reply to a request differs from the one in the document."""
    said = {name: item for name, item in example.reply.message.items() if name in ("result", "error")}
    reply = await story.ask(example)
    return [
        f"{example.request.where} {example.method}: {difference}"
        for difference in story.differences(said, reply)
    ]


async def answer_the_daemon(story: Story, wrong: list[str]) -> None:
    """Write the summaries that the document shows; the daemon also asks for one that it does not show."""
    writer = Summarizing(story.nvim)
    for nth in range(1, 1_000):
        params = await writer.asked(nth)
        shown = [
            answer
            for answer in asked_of_clients()
            if story.nvim.asked[nth - 1]["id"] == answer.request.message["id"]
        ]
        for answer in shown:
            said = story.differences(answer.request.message["params"], params)
            wrong += [f"{answer.request.where} {answer.method}: {one}" for one in said]
            writer.answer_with(answer.reply.message["result"], nth=nth)
        if not shown:
            writer.answer(nth=nth)


async def beside_the_requests(story: Story) -> None:
    """Events in the document without a request: another program writes, a draft is closed."""
    await story.script.call("session/create", cwd="/home/ada/atlas", id="atlas-scratch")
    await story.script.call("session/close", sessionId="atlas-scratch")
    session = (await story.nvim.call("session/info", sessionId="atlas-parser-1"))["session"]
    [note] = [
        notification.message["params"]
        for notification in notifications()
        if notification.heading == "session/appended"
    ]
    [entry] = entries_of(note)
    entry |= {"id": "9c4e77b0", "parentId": story.ids[entry["parentId"]]}
    with Path(session["path"]).open("ab") as file:
        file.write(json.dumps(entry).encode() + b"\n")
    await story.nvim.until(lambda client: 11 in client.seqs())
    await story.nvim.until(
        lambda notification: any(note["changed"] for note in notification.told("server/sessionsChanged"))
    )


def told(story: Story, note: Example) -> list[str]:
    """How the nearest of all notifications differs from one of the document; nothing when one is the same."""
    method, said = note.message["method"], note.message["params"]
    real = [*story.nvim.told(method), *story.script.told(method)]
    known = dict(story.ids)
    found: list[list[str]] = []
    for item in real:
        story.ids = dict(known)
        found.append(list(story.differences(said, item)))
        if not found[-1]:
            return []
    story.ids = known
    return min(found, key=len, default=[f"nobody was told of {method}"])
