"""Clients that write summaries, sessions that are long enough to need one, and commands that are real programs."""

import itertools
import json  # noqa: TID251 - a program of the tests speaks plain JSON
import stat
import sys
from pathlib import Path
from typing import Any

from sessiond.config import CompactionConfig, Config, SummarizerConfig
from sessiond.rpc.message import encode_error, encode_result
from support.columns import entries_of
from support.daemons import Peer, Running, assistant, user

SMALL: dict[str, Any] = {"contextWindow": 4_000, "reserveTokens": 1_000, "keepRecentTokens": 500}
"""Settings by which twenty messages of `talk` fill a session."""

_names = itertools.count(1)


class Summarizing:
    """A client that declared `summarize`. It answers when the test says so, or immediately with `says`."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer

    async def asked(self, count: int = 1) -> dict[str, Any]:
        """The params of the `count`-th request for a summary. Waits for the request."""
        await self.peer.until(lambda client: len(client.asked) >= count)
        params: dict[str, Any] = self.peer.asked[count - 1]["params"]
        return params

    def answer(self, summary: str = "What was said.", *, nth: int = 1, **more: Any) -> None:
        """Answer a request with a summary."""
        self.answer_with({"summary": summary, **more}, nth=nth)

    def answer_with(self, result: Any, *, nth: int = 1) -> None:
        """Answer a request with any value."""
        self.peer.connection.reply_body(
            self.peer.asked[nth - 1]["id"], encode_result(self.peer.asked[nth - 1]["id"], result)
        )

    def refuse(self, *, nth: int = 1, code: int = -32603) -> None:
        """Answer a request with an error."""
        request_id = self.peer.asked[nth - 1]["id"]
        self.peer.connection.reply_body(request_id, encode_error(request_id, code, "the model is asleep"))

    def progress(self, nth: int = 1, **value: Any) -> None:
        """Report progress on a request."""
        token = self.peer.asked[nth - 1]["params"]["workDoneToken"]
        self.peer.connection.notify("$/progress", {"token": token, "value": value})

    async def canceled(self, nth: int = 1) -> None:
        """Wait until the daemon does not need the answer to a request any more."""
        request_id = self.peer.asked[nth - 1]["id"]
        await self.peer.until(lambda client: {"id": request_id} in client.told("$/cancelRequest"))


async def summarizing(daemon: Running, name: str | None = None) -> Summarizing:
    """A further client, which writes summaries."""
    peer = await daemon.attach()
    options = {"clientId": name or f"writer-{next(_names)}", "capabilities": {"summarize": {}}}
    await peer.call("initialize", initializationOptions={"sessiond": options})
    return Summarizing(peer)


def answer_of(text: str, used: int, **more: Any) -> dict[str, Any]:
    """A draft of an assistant message with a token count of its provider."""
    draft = assistant(text, **more)
    draft["message"]["usage"] = {
        "input": used,
        "output": 0,
        "cacheRead": 0,
        "cacheWrite": 0,
        "totalTokens": used,
    }
    return draft


def tool_call(call: str, **more: Any) -> dict[str, Any]:
    """A draft of an assistant message that calls a tool."""
    draft = assistant("", **more)
    block = {"type": "toolCall", "id": call, "name": "read", "arguments": {"path": "notes.md"}}
    draft["message"] |= {"content": [block], "stopReason": "toolUse"}
    return draft


def tool_result(call: str, **more: Any) -> dict[str, Any]:
    """A draft of the answer of a tool."""
    message = {
        "role": "toolResult", "toolCallId": call, "toolName": "read", "isError": False,
        "content": [{"type": "text", "text": "lines"}],
    }  # fmt: skip
    return {"type": "message", "message": message, **more}


async def talk(daemon: Running, cwd: str, *, turns: int = 10, **params: Any) -> tuple[Peer, str]:
    """A client with a session of `turns` turns, q0 a0 q1 a1 …, of about 100 tokens a message."""
    peer = await daemon.attach()
    made = await peer.call("session/create", cwd=cwd, **params)
    session_id = made["session"]["sessionId"]
    drafts = [
        draft
        for turn in range(turns)
        for draft in (user("?" * 400, id=f"q{turn}"), assistant("!" * 400, id=f"a{turn}"))
    ]
    await peer.append(session_id, *drafts)
    return peer, session_id


async def compactions(peer: Peer, session_id: str) -> list[dict[str, Any]]:
    """The compactions in a session, in the order of the log."""
    found = await peer.call("session/entries", sessionId=session_id, limit=10_000)
    return [entry for entry in entries_of(found) if entry["type"] == "compaction"]


def program(folder: Path, body: str) -> list[str]:
    """A command: a Python program whose variable `prompt` has its standard input."""
    path = folder / f"summarize-{next(_names)}"
    lines = (f"#!{sys.executable}", "import json, os, sys, time", "prompt = sys.stdin.read()", body, "")
    path.write_text("\n".join(lines), encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return [str(path)]


def commanded(command: list[str], timeout: float | None = 10.0, **compaction: Any) -> Config:
    """A configuration with a summarizing command."""
    return Config(
        compaction=CompactionConfig(**compaction), summarizer=SummarizerConfig(tuple(command), timeout)
    )


def as_toml(config: Config) -> str:
    """The same configuration as a file."""
    words = json.dumps(list(config.summarizer.command or ()))
    return f'[summarizer]\ncommand = {words}\ntimeout = "{config.summarizer.timeout:.0f}s"\n'
