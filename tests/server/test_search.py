"""Full-text search as a client meets it: what is found, where, in which order, and what is left out."""

import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sessiond.config import Config, RootsConfig
from sessiond.session.content import search_words
from support import logs
from support.daemons import Peer, Running, assistant, refusal, running, user
from support.shared import started
from support.text_ranges import part_of


async def found(peer: Peer, query: str, **params: Any) -> list[dict[str, Any]]:
    hits: list[dict[str, Any]] = (await peer.call("session/search", query=query, **params))["hits"]
    return hits


async def names(peer: Peer, query: str, **params: Any) -> list[str]:
    return [hit["entryId"] for hit in await found(peer, query, **params)]


def marked(hit: dict[str, Any]) -> list[str]:
    return [part_of(hit["snippet"], item) for item in hit["ranges"]]


async def test_an_entry_is_found_as_soon_as_it_is_stored(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    for number in range(3):
        await peer.append(session_id, user(f"needle{number} of {cwd}", id=f"n{number}"))
        [hit] = await found(peer, f"needle{number}", cwd=cwd)
        assert (hit["sessionId"], hit["entryId"], hit["seq"], hit["role"]) == (
            session_id, f"n{number}", number + 1, "user",
        )  # fmt: skip
        assert hit["onPath"]
        assert marked(hit) == [f"needle{number}"]


async def test_words_around_a_nul_or_another_control_character_are_found(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    text = f"{'heron'}\0ouzel\x01dipper\x07\0\0wren and what follows"
    await peer.append(session_id, user(text, id="u"), assistant(f"siskin\0{'x' * 300}\0serin", id="a"))
    expected = dict.fromkeys(("heron", "ouzel", "dipper", "wren", "follows"), "u")
    for word, entry in {**expected, "siskin": "a", "serin": "a"}.items():
        assert await names(peer, word, cwd=cwd) == [entry]
    assert marked((await found(peer, '"heron ouzel"', cwd=cwd))[0]) == ["heron ouzel"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("brown fox", ["a"]),
        ("fox brown", ["a"]),
        ('"brown fox"', ["a"]),
        ('"fox brown"', []),
        ("FOX", ["a"]),
        ("qui*", ["a"]),
        ("qui", []),
        ("cafe", ["b"]),
        ("Café", ["b"]),
        ("搜索", ["b"]),
        ("索引", ["b"]),
        ("引搜", []),
        ("ключ", ["b"]),
        ("foo_bar.baz", ["b"]),
        ("bash", ["c"]),
        ("grep", ["c"]),
        ("matches", ["d"]),
        ("fox OR cafe", []),
        ("NOT fox", []),
    ],
)
async def test_a_query_finds_the_entries_that_contain_all_of_its_terms(
    memory: Running, query: str, expected: list[str]
) -> None:
    peer, session_id = await started(memory, "/w")
    call = {"type": "toolCall", "id": "1", "name": "bash", "arguments": {"command": "grep -rn x"}}
    answer = {"role": "toolResult", "toolCallId": "1", "toolName": "shell",
              "content": [{"type": "text", "text": "12 matches"}]}  # fmt: skip
    await peer.append(
        session_id,
        user("The quick brown fox", id="a"),
        assistant("A café, ключ, 全文搜索引擎 and foo_bar.baz", id="b"),
        {"type": "message", "id": "c", "message": {"role": "assistant", "content": [call]}},
        {"type": "message", "id": "d", "message": answer},
    )
    assert await names(peer, query) == expected


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(min_size=1, max_size=30) | st.text('"*()^:-+{}NEAR ANDORNOT', min_size=1, max_size=30))
async def test_no_query_is_a_syntax_error(memory: Running, query: str) -> None:
    peer = await memory.attach()
    query = query.encode("utf-8", "replace").decode()
    if search_words.phrases(query):
        await peer.call("session/search", query=query)
    else:
        assert (await refusal(peer.call("session/search", query=query))).kind == "invalidParams"
        assert not any(character.isalnum() for character in query)


async def test_entries_that_were_compacted_or_are_on_other_branches_are_found_with_their_place(
    memory: Running,
) -> None:
    peer, session_id = await started(memory, "/w")
    await peer.append(session_id, user("root", id="r"), assistant("pearl on a side branch", id="s"))
    await peer.call("session/branch", sessionId=session_id, entryId="r")
    await peer.append(session_id, assistant("pearl on the path", id="p"))
    await peer.append(
        session_id, {"type": "compaction", "id": "c", "summary": "all about a pearl", "firstKeptEntryId": "p"}
    )
    assert {hit["entryId"]: hit["onPath"] for hit in await found(peer, "pearl")} == {
        "s": False, "p": True, "c": True,
    }  # fmt: skip


async def test_titles_and_labels_are_found_and_a_label_names_its_entry(memory: Running) -> None:
    peer, session_id = await started(memory, "/w", title="Sapphire from the start")
    await peer.append(session_id, user("x", id="e"), assistant("y"))
    await peer.call("session/label", sessionId=session_id, entryId="e", label="a sapphire here")
    await peer.call("session/rename", sessionId=session_id, title="Sapphire again")
    hits = await found(peer, "sapphire")
    assert sorted((hit["type"], hit["entryId"] is None, hit.get("labeledEntryId")) for hit in hits) == [
        ("label", False, "e"), ("session_info", False, None), ("session_info", False, None),
    ]  # fmt: skip


async def test_filters_apply_before_the_limit(memory: Running) -> None:
    peer, one = await started(memory, "/one", tags=["bug"])
    other = (await peer.call("session/create", cwd="/two"))["session"]["sessionId"]
    await peer.append(one, user("ruby", id="one-user", timestamp="2026-01-01T00:00:00Z"))
    await peer.append(one, assistant("ruby", id="one-answer", timestamp="2026-02-01T00:00:00Z"))
    await peer.call("session/label", sessionId=one, entryId="one-user", label="keep")
    await peer.append(other, *(user(f"ruby {number}") for number in range(30)), assistant("ok"))
    for params, expected in (
        ({"cwd": "/one"}, {"one-user", "one-answer"}),
        ({"tags": ["bug"]}, {"one-user", "one-answer"}),
        ({"sessionId": one}, {"one-user", "one-answer"}),
        ({"labels": ["keep"]}, {"one-user"}),
        ({"roles": ["assistant"]}, {"one-answer"}),
        ({"until": "2026-01-15"}, {"one-user"}),
        ({"since": "2026-01-15", "until": "2026-03-01T00:00:00+02:00"}, {"one-answer"}),
        ({"cwd": "/one", "tags": ["other"]}, set()),
        ({"tags": ["bug", "other"]}, set()),  # all of the tags
        ({"labels": ["keep", "other"]}, {"one-user"}),  # any of the labels
        ({"cwd": "/one", "roles": ["assistant", "user"]}, {"one-user", "one-answer"}),  # any of the roles
    ):
        assert set(await names(peer, "ruby", limit=2, **params)) == expected, params
    assert (await refusal(peer.call("session/search", query="x", since="tomorrow"))).kind == "invalidParams"


async def test_filters_select_the_same_entries_of_closed_and_open_sessions(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        peer, one = await started(daemon, "/one", tags=["bug"])
        await peer.append(one, user("ruby", id="a"), assistant("ruby", id="b"))
        await peer.call("session/label", sessionId=one, entryId="a", label="keep")
        await peer.call("session/branch", sessionId=one, entryId="a")
        opened = [
            await found(peer, "ruby", **item)
            for item in ({}, {"labels": ["keep"]}, {"tags": ["bug"], "cwd": "/one"})
        ]
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        closed = [
            await found(peer, "ruby", **item)
            for item in ({}, {"labels": ["keep"]}, {"tags": ["bug"], "cwd": "/one"})
        ]
    assert closed == opened
    assert [[hit["onPath"] for hit in hits] for hits in closed] == [[True, False], [True], [True, False]]


async def test_pages_contain_every_hit_once(memory: Running) -> None:
    peer, session_id = await started(memory, "/w")
    entries = [user(f"opal {'opal ' * (number % 7)}{number}", id=f"o{number}") for number in range(1_500)]
    await peer.append(session_id, *entries, assistant("ok"))
    seen: list[str] = []
    cursor = None
    while True:
        page = await peer.call("session/search", query="opal", limit=400, cursor=cursor, waitMs=60_000)
        seen += [hit["entryId"] for hit in page["hits"]]
        if (cursor := page["nextCursor"]) is None:
            break
    assert sorted(seen) == sorted(entry["id"] for entry in entries)
    assert (await refusal(peer.call("session/search", query="other", cursor="W10="))).kind == "cursorExpired"


async def test_new_messages_rank_before_old_tool_results(memory: Running) -> None:
    peer, session_id = await started(memory, "/w")
    old = {
        "role": "toolResult",
        "toolCallId": "1",
        "toolName": "x",
        "content": [{"type": "text", "text": "jade"}],
    }
    await peer.append(
        session_id,
        {"type": "message", "id": "old", "timestamp": "2020-01-01T00:00:00.000Z", "message": old},
        user("jade", id="new"),
        assistant("ok"),
    )
    assert await names(peer, "jade") == ["new", "old"]


async def test_snippets_contain_no_terminal_control_characters(memory: Running) -> None:
    peer, session_id = await started(memory, "/w")
    await peer.append(
        session_id, user("amber \x1b]0;gone\x07\x1b[2J \u202e evil \x00 text\nsecond"), assistant("ok")
    )
    [hit] = await found(peer, "amber")
    assert hit["snippet"] == "amber evil text second"


async def test_reasoning_and_ephemeral_sessions_are_not_searched(memory: Running) -> None:
    peer, session_id = await started(memory, "/w")
    thought = {"type": "thinking", "thinking": "onyx"}
    await peer.append(session_id, {"type": "message", "message": {"role": "assistant", "content": [thought]}})
    secret = (await peer.call("session/create", cwd="/w", ephemeral=True))["session"]["sessionId"]
    await peer.append(secret, user("onyx"), assistant("onyx"))
    assert await found(peer, "onyx") == []


async def test_sessions_in_further_folders_are_listed_searched_and_opened_in_place(tmp_path: Path) -> None:
    theirs = tmp_path / "pi" / "sessions" / "--home-dev-clock--"
    theirs.mkdir(parents=True)
    path = theirs / f"2026-01-01T00-00-00-000Z_{logs.SESSION_ID}.jsonl"
    path.write_bytes(logs.log(logs.header(), logs.user("topaz"), logs.assistant("ok")))
    before = path.read_bytes(), path.stat().st_mtime_ns, sorted(tmp_path.glob("pi/**/*"))
    config = Config(
        roots=RootsConfig(folders=(str(tmp_path / "pi" / "sessions"), str(tmp_path / "not-there")))
    )
    async with running(tmp_path / "home", config=config) as daemon:
        peer = await daemon.attach()
        [listed] = (await peer.call("session/list"))["sessions"]
        assert listed["path"] == str(path)
        assert [hit["path"] for hit in await found(peer, "topaz")] == [str(path)]
        opened = await peer.call("session/open", sessionId=logs.SESSION_ID)
        assert opened["session"]["path"] == str(path)
        await peer.call("session/close", sessionId=logs.SESSION_ID)
        assert before == (path.read_bytes(), path.stat().st_mtime_ns, sorted(tmp_path.glob("pi/**/*")))
        await peer.append(logs.SESSION_ID, user("more topaz"))
    assert path.read_bytes().startswith(before[0])
    assert path.read_bytes().count(b"topaz") == 2


WORDS = ["red", "Red", "réd", "redder", "blue", "搜索", "索", "x1", "_", "—", "blue_red", "КЛЮЧ", "ключ"]


def tokens(text: str) -> list[str]:
    """The words of a text, by the book: letters and digits; Chinese by the character; no case, no accents."""
    parted = "".join(f" {text} " if "\u4e00" <= text <= "\u9fff" else text for text in text)
    plain = "".join(
        part for part in unicodedata.normalize("NFD", parted.lower()) if not unicodedata.combining(part)
    )
    return "".join(character if character.isalnum() else " " for character in plain).split()


def says(text: str, question: str) -> bool:
    """Whether a text has all that a question asks for, read word by word."""
    said = tokens(text)
    for word in question.split(" "):
        asked, begins = tokens(word.strip('"*')), word.endswith("*")
        places = range(len(said) - len(asked) + 1)
        if asked and not any(stands(said[at : at + len(asked)], asked, begins=begins) for at in places):
            return False
    return True


def stands(said: list[str], asked: list[str], *, begins: bool) -> bool:
    return said[:-1] == asked[:-1] and (said[-1].startswith(asked[-1]) if begins else said[-1] == asked[-1])


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), min_size=1, max_size=8),
    question=st.lists(
        st.sampled_from(WORDS)
        .filter(lambda text: text.strip("_—"))
        .flatmap(lambda text: st.sampled_from([text, f"{text}*"])),
        min_size=1,
        max_size=3,
    ),
)
async def test_the_index_finds_the_same_entries_as_a_scan_of_the_words(
    memory: Running, texts: list[list[str]], question: list[str]
) -> None:
    peer, session_id = await started(memory, "/w")
    said = [" ".join(words) for words in texts]
    await peer.append(session_id, *(user(text, id=f"t{number}") for number, text in enumerate(said)))
    asked = " ".join(question)
    expected = {f"t{number}" for number, text in enumerate(said) if says(text, asked)}
    assert set(await names(peer, asked, sessionId=session_id, limit=100)) == expected
