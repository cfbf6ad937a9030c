"""Lets a real agent make a long session while a daemon follows it, and continues it in another agent and back."""

import json  # noqa: TID251 - an export, as another program reads it
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from support import native_messages
from support.agent_desk import WRITTEN, AgentDesk
from support.agent_kinds import ANSWER, QUESTION, SECOND_ANSWER, SECOND_QUESTION, long_session, two_turns
from support.columns import messages_of
from support.homes import wait_until
from support.real_agents import GO_ON, NativeSession, compacting

ELSEWHERE = ("And the crow?", "The crow sits on the roof.")
BACK = ("And the stork?", "The stork is in the south.")
AFTER = ("And the swan?", "The swan is on the lake.")
"""The questions and answers in the other agent, again in the first one, and after a compaction."""
SAID = (QUESTION, ANSWER, SECOND_QUESTION, SECOND_ANSWER, *ELSEWHERE, *BACK)
LONGEST_START = 600.0
"""Seconds within which an agent makes half of its calls or ends."""


@dataclass(kw_only=True)
class Trial:
    """The result of one trial."""

    done: str
    """The result in words, or `not tried:` and the reason."""
    found: list[str] = field(default_factory=list)
    """One sentence for each text that is cut, missing or doubled."""


@dataclass(kw_only=True)
class LongTrial(Trial):
    """The result of a long session."""

    session: NativeSession
    """The session before a compaction."""


def followed_long_session(desk: AgentDesk, name: str, calls: int) -> LongTrial:
    """Make a long session in two starts, while a daemon follows it."""
    desk.shell("agents", "follow", name, **desk.agents.environment(desk.project))
    half_way = threading.Event()
    found = []
    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(long_session, name, desk.agents, desk.model, desk.project, calls, half_way)
        try:
            # The start of an agent can take a minute beside others; then it ends or fails without help.
            wait_until(lambda: made.done() or len(desk.model.requests) > calls // 2, LONGEST_START)
            if not _becomes(
                lambda: made.done() or desk.command("list", "--all", "--agent", name)["sessions"]
            ):
                found.append("no session is listed while the agent is at work")
        finally:
            half_way.set()
        session = made.result()
    native_id = desk.agents.native_id(name)
    stored = native_messages.count(name, session)
    if not _becomes(lambda: _count(_entries(desk, native_id)) == stored):
        found.append(f"the agent stored {_told(stored)}, here are {_told(_count(_entries(desk, native_id)))}")
    context = _context(desk, native_id)
    results = sum(message["role"] == "toolResult" for message in context)
    if results != calls:
        found.append(f"{results:,} of {calls:,} results of tools are in the context")
    if not context or SECOND_ANSWER not in str(context[-1]):
        found.append(f"the leaf is not the last answer, but {context[-1:]!r:.200}")
    done = f"{calls:,} calls in {len(session.data):,} bytes; the agent stored {_told(stored)}"
    done += f", here are {_told(_count(_entries(desk, native_id)))}"
    return LongTrial(done=done, found=found, session=session)


def compacted(desk: AgentDesk, name: str) -> Trial:
    """Let the agent replace the history of its newest session by a summary, and answer again."""
    native_id = desk.agents.native_id(name)
    before = {entry["id"] for entry in _entries(desk, native_id)}
    question, answer = AFTER
    desk.model.when(question).says(answer)
    compacting(name, desk.model, desk.project / "notes-0.txt")
    desk.agents.compact(name, desk.project, native_id)
    desk.agents.resume(name, desk.project, native_id, question)
    found = []
    if not _becomes(lambda: answer in str(_context(desk, native_id)[-1:])):
        found.append("the answer after it is not the last message of the context")
    after = _entries(desk, native_id)
    if lost := before - {entry["id"] for entry in after}:
        found.append(f"{len(lost):,} entries before it are no longer in the session")
    if not any(entry["type"] == "compaction" for entry in after):
        found.append("it is not read as a compaction")
    context, sent = _context(desk, native_id), desk.model.request_with(question)
    here = Counter(message["role"] for message in context)["toolResult"]
    if here != len(sent.texts("result")):
        found.append(
            f"{here:,} results of tools are in the context, the agent sends {len(sent.texts('result')):,}"
        )
    spoken = str([message for message in context if message["role"] in ("user", "assistant")])
    asked = "\n".join([*sent.texts("user"), *sent.texts("assistant")])
    texts = (QUESTION, ANSWER, SECOND_QUESTION, SECOND_ANSWER, GO_ON, question)
    doubled = [text for text in texts if spoken.count(text) > asked.count(text)]
    found += [
        f"{spoken.count(text)} times in the context, {asked.count(text)} times sent: {text}"
        for text in doubled
    ]
    return Trial(done=f"read, and the context has {len(context):,} messages", found=found)


def there_and_back(desk: AgentDesk, name: str, other: str) -> Trial:
    """Continue a session of two turns in another agent, and from there in a new session of the first."""
    if name not in WRITTEN:
        return Trial(done="not tried: sessiond writes no sessions of it")
    desk.shell("agents", "follow", name, other, **desk.agents.environment(desk.project))
    two_turns(name, desk.agents, desk.model, desk.project)
    at = desk.agents.native_id(name)
    last = SECOND_ANSWER
    for agent, (question, answer) in ((other, ELSEWHERE), (name, BACK)):
        if not _becomes(lambda at=at, last=last: last in str(_context(desk, at)[-1:])):  # type: ignore[misc]
            return Trial(done=f"not resumed in {agent}", found=[f"the context does not end with {last!r}"])
        desk.model.when(question).says(answer)
        asked = desk.goes_on(_session(desk, at), agent, question)
        sent = "\n".join(part.text for part in asked.parts)
        missing = [text for text in SAID[: SAID.index(question)] if text not in sent]
        if missing:
            found = [f"{agent} does not send {text!r} to the model" for text in missing]
            return Trial(done=f"cut in {agent}", found=found)
        at, last = desk.native_id, answer
    found = []
    if not _becomes(lambda: last in str(_context(desk, at)[-1:])):
        found.append(f"the context does not end with {last!r}")
    context = str([message for message in _context(desk, at) if message["role"] in ("user", "assistant")])
    times = {text: context.count(text) for text in SAID}
    found += [f"{time} times in the context at the end: {text}" for text, time in times.items() if time != 1]
    return Trial(done=f"through {other} and back", found=found)


def _becomes(holds: Callable[[], Any]) -> bool:
    try:
        wait_until(lambda: bool(holds()))
    except AssertionError:
        return False
    return True


def _session(desk: AgentDesk, native_id: str) -> str:
    """The id of a session in sessiond, by its id in the agent."""
    return str(desk.command("show", native_id)["session"]["sessionId"])


def _entries(desk: AgentDesk, native_id: str) -> list[dict[str, Any]]:
    """The entries of a session of an agent; empty before the daemon has imported it."""
    done = desk.shell.run("export", native_id, "--format", "jsonl", "--no-redact")
    return [json.loads(line) for line in done.lines[1:]] if done.code == 0 else []


def _context(desk: AgentDesk, native_id: str) -> list[dict[str, Any]]:
    """The messages that a model would receive; empty before the daemon has imported the session."""
    done = desk.ran("context", native_id)
    return messages_of(done.json) if done.code == 0 else []


def _count(entries: list[dict[str, Any]]) -> Counter[str]:
    roles = [entry["message"]["role"] for entry in entries if entry["type"] == "message"]
    return Counter(role for role in roles if role in ("assistant", "toolResult"))


def _told(messages: Counter[str]) -> str:
    return f"{messages['assistant']:,} answers and {messages['toolResult']:,} results"
