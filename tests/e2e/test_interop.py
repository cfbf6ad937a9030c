"""Files go back and forth between sessiond and the real pi and oh-my-pi: same leaf, path, messages, labels.

Needs scripts/install-peers. Without it these tests fail and say so; `-m "not interop"` leaves them out.
"""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support import daemons, peers
from support.columns import entries_of, messages_of
from support.images import image_block, png
from support.peers import BOTH, OMP, PI

pytestmark = pytest.mark.interop

CWD = "/home/dev/weather"
WRITTEN_BY_PEERS = peers.PROJECT / "tests" / "data" / "peers"


class Seen(NamedTuple):
    """The parts that must be equal. `leaf` lines are left out: for the peers they are links of a path like others."""

    path: list[str]
    messages: list[Any]
    labels: dict[str, str]


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[daemons.Peer]:
    async with daemons.running(tmp_path / "home", "process") as running:
        yield await running.attach()


# --- what they write, we open ------------------------------------------------------------------------------


@pytest.mark.parametrize("peer", BOTH, ids=str)
async def test_a_file_of_a_peer_looks_here_from_every_entry_as_the_peer_sees_it(
    daemon: daemons.Peer, peer: peers.Peer, tmp_path: Path
) -> None:
    file = tmp_path / "written.jsonl"
    shutil.copyfile(WRITTEN_BY_PEERS / f"{peer}.jsonl", file)
    bytes_before = file.read_bytes()
    opened = await daemon.call("session/open", path=str(file))
    session_id = opened["session"]["sessionId"]

    theirs = peers.answers(peer, file, at="everywhere")

    assert opened.get("problems", []) == []
    assert opened["session"]["leafId"] == theirs.leaf_id
    assert opened["session"]["title"] == theirs.session_name
    assert await entry_ids(daemon, session_id) == list(theirs.entry_ids)
    for view in theirs.views:
        path, messages = await path_and_messages(daemon, session_id, view.leaf_id)
        assert path == list(view.path)
        if peer == PI or every_call_has_its_result(messages):  # oh-my-pi takes out calls without a result
            assert messages == list(view.messages)
    assert file.read_bytes() == bytes_before


@pytest.mark.parametrize("peer", BOTH, ids=str)
async def test_a_peer_appends_to_its_own_file_after_us_and_sees_what_we_said(
    daemon: daemons.Peer, peer: peers.Peer, tmp_path: Path
) -> None:
    file = tmp_path / "written.jsonl"
    shutil.copyfile(WRITTEN_BY_PEERS / f"{peer}.jsonl", file)
    session_id = (await daemon.call("session/open", path=str(file)))["session"]["sessionId"]

    await daemon.append(session_id, user("from sessiond"), assistant("heard"))
    peers.perform(peer, file, [["appendMessage", user("from the peer")["message"]]])

    await daemon.until(lambda client: says(client.told("session/appended"), "from the peer"))
    assert await seen_here(daemon, session_id) == seen_by(peer, file)


# --- what we write, they open ------------------------------------------------------------------------------

Act = Callable[[daemons.Peer, str], Awaitable[Any]]


async def talk(daemon: daemons.Peer, session_id: str) -> None:
    """A question, a tool call with its result, an answer; with ids that the acts below can name."""
    await daemon.append(
        session_id,
        {
            "type": "model_change",
            "model": "anthropic/claude-sonnet-4-5",
            "role": "default",
            "provider": "anthropic",
            "modelId": "claude-sonnet-4-5",
        },
        {"type": "thinking_level_change", "thinkingLevel": "medium"},
        {**user("Which files are here?"), "id": "question"},
        assistant(
            "I will look.", {"type": "toolCall", "id": "call_1", "name": "ls", "arguments": {"path": "."}}
        ),
        {"type": "message", "message": tool_result("call_1", "main.py")},
        {**assistant("One: main.py."), "id": "answer"},
        {**user("And the tests?"), "id": "second"},
        assistant("There are none."),
    )


async def nothing(daemon: daemons.Peer, session_id: str) -> None:
    """The conversation as it is."""


async def branch(daemon: daemons.Peer, session_id: str) -> None:
    await daemon.call("session/branch", sessionId=session_id, entryId="answer")


async def branch_and_go_on(daemon: daemons.Peer, session_id: str) -> None:
    await branch(daemon, session_id)
    await daemon.append(session_id, user("Write one."), assistant("Written."))


async def branch_with_a_summary(daemon: daemons.Peer, session_id: str) -> None:
    await daemon.call(
        "session/branch", sessionId=session_id, entryId="answer", summary="Asked for tests: none."
    )


async def branch_to_and_fro(daemon: daemons.Peer, session_id: str) -> None:
    for target in ("question", "second", "answer", "second"):
        await daemon.call("session/branch", sessionId=session_id, entryId=target)


async def reset(daemon: daemons.Peer, session_id: str) -> None:
    await daemon.call("session/branch", sessionId=session_id, entryId=None)


async def reset_and_go_on(daemon: daemons.Peer, session_id: str) -> None:
    await reset(daemon, session_id)
    await daemon.append(session_id, user("Anew."), assistant("At your service."))


async def label(daemon: daemons.Peer, session_id: str) -> None:
    await daemon.call("session/label", sessionId=session_id, entryId="answer", label="files known")


async def relabel_and_clear(daemon: daemons.Peer, session_id: str) -> None:
    await label(daemon, session_id)
    await daemon.call("session/label", sessionId=session_id, entryId="answer", label="known")
    await daemon.call("session/label", sessionId=session_id, entryId="question", label="start")
    await daemon.call("session/label", sessionId=session_id, entryId="question")


async def rename(daemon: daemons.Peer, session_id: str) -> None:
    await daemon.call("session/rename", sessionId=session_id, title="What lies here")


async def tag(daemon: daemons.Peer, session_id: str) -> None:
    await daemon.call("session/tag", sessionId=session_id, add=["files"])


async def compaction(daemon: daemons.Peer, session_id: str) -> None:
    summary = {"summary": "One file: main.py.", "firstKeptEntryId": "second", "tokensBefore": 900}
    await daemon.append(session_id, {"type": "compaction", **summary}, user("Go on."), assistant("Gladly."))


async def append_without_moving_the_leaf(daemon: daemons.Peer, session_id: str) -> None:
    await daemon.append(session_id, user("Aside."), parentId="answer", advance=False)


async def custom_entries(daemon: daemons.Peer, session_id: str) -> None:
    await daemon.append(
        session_id,
        {"type": "custom", "customType": "weather.note", "data": {"seen": True}},
        {"type": "custom_message", "customType": "hint", "content": "Mind the wind.", "display": True},
        user("I will."),
    )


ACTS: tuple[Act, ...] = (
    nothing,
    branch,
    branch_and_go_on,
    branch_with_a_summary,
    branch_to_and_fro,
    reset,
    reset_and_go_on,
    label,
    relabel_and_clear,
    rename,
    tag,
    compaction,
    append_without_moving_the_leaf,
    custom_entries,
)


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
async def test_a_session_of_sessiond_looks_to_both_peers_as_it_does_here(
    daemon: daemons.Peer, act: Act
) -> None:
    session_id = await new_session(daemon)
    await talk(daemon, session_id)
    await act(daemon, session_id)

    here = await seen_here(daemon, session_id)

    file = await file_of(daemon, session_id)
    assert {str(peer): seen_by(peer, file) for peer in BOTH} == {str(PI): here, str(OMP): here}


async def test_both_forms_of_a_model_change_are_read_by_the_peer_they_are_for(daemon: daemons.Peer) -> None:
    session_id = await new_session(daemon)
    await talk(daemon, session_id)
    file = await file_of(daemon, session_id)

    here = await daemon.call("session/context", sessionId=session_id)

    assert here["models"] == {"default": "anthropic/claude-sonnet-4-5"}
    assert peers.answers(OMP, file).current.settings["models"] == here["models"]
    assert peers.answers(PI, file).current.settings["model"] == {
        "provider": "anthropic",
        "modelId": "claude-sonnet-4-5",
    }


def titles_in(file: Path) -> dict[str, str | None]:
    """The name of a session as each peer that can open the file shows it."""
    return {str(peer): peers.answers(peer, file).session_name for peer in BOTH}


async def test_a_title_given_at_create_is_the_name_that_both_peers_show(daemon: daemons.Peer) -> None:
    made = await daemon.call("session/create", cwd=CWD, title='Wind "and" weather')
    session_id = made["session"]["sessionId"]
    await talk(daemon, session_id)

    assert set(titles_in(await file_of(daemon, session_id)).values()) == {'Wind "and" weather'}


@pytest.mark.parametrize("title", [None, "Weather"])
async def test_a_rename_is_seen_by_both_peers(daemon: daemons.Peer, title: str | None) -> None:
    made = await daemon.call("session/create", cwd=CWD, title=title)
    session_id = made["session"]["sessionId"]
    await talk(daemon, session_id)
    file = await file_of(daemon, session_id)
    lines_before = file.read_bytes().split(b"\n")[1:]
    for name in ("What lies here", "Émile's café", "x"):
        await daemon.call("session/rename", sessionId=session_id, title=name)
        await daemon.call("session/flush", sessionId=session_id)
        assert set(titles_in(file).values()) == {name}
    await daemon.call("session/rename", sessionId=session_id, title="")
    await daemon.call("session/flush", sessionId=session_id)
    assert not any(titles_in(file).values())
    assert file.read_bytes().split(b"\n")[1 : len(lines_before)] == lines_before[:-1]


async def test_a_fork_has_its_title_in_both_peers(daemon: daemons.Peer) -> None:
    session_id = await new_session(daemon)
    await talk(daemon, session_id)
    forked = await daemon.call("session/fork", sessionId=session_id, title="Another way")

    assert set(titles_in(await file_of(daemon, forked["session"]["sessionId"])).values()) == {"Another way"}


async def test_a_rename_of_a_file_of_oh_my_pi_is_its_title_there(
    daemon: daemons.Peer, tmp_path: Path
) -> None:
    file = tmp_path / "written.jsonl"
    shutil.copyfile(WRITTEN_BY_PEERS / f"{OMP}.jsonl", file)
    before = file.read_bytes()
    session_id = (await daemon.call("session/open", path=str(file)))["session"]["sessionId"]
    for name in ("What lies here", "long " * 100):
        await daemon.call("session/rename", sessionId=session_id, title=name)
        await daemon.call("session/flush", sessionId=session_id)
        there = peers.answers(OMP, file).session_name
        assert there
        assert name.startswith(there)
    now = file.read_bytes()
    assert now[256 : len(before)] == before[256:]
    peers.perform(OMP, file, [["appendMessage", user("from the peer")["message"]]])
    await daemon.until(lambda client: says(client.told("session/appended"), "from the peer"))


async def test_a_fork_made_here_is_read_by_both_peers(daemon: daemons.Peer) -> None:
    session_id = await new_session(daemon)
    await talk(daemon, session_id)
    await relabel_and_clear(daemon, session_id)
    await daemon.append(session_id, user("One more."), assistant("Yes."))

    forked = await daemon.call("session/fork", sessionId=session_id)

    fork_id = forked["session"]["sessionId"]
    here, file = await seen_here(daemon, fork_id), await file_of(daemon, fork_id)
    assert {str(peer): seen_by(peer, file) for peer in BOTH} == {str(PI): here, str(OMP): here}
    assert here.messages == (await seen_here(daemon, session_id)).messages
    assert here.labels == {"answer": "known"}


async def test_both_peers_see_the_image_in_a_session_of_ours(daemon: daemons.Peer) -> None:
    session_id = await new_session(daemon)
    question = {**user("What is this?")["message"], "content": [image_block(png(60, 60))]}
    await daemon.append(session_id, {"type": "message", "message": question}, assistant("A picture."))
    file = await file_of(daemon, session_id)
    for peer in BOTH:
        assert peers.answers(peer, file).current.messages[0] == question


async def test_oh_my_pi_puts_our_blobs_back_where_it_finds_them(tmp_path: Path) -> None:
    async with daemons.running(tmp_path / "home", "process", image_blobs=True) as running:
        await puts_our_blobs_back(await running.attach(), tmp_path)


async def puts_our_blobs_back(daemon: daemons.Peer, tmp_path: Path) -> None:
    session_id = await new_session(daemon)
    image, long = image_block(png(60, 60)), "word " * 120_000
    question = user("What is this?")
    question["message"]["content"].append(image)
    await daemon.append(session_id, question, assistant(long))
    file = await file_of(daemon, session_id)
    assert image["data"] not in file.read_text(encoding="utf-8")

    theirs = peers.answers(OMP, file, agent_dir=tmp_path / "home" / "data")

    seen, cut = theirs.current.messages
    assert seen["content"][1]["data"] == image["data"]
    assert cut["content"][0]["text"].endswith("[Session persistence truncated large content]")
    assert (await seen_here(daemon, session_id)).messages == [question["message"], assistant(long)["message"]]


async def test_content_that_oh_my_pi_took_out_of_its_own_file_is_put_back_here(
    daemon: daemons.Peer, tmp_path: Path
) -> None:
    agent = tmp_path / "agent"
    file = agent / "sessions" / "-work" / "written.jsonl"
    file.parent.mkdir(parents=True)
    shutil.copyfile(WRITTEN_BY_PEERS / f"{OMP}.jsonl", file)
    message = {**user("look")["message"], "content": [image_block(png(60, 60))]}

    peers.ask(OMP, file, steps=[["appendMessage", message]], agent_dir=agent)

    assert "blob:sha256:" in file.read_text(encoding="utf-8")
    session_id = (await daemon.call("session/open", path=str(file)))["session"]["sessionId"]
    assert (await seen_here(daemon, session_id)).messages[-1] == message


@pytest.mark.parametrize("make", ["fork", "import"])
async def test_pi_sees_the_image_in_what_was_taken_from_a_session_of_oh_my_pi(
    daemon: daemons.Peer, tmp_path: Path, make: str
) -> None:
    agent = tmp_path / "agent"
    theirs = agent / "sessions" / "-work" / "written.jsonl"
    theirs.parent.mkdir(parents=True)
    shutil.copyfile(WRITTEN_BY_PEERS / f"{OMP}.jsonl", theirs)
    message = {**user("look")["message"], "content": [image_block(png(60, 60))]}
    peers.ask(OMP, theirs, steps=[["appendMessage", message]], agent_dir=agent)
    assert "blob:sha256:" in theirs.read_text(encoding="utf-8")

    if make == "fork":
        session_id = (await daemon.call("session/open", path=str(theirs)))["session"]["sessionId"]
        made = (await daemon.call("session/fork", sessionId=session_id))["session"]
    else:
        (made,) = (await daemon.call("session/import", path=str(theirs)))["sessions"]

    file = await file_of(daemon, made["sessionId"])
    for peer in BOTH:
        assert peers.answers(peer, file).current.messages[-1] == message


async def with_commands(daemon: daemons.Peer, session_id: str) -> None:
    """Every kind of line that a request with a `commandId` writes; each says in `sessiondCommand` which wrote it."""
    summary = {"summary": "One file: main.py.", "settings": {"keepRecentTokens": 1}}
    acts: list[tuple[str, dict[str, Any]]] = [
        ("session/rename", {"title": "What lies here"}),
        ("session/tag", {"add": ["files"]}),
        ("session/label", {"entryId": "answer", "label": "files known"}),
        ("state/update", {"plan": "Write a test.", "turns": 1}),
        ("session/compact", summary),
        ("session/branch", {"entryId": "second", "summary": "Asked for tests: none."}),
    ]
    for number, (method, params) in enumerate(acts):
        await daemon.call(method, sessionId=session_id, **params, commandId=f"press {number}")
    await daemon.append(session_id, user("Write one."), assistant("Written."))


async def a_session_of_commands(daemon: daemons.Peer) -> str:
    """A session that a request with a `commandId` made, and that others wrote to."""
    made = await daemon.call("session/create", cwd=CWD, commandId="press to begin")
    session_id: str = made["session"]["sessionId"]
    await talk(daemon, session_id)
    await with_commands(daemon, session_id)
    marked = (await file_of(daemon, session_id)).read_bytes().count(b'"sessiondCommand":')
    assert marked == 7
    return session_id


async def test_lines_that_say_which_request_wrote_them_are_read_by_both_peers(daemon: daemons.Peer) -> None:
    session_id = await a_session_of_commands(daemon)

    here, file = await seen_here(daemon, session_id), await file_of(daemon, session_id)

    assert {str(peer): seen_by(peer, file) for peer in BOTH} == {str(PI): here, str(OMP): here}
    for peer in BOTH:
        answers = peers.answers(peer, file)
        assert answers.session_name == "What lies here"
        assert list(answers.entry_ids) == await entry_ids(daemon, session_id)


@pytest.mark.parametrize("peer", BOTH, ids=str)
async def test_a_peer_goes_on_in_a_session_of_commands_and_their_repeats_are_still_answered(
    daemon: daemons.Peer, peer: peers.Peer
) -> None:
    session_id = await a_session_of_commands(daemon)
    file = await file_of(daemon, session_id)

    peers.perform(peer, file, [["appendMessage", user("from the peer")["message"]]])
    await daemon.until(lambda client: says(client.told("session/appended"), "from the peer"))

    again = await daemon.call("session/tag", sessionId=session_id, add=["files"], commandId="press 1")
    assert again["duplicate"] is True
    assert await seen_here(daemon, session_id) == seen_by(peer, file)


@pytest.mark.parametrize("way", ["fork", "whole fork", "import", "export"])
async def test_a_copy_of_a_session_of_commands_is_read_by_both_peers(
    daemon: daemons.Peer, tmp_path: Path, way: str
) -> None:
    session_id = await a_session_of_commands(daemon)
    here, file = await seen_here(daemon, session_id), await file_of(daemon, session_id)
    copy = tmp_path / "copy.jsonl"
    if way == "export":
        await daemon.call("session/export", sessionId=session_id, format="jsonl", path=str(copy))
    elif way == "import":
        shutil.copyfile(file, tmp_path / "of-another-home.jsonl")
        path = str(tmp_path / "of-another-home.jsonl")
        [told] = (await daemon.call("session/import", path=path))["sessions"]
        copy = await file_of(daemon, told["sessionId"])
    else:
        forked = await daemon.call("session/fork", sessionId=session_id, whole=way == "whole fork")
        copy = await file_of(daemon, forked["session"]["sessionId"])

    assert b"sessiondCommand" not in copy.read_bytes()
    for peer in BOTH:
        seen = seen_by(peer, copy)
        assert (seen.messages, seen.labels) == (here.messages, here.labels)


# --- both at once ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("peer", BOTH, ids=str)
@pytest.mark.parametrize("act", [nothing, branch, reset, rename, compaction], ids=lambda act: act.__name__)
async def test_a_peer_goes_on_where_we_left_off_and_we_go_on_after_it(
    daemon: daemons.Peer, act: Act, peer: peers.Peer
) -> None:
    session_id = await new_session(daemon)
    await talk(daemon, session_id)
    await act(daemon, session_id)
    before = await seen_here(daemon, session_id)
    file = await file_of(daemon, session_id)

    theirs = [user("from the peer")["message"], assistant("from its model")["message"]]
    peers.perform(peer, file, [["appendMessage", message] for message in theirs])
    await daemon.until(lambda client: says(client.told("session/appended"), "from its model"))
    await daemon.append(session_id, user("and from here"))

    here = await seen_here(daemon, session_id)
    assert here.messages == [*before.messages, *theirs, user("and from here")["message"]]
    assert seen_by(peer, file) == here


@pytest.mark.parametrize("peer", BOTH, ids=str)
async def test_a_peer_branches_in_our_file_and_we_follow(daemon: daemons.Peer, peer: peers.Peer) -> None:
    session_id = await new_session(daemon)
    await talk(daemon, session_id)
    file = await file_of(daemon, session_id)

    message = user("another way")["message"]
    _, appended = peers.perform(peer, file, [["branch", "answer"], ["appendMessage", message]])
    await daemon.until(lambda client: says(client.told("session/appended"), "another way"))

    info = (await daemon.call("session/info", sessionId=session_id))["session"]
    assert info["leafId"] == appended
    assert await seen_here(daemon, session_id) == seen_by(peer, file)


# --- saying it shortly -------------------------------------------------------------------------------------


def user(text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"type": "message", "message": {"role": "user", "content": content, "timestamp": 1793610847000}}


def assistant(*blocks: str | dict[str, Any]) -> dict[str, Any]:
    """A turn as both peers write them; a string is a block of text."""
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    costs = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
    message = {
        "role": "assistant",
        "content": content,
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": "claude-sonnet-4-5",
        "usage": {"input": 9, "output": 4, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 13, "cost": costs},
        "stopReason": "toolUse" if any(block["type"] == "toolCall" for block in content) else "stop",
        "timestamp": 1793610848000,
    }
    return {"type": "message", "message": message}


def tool_result(call_id: str, text: str) -> dict[str, Any]:
    return {
        "role": "toolResult",
        "toolCallId": call_id,
        "toolName": "ls",
        "content": [{"type": "text", "text": text}],
        "isError": False,
        "timestamp": 1793610849000,
    }


def says(notes: list[dict[str, Any]], text: str) -> bool:
    return any(text in repr(note["items"]) for note in notes)


def every_call_has_its_result(messages: list[Any]) -> bool:
    blocks = [block for message in messages if message["role"] == "assistant" for block in message["content"]]
    results = {message["toolCallId"] for message in messages if message["role"] == "toolResult"}
    return all(block["id"] in results for block in blocks if block["type"] == "toolCall")


async def new_session(daemon: daemons.Peer) -> str:
    created = await daemon.call("session/create", cwd=CWD)
    session_id: str = created["session"]["sessionId"]
    return session_id


async def file_of(daemon: daemons.Peer, session_id: str) -> Path:
    info = await daemon.call("session/info", sessionId=session_id)
    return Path(info["session"]["path"])


async def entry_ids(daemon: daemons.Peer, session_id: str) -> list[str]:
    return [entry["id"] for entry in entries_of(await daemon.call("session/entries", sessionId=session_id))]


async def path_and_messages(
    daemon: daemons.Peer, session_id: str, leaf_id: str | None
) -> tuple[list[str], list[Any]]:
    at = {} if leaf_id is None else {"leafId": leaf_id}
    path = await daemon.call("session/path", sessionId=session_id, **at)
    context = await daemon.call("session/context", sessionId=session_id, **at)
    return [entry["id"] for entry in entries_of(path)], messages_of(context)


async def seen_here(daemon: daemons.Peer, session_id: str) -> Seen:
    path = entries_of(await daemon.call("session/path", sessionId=session_id))
    context = await daemon.call("session/context", sessionId=session_id)
    tree = await daemon.call("session/tree", sessionId=session_id, filter="all")
    return Seen(
        [entry["id"] for entry in path if entry["type"] != "leaf"],
        messages_of(context),
        {node["id"]: node["label"] for node in tree["nodes"] if node.get("label") is not None},
    )


def seen_by(peer: peers.Peer, file: Path) -> Seen:
    answers = peers.answers(peer, file)
    lines = [line for line in file.read_bytes().split(b"\n") if b'"type":"leaf"' in line]
    path = [id for id in answers.current.path if not any(f'"id":"{id}"'.encode() in line for line in lines)]
    return Seen(path, list(answers.current.messages), dict(answers.labels))
