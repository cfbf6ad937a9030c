"""Session files with any value in any field: each session is listed, searched, opened and read, or has a problem."""

import asyncio
import copy
import json  # noqa: TID251 - lines are written as other programs write them, with lone surrogates
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sessiond.hub import session_info
from sessiond.hub.index import text_indexer
from sessiond.protocol import enums
from sessiond.session.content import search_text
from support import logs
from support.daemons import Peer, Refused, Running, assistant, running, user
from support.shared import started

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
    """Return the outcome of a request: the kind of its error, or `done`."""
    try:
        await peer.call(method, **params)
    except Refused as failure:
        return failure.kind
    return "done"


ABOUT_ALL: tuple[tuple[str, dict[str, Any]], ...] = (
    ("session/list", {"includeDrafts": True}),
    ("session/list", {"sort": "title", "query": "a", "limit": 2}),
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
    *(("session/context", {"format": name}) for name in ("openai", "openai-responses", "anthropic", "google")),
    ("session/stats", {}),
    ("state/get", {}),
    ("session/prepareCompaction", {}),
    *(("session/export", {"format": arg}) for arg in get_args(enums.ExportFormat)),
)  # fmt: skip


_WHERE = {"line": 3, "character": 40}
OF_EDITORS: tuple[tuple[str, dict[str, Any]], ...] = (
    *((f"textDocument/{name}", {}) for name in ("documentSymbol", "foldingRange", "diagnostic")),
    *((f"textDocument/{name}", {}) for name in ("codeLens", "documentLink")),
    ("textDocument/inlayHint", {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 40, "character": 0}}}),
    *(
        (f"textDocument/{name}", {"position": _WHERE})
        for name in ("hover", "definition", "completion", "selectionRange")
    ),
    ("textDocument/references", {"position": _WHERE, "context": {"includeDeclaration": True}}),
    ("textDocument/codeAction", {"range": {"start": _WHERE, "end": _WHERE}, "context": {"diagnostics": []}}),
)  # fmt: skip


async def an_editor(daemon: Running) -> Peer:
    """A client that calls the methods of sessiond and those of LSP."""
    peer = await daemon.attach()
    await peer.call("initialize", processId=None, rootUri=None, capabilities={})
    return peer


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
    for method, params in OF_EDITORS:
        uri = {"textDocument": {"uri": path.as_uri()}}
        positions = {"positions": [params["position"]]} if method.endswith("selectionRange") else {}
        if await kind_of(peer, method, **uri, **params, **positions) == "internal":
            failed.append(method)
    await peer.call("session/close", sessionId=session_id)
    return failed


_PLACES = [field for field in fields_of(whole_session("hostile-00001")) if len(field) > 1]
_TEXTS = st.sampled_from(
    [HALF, f"cut {HALF}", f"{HALF}{HALF}", "\udc00", "\0", "", "\u2028", "é" * 3000, "\x1b[2J"]
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.sampled_from([0, -1, 1e308, 10**30, 2**53, 0.1]) | _TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXTS, inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.slow
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
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
            peer = await an_editor(daemon)
            failed = await asked_about_all(peer)
            for path in paths:
                failed += await asked_about(peer, path)
            assert failed == []

    asyncio.run(main())


@pytest.mark.slow
async def test_half_an_emoji_in_any_field_makes_no_answer_internal(tmp_path: Path) -> None:
    places = [place for place in _PLACES if isinstance(value_at(whole_session("x"), place), str)]
    paths = [
        write(
            tmp_path,
            f"hostile-{number:05}",
            changed(whole_session(f"hostile-{number:05}"), place, f"cut {HALF}"),
        )
        for number, place in enumerate(places)
    ]
    async with running(tmp_path) as daemon:
        peer = await an_editor(daemon)
        failed = {"all": await asked_about_all(peer)}
        for place, path in zip(places, paths, strict=True):
            failed[str(place)] = await asked_about(peer, path)
        failed["all, open"] = await asked_about_all(peer)
        assert {place: methods for place, methods in failed.items() if methods} == {}


def value_at(lines: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        lines = lines[key]
    return lines


async def test_half_an_emoji_shows_the_rest_of_a_title_name_label_and_tag(tmp_path: Path) -> None:
    head = logs.header(id="hostile-slot1", cwd=CWD)
    said = [logs.user(f"prompt {HALF}"), logs.assistant("yo", provider="p", model=f"m{HALF}")]
    [first, *rest] = [json.loads(line) for line in logs.log(head, *said).splitlines()]
    write(tmp_path, "hostile-slot1", [slot(f"cut {HALF}"), first, *rest])
    named = [
        logs.entry("session_info", name=f"name {HALF}"),
        logs.label("e1", f"label {HALF}"),
        logs.entry("custom", customType="sessiond.tags", data={"tags": [f"tag {HALF}"]}),
    ]
    data = logs.log(logs.header(id="hostile-name1", cwd=f"{CWD}/{HALF}"), *said, *named)
    write(tmp_path, "hostile-name1", [json.loads(line) for line in data.splitlines()])
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        page = await peer.call("session/list")
        found = {session["sessionId"]: session for session in page["sessions"]}
        assert found["hostile-slot1"]["title"] == "cut \ufffd"
        assert found["hostile-slot1"]["firstPrompt"] == "prompt \ufffd"
        assert found["hostile-slot1"]["model"] == "p/m\ufffd"
        assert found["hostile-name1"]["title"] == "name \ufffd"
        assert found["hostile-name1"]["tags"] == ["tag \ufffd"]
        assert found["hostile-name1"]["cwd"] == f"{CWD}/\ufffd"
        assert page["problems"] == []
        hits = (await peer.call("session/search", query="name"))["hits"]
        assert [hit["snippet"] for hit in hits] == ["name \ufffd"]
        await peer.call("session/open", sessionId="hostile-name1")
        nodes = (await peer.call("session/tree", sessionId="hostile-name1"))["nodes"]
        assert nodes[0]["label"] == "label \ufffd"


async def test_half_an_emoji_that_another_program_appends_reaches_subscribers(
    memory: Running, cwd: str
) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, user("1", id="a"), assistant("2", id="b"))
    path = Path((await peer.call("session/info", sessionId=session_id))["session"]["path"])
    with path.open("ab") as file:
        for number, line in enumerate(
            (logs.entry("session_info", name=f"name {HALF}"), logs.user(f"hello {HALF}")), 1
        ):
            entry = line | {"id": f"f{number}", "parentId": "b", "timestamp": logs.time_of(number)}
            file.write(json.dumps(entry).encode() + b"\n")
    await peer.until(lambda client: bool(client.told("session/changed")) and client.seqs()[-1] == 4)
    assert peer.told("session/changed")[-1]["session"]["title"] == "name \ufffd"


# --- a file that fails ---------------------------------------------------------------------------------------


async def test_a_file_that_cannot_be_put_into_the_index_is_named_and_spoils_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        write(tmp_path, f"hostile-{number:05}", whole_session(f"hostile-{number:05}"))
    bad = next((tmp_path / "data/sessions").rglob("*hostile-00001.jsonl"))
    listed, fails = session_info.listed, True

    def failing(*found: Any, ref: str, **more: Any) -> Any:
        if fails and ref == str(bad):
            raise RuntimeError("a defect")
        return listed(*found, ref=ref, **more)

    monkeypatch.setattr(session_info, "listed", failing)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        page = await peer.call("session/list")
        assert sorted(session["sessionId"] for session in page["sessions"]) == [
            "hostile-00000",
            "hostile-00002",
        ]
        [problem] = page["problems"]
        assert problem["path"] == str(bad)
        assert (await peer.call("session/search", query="question"))["hits"] != []
    async with running(tmp_path) as daemon:  # another daemon finds it again, and says so again
        peer = await daemon.attach()
        assert [found_problem["path"] for found_problem in (await peer.call("session/list"))["problems"]] == [
            str(bad)
        ]
    fails = False
    async with running(tmp_path) as daemon:
        page = await (await daemon.attach()).call("session/list")
        assert (len(page["sessions"]), page["problems"]) == (3, [])


async def test_an_entry_whose_text_cannot_be_searched_keeps_no_other_from_being_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "hostile-00001", whole_session("hostile-00001"))
    text_of = search_text.text_of_entry

    def failing(entry: bytes) -> Any:
        if b"a question" in entry:
            raise RuntimeError("a defect")
        return text_of(entry)

    monkeypatch.setattr(text_indexer, "text_of_entry", failing)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        assert (await peer.call("session/search", query="question"))["hits"] == []
        assert len((await peer.call("session/search", query="last prompt"))["hits"]) == 1
        assert len((await peer.call("session/list"))["problems"]) == 1
