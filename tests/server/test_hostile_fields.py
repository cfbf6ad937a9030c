"""Session files with any value in any field: each session is listed, searched, opened and read, or has a problem."""

import asyncio
import copy
import json  # noqa: TID251 - lines are written as other programs write them, with lone surrogates
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from support import logs
from support.daemons import Peer, Refused, running, user

HALF = "\ud83d"
"""Half an emoji, as a program leaves it that cuts a text by UTF-16 units."""
CWD = "/work/hostile"


def slot(title: Any) -> dict[str, Any]:
    return {"type": "title", "v": 1, "title": title, "updatedAt": "2026-03-01T00:00:00.000Z"}


def every_entry() -> list[dict[str, Any]]:
    """A session with an entry of every type and the fields that answers show."""
    usage = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "cost": {"total": 0.5}}
    return [
        logs.user("a question"),
        logs.assistant(
            [{"type": "text", "text": "an answer"}, logs.tool_call("read", {"path": "a.py"})],
            provider="anthropic", model="claude", stopReason="toolUse", usage=usage, timestamp=1_772_000_000_000,
        ),
        logs.tool_result("content"),
        logs.entry("model_change", provider="openai", modelId="gpt", model="openai/gpt", role="default"),
        logs.entry("thinking_level_change", thinkingLevel="high"),
        logs.entry("session_info", name="a name"),
        logs.entry("title_change", title="a title", source="user"),
        logs.label("e1", "a label"),
        logs.entry("custom", customType="sessiond.tags", data={"tags": ["a tag"]}),
        logs.entry("custom", customType="sessiond.state", data={"plan": "a plan", "decisions": []}),
        logs.entry("custom", customType="own", data={"x": 1}),
        logs.entry("custom_message", customType="own", content="shown", display=True),
        logs.entry("mode_change", mode="plan", data={"y": 1}),
        logs.entry("branch_summary", fromId="e2", summary="left behind", details={"readFiles": ["a"]}),
        logs.compaction("in short", "e1", details={"modifiedFiles": ["b"]}),
        logs.entry("ttsr_injection", injectedRules=["rule"]),
        logs.entry("session_init", systemPrompt="be kind", task="do", tools=["read"]),
        logs.entry("context_edit", targetId="e1", replacement={"content": "edited"}),
        logs.entry("service_tier_change", serviceTier="fast"),
        logs.entry("usage", usage=usage, kind="title", model="m", provider="p"),
        logs.entry("model_usage", usage=usage, purpose="title", model="m"),
        logs.entry("credential_pin", provider="p", hash="h"),
        logs.entry("reset_boundary"),
        logs.entry("unknown_type", anything={"deep": ["x"]}),
        logs.user("the last prompt"),
        logs.entry("leaf", targetId="e25"),
    ]  # fmt: skip


def whole_session(session_id: str) -> list[dict[str, Any]]:
    """The lines of a session, each complete: title slot, header, entries."""
    head = logs.header(
        id=session_id, cwd=CWD, title="a header title", tags=["one"], parentSession="/a/parent.jsonl"
    )
    data = logs.log(head, *every_entry())
    return [slot("a slot title"), *(json.loads(line) for line in data.splitlines())]


def fields_of(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The places in a JSON value, each as the keys and indexes that lead to it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from fields_of(inner, (*path, key))


def changed(lines: list[Any], path: tuple[str | int, ...], value: Any) -> list[Any]:
    result = copy.deepcopy(lines)
    place: Any = result
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return result


def write(home: Path, session_id: str, lines: list[Any]) -> Path:
    path = home / "data/sessions/--work-hostile--" / f"2026-03-01T00-00-00-000Z_{session_id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    return path


async def kind_of(peer: Peer, method: str, **params: Any) -> str:
    """What became of a request: the kind of its error, or `done`."""
    try:
        await peer.call(method, **params)
    except Refused as failure:
        return failure.kind
    return "done"


ABOUT_ALL: tuple[tuple[str, dict[str, Any]], ...] = (
    ("session/list", {"all": True, "drafts": True}),
    ("session/list", {"all": True, "sort": "title", "query": "a", "limit": 2}),
    ("session/list", {"cwd": CWD, "tags": ["one"]}),
    ("session/search", {"query": "question"}),
    ("session/search", {"query": "title"}),
    ("server/doctor", {}),
    ("server/status", {}),
)  # fmt: skip
ABOUT_ONE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("session/info", {}),
    ("session/entries", {}),
    ("session/path", {}),
    ("session/tree", {}),
    ("session/tree", {"filter": "all", "query": "a"}),
    ("session/context", {}),
    ("session/context", {"explain": True}),
    *(("session/context", {"format": it}) for it in ("openai", "anthropic", "google")),
    ("session/stats", {}),
    ("session/state", {}),
    ("session/prepareCompaction", {}),
    *(("session/export", {"format": it}) for it in ("jsonl", "markdown", "html", "operator", "go", "nova")),
)  # fmt: skip


async def asked_about_all(peer: Peer) -> list[str]:
    return [method for method, params in ABOUT_ALL if await kind_of(peer, method, **params) == "internal"]


async def asked_about(peer: Peer, path: Path) -> list[str]:
    try:
        opened = await peer.call("session/open", path=str(path))
    except Refused as failure:
        return ["session/open"] if failure.kind == "internal" else []
    session_id = opened["session"]["sessionId"]
    failed = []
    for method, params in (*ABOUT_ONE, ("session/append", {"entries": [user("on")]})):
        if await kind_of(peer, method, sessionId=session_id, **params) == "internal":
            failed.append(f"{method} {params}")
    await peer.call("session/close", sessionId=session_id)
    return failed


_PLACES = [it for it in fields_of(whole_session("hostile-00001")) if len(it) > 1]
_TEXTS = st.sampled_from(
    [HALF, f"cut {HALF}", f"{HALF}{HALF}", "\udc00", "\0", "", "\u2028", "é" * 3000, "\x1b[2J"]
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.sampled_from([0, -1, 1e308, 10**30, 2**53, 0.1]) | _TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXTS, inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_value_of_any_field_makes_an_answer_internal(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    changes = data.draw(st.lists(st.tuples(st.sampled_from(_PLACES), _VALUES), min_size=1, max_size=12))

    async def main() -> None:
        home = tmp_path_factory.mktemp("home")
        paths = []
        for number, (place, value) in enumerate(changes):
            session_id = f"hostile-{number:05}"
            paths.append(write(home, session_id, changed(whole_session(session_id), place, value)))
        async with running(home) as daemon:
            peer = await daemon.attach()
            failed = await asked_about_all(peer)
            for path in paths:
                failed += await asked_about(peer, path)
            assert failed == []

    asyncio.run(main())


@pytest.mark.slow
async def test_half_an_emoji_in_any_field_makes_no_answer_internal(tmp_path: Path) -> None:
    texts = [it for it in _PLACES if isinstance(value_at(whole_session("x"), it), str)]
    paths = [
        write(
            tmp_path,
            f"hostile-{number:05}",
            changed(whole_session(f"hostile-{number:05}"), place, f"cut {HALF}"),
        )
        for number, place in enumerate(texts)
    ]
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        failed = {"all": await asked_about_all(peer)}
        for place, path in zip(texts, paths, strict=True):
            failed[str(place)] = await asked_about(peer, path)
        failed["all, open"] = await asked_about_all(peer)
        assert {place: methods for place, methods in failed.items() if methods} == {}


def value_at(lines: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        lines = lines[key]
    return lines
