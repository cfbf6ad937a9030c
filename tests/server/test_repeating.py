"""A request with a `commandId` can be sent again: it takes effect once, and each repeat has the first result."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.daemons import Peer, Running, assistant, refusal, running, user
from support.shared import lines_of
from support.summarizers import SMALL, summarizing

COMMAND = "press-1 'of' ../the button\n"
"""A name that a client may choose: any text."""


@dataclass(frozen=True)
class Write:
    """A request that writes lines: its method and params, and `other` params under the same id."""

    method: str
    params: dict[str, Any]
    other: dict[str, Any]
    lines: int = 1
    """How many lines it writes."""

    def __str__(self) -> str:
        return f"{self.method.rpartition('/')[2]}-{'-'.join(self.params)}"


WRITES = [
    Write("session/label", {"entryId": "u1", "label": "start"}, {"label": "end"}),
    Write("session/label", {"entryId": "u1"}, {"label": "end"}),
    Write("session/rename", {"title": "Plans"}, {"title": "Other plans"}),
    Write("session/tag", {"add": ["bug"]}, {"add": ["bugs"]}),
    Write("session/tag", {"tags": ["a", "b"], "remove": ["a"]}, {"remove": ["b"]}),
    Write("session/branch", {"entryId": "u1"}, {"entryId": None}),
    Write("session/branch", {"entryId": None}, {"entryId": "u1"}),
    Write("session/branch", {"entryId": "u1", "summary": "Left."}, {"summary": "Gone."}),
    Write(
        "session/compact",
        {"summary": "So far.", "settings": SMALL, "details": {"a": 1, "b": 2}},
        {"summary": "Until now."},
    ),
    Write("session/configure", {"autoCompact": {"enabled": True}}, {"autoCompact": None}),
    Write("state/update", {"tokens": 10, "plan": "Go on."}, {"tokens": 11}),
    Write("state/update", {"turns": 1, "tags": ["bug"]}, {"turns": 2}, lines=2),
    Write("state/beginTask", {"decision": {"decision": "Go.", "rationale": "Now."}}, {"decision": None}),
]
every_write = pytest.mark.parametrize("write", WRITES, ids=str)

OTHER_WRITES: list[tuple[str, dict[str, Any]]] = [
    ("session/label", {"entryId": "u1", "label": "changed"}),
    ("session/rename", {"title": "Changed"}),
    ("session/tag", {"tags": ["changed"]}),
    ("session/branch", {"entryId": "a1"}),
    ("state/update", {"plan": "Changed.", "tokens": 1}),
    ("session/configure", {"autoCompact": None}),
]
"""Changes of others between a request and its repeat, so that carrying it out again would change something."""


async def a_session(daemon: Running, cwd: str) -> tuple[Peer, str, Path]:
    """A session that is long enough to be compacted, its first message `u1` and the answer `a1`, and its file."""
    peer = await daemon.attach()
    session_id = (await peer.call("session/create", cwd=cwd))["session"]["sessionId"]
    await peer.append(session_id, user("?" * 400, id="u1"), assistant("!" * 400, id="a1"))
    for number in (2, 3):
        await peer.append(session_id, user(f"{number}" * 400), assistant("!" * 400))
    path = (await peer.call("session/info", sessionId=session_id))["session"]["path"]
    return peer, session_id, Path(path)


async def write_something_else(peer: Peer, session_id: str) -> None:
    for method, params in OTHER_WRITES:
        await peer.call(method, sessionId=session_id, **params)
    await peer.append(session_id, user("more"), assistant("yes"))


def told(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the part of an answer about the request itself, without the session as it stands now."""
    changing = {"session", "duplicate", "autoCompact"}
    return {name: value for name, value in answer.items() if name not in changing}


def lines_with(path: Path, command: str) -> list[dict[str, Any]]:
    return [line for line in lines_of(path) if line.get("sessiondCommand", {}).get("id") == command]


@every_write
async def test_a_request_sent_twice_takes_effect_once(daemon: Running, cwd: str, write: Write) -> None:
    peer, session_id, path = await a_session(daemon, cwd)
    params = {"sessionId": session_id, **write.params, "commandId": COMMAND}
    before = len(lines_of(path))
    first = await peer.call(write.method, **params)
    second = await peer.call(write.method, **params)
    assert not first["duplicate"]
    assert second == first | {"duplicate": True}
    assert len(lines_of(path)) == before + write.lines
    assert len(lines_with(path, COMMAND)) == write.lines


@every_write
async def test_a_repeat_after_other_writes_changes_nothing(memory: Running, cwd: str, write: Write) -> None:
    peer, session_id, path = await a_session(memory, cwd)
    params = {"sessionId": session_id, **write.params, "commandId": COMMAND}
    first = await peer.call(write.method, **params)
    await write_something_else(peer, session_id)
    stored = lines_of(path)[1:]
    again = await peer.call(write.method, **params)
    assert again["duplicate"] is True
    assert told(again) == told(first)
    assert lines_of(path)[1:] == stored


@every_write
async def test_a_repeat_on_another_daemon_finds_what_the_first_has_written(
    tmp_path: Path, cwd: str, write: Write
) -> None:
    async with running(tmp_path) as daemon:
        peer, session_id, path = await a_session(daemon, cwd)
        params = {"sessionId": session_id, **write.params, "commandId": COMMAND}
        first = await peer.call(write.method, **params)
        await write_something_else(peer, session_id)
    stored = path.read_bytes()
    async with running(tmp_path) as daemon:
        again = await (await daemon.attach()).call(write.method, **params)
        assert again["duplicate"] is True
        assert told(again) == told(first)
        assert path.read_bytes() == stored


@every_write
async def test_two_clients_that_send_it_at_once_both_get_the_answer(
    daemon: Running, cwd: str, write: Write
) -> None:
    peer, session_id, path = await a_session(daemon, cwd)
    other = await daemon.attach()
    params = {"sessionId": session_id, **write.params, "commandId": COMMAND}
    answers = await asyncio.gather(
        *(client.call(write.method, **params) for client in (peer, other, peer, other))
    )
    assert sorted(answer["duplicate"] for answer in answers) == [False, True, True, True]
    assert all(told(answer) == told(answers[0]) for answer in answers)
    assert len(lines_with(path, COMMAND)) == write.lines


@every_write
async def test_other_params_or_another_method_under_the_id_are_refused(
    memory: Running, cwd: str, write: Write
) -> None:
    peer, session_id, path = await a_session(memory, cwd)
    params = {"sessionId": session_id, **write.params, "commandId": COMMAND}
    await peer.call(write.method, **params)
    stored = lines_of(path)[1:]  # without the header, where the title is written after the answer
    others = [(write.method, write.params | write.other), *OTHER_WRITES]
    for method, other in others:
        refused = await refusal(peer.call(method, sessionId=session_id, **other, commandId=COMMAND))
        assert (refused.kind, refused.details["commandId"]) == ("idReused", COMMAND)
        assert not refused.data["retryable"]
    assert lines_of(path)[1:] == stored


@every_write
async def test_a_repeat_of_what_was_refused_is_tried_again(memory: Running, cwd: str, write: Write) -> None:
    peer, session_id, path = await a_session(memory, cwd)
    params = {"sessionId": session_id, **write.params, "commandId": COMMAND}
    gone = await peer.call("session/delete", sessionId=session_id)
    assert (await refusal(peer.call(write.method, **params))).kind == "sessionTrashed"
    await peer.call("trash/restore", trashId=gone["trashId"])
    assert not (await peer.call(write.method, **params))["duplicate"]
    assert len(lines_with(path, COMMAND)) == write.lines


async def test_requests_with_ids_of_their_own_all_take_effect(memory: Running, cwd: str) -> None:
    peer, session_id, path = await a_session(memory, cwd)
    before = len(lines_of(path))
    for number in range(3):
        answer = await peer.call("session/rename", sessionId=session_id, title="T", commandId=f"c{number}")
        assert not answer["duplicate"]
    assert len(lines_of(path)) == before + 3


@pytest.mark.parametrize("wrong", ["", "x" * 129, "a\0b", 7])
async def test_a_command_id_is_a_text_of_bounded_length(memory: Running, cwd: str, wrong: object) -> None:
    peer, session_id, path = await a_session(memory, cwd)
    stored = path.read_bytes()
    refused = await refusal(peer.call("session/rename", sessionId=session_id, title="T", commandId=wrong))
    assert (refused.kind, refused.details["path"]) == ("invalidParams", "$.commandId")
    assert path.read_bytes() == stored


async def test_an_id_for_the_entry_and_one_for_the_command_do_not_go_together(
    memory: Running, cwd: str
) -> None:
    peer, session_id, path = await a_session(memory, cwd)
    stored = path.read_bytes()
    for method, params in (("state/update", {"turns": 1}), ("state/beginTask", {})):
        both = peer.call(method, sessionId=session_id, **params, id="mine", commandId=COMMAND)
        assert (await refusal(both)).kind == "invalidParams"
    assert path.read_bytes() == stored


async def test_an_update_with_an_id_of_its_own_says_that_it_is_a_repeat(memory: Running, cwd: str) -> None:
    peer, session_id, _ = await a_session(memory, cwd)
    for method, params in (
        ("state/update", {"turns": 1, "id": "one"}),
        ("state/beginTask", {"id": "two"}),
    ):
        first = await peer.call(method, sessionId=session_id, **params)
        assert await peer.call(method, sessionId=session_id, **params) == first | {"duplicate": True}


async def test_params_that_say_the_same_in_other_words_are_the_same_request(
    memory: Running, cwd: str
) -> None:
    peer, session_id, path = await a_session(memory, cwd)
    params = {"sessionId": session_id, "entryId": "u1", "commandId": COMMAND}
    first = await peer.call("session/branch", **params, summary="S", details={"a": 1, "b": [2]})
    again = await peer.call(
        "session/branch",
        **params,
        details={"b": [2], "a": 1},
        summary="S",
        summarize=False,
        instructions=None,
    )
    assert again == first | {"duplicate": True}
    assert len(lines_with(path, COMMAND)) == 1


async def test_an_entry_that_has_the_id_of_a_command_is_no_repeat(memory: Running, cwd: str) -> None:
    peer, session_id, path = await a_session(memory, cwd)
    params = {"title": "T", "commandId": COMMAND}
    first = await peer.call("session/rename", sessionId=session_id, **params)
    # Another session has an entry under the id that the command would get there.
    twin = (await peer.call("session/create", cwd=cwd, id="twin-of-the-first"))["session"]["sessionId"]
    probe = await peer.call("session/rename", sessionId=twin, **params)
    await peer.call("session/delete", sessionId=twin)
    trash_id = (await peer.call("trash/list"))["sessions"][0]["trashId"]
    await peer.call("trash/purge", trashId=trash_id, dryRun=False)
    twin = (await peer.call("session/create", cwd=cwd, id="twin-of-the-first"))["session"]["sessionId"]
    squatter = user(
        "mine", id=probe["recordId"], sessiondCommand={"id": COMMAND, "method": "x", "digest": "y"}
    )
    await peer.append(twin, squatter, assistant("yes"))
    made = await peer.call("session/rename", sessionId=twin, **params)
    assert not made["duplicate"]
    assert made["recordId"] not in (probe["recordId"], first["recordId"])
    assert await peer.call("session/rename", sessionId=twin, **params) == made | {"duplicate": True}
    assert len(lines_with(path, COMMAND)) == 1


async def test_a_fork_does_not_answer_for_the_commands_of_its_source(memory: Running, cwd: str) -> None:
    peer, session_id, _ = await a_session(memory, cwd)
    await peer.call("session/rename", sessionId=session_id, title="T", commandId=COMMAND)
    fork = (await peer.call("session/fork", sessionId=session_id))["session"]
    made = await peer.call("session/rename", sessionId=fork["sessionId"], title="T", commandId=COMMAND)
    assert not made["duplicate"]
    again = await peer.call("session/rename", sessionId=fork["sessionId"], title="T", commandId=COMMAND)
    assert again == made | {"duplicate": True}


async def test_a_moved_session_keeps_its_commands(memory: Running, cwd: str) -> None:
    peer, session_id, _ = await a_session(memory, cwd)
    params = {"sessionId": session_id, "title": "T", "commandId": COMMAND}
    first = await peer.call("session/rename", **params)
    await peer.call("session/move", sessionId=session_id, cwd=f"{cwd}/moved")
    again = await peer.call("session/rename", **params)
    assert told(again) == told(first)
    assert again["duplicate"] is True


async def test_a_draft_keeps_its_commands_when_it_becomes_a_session(memory: Running, cwd: str) -> None:
    peer = await memory.attach()
    session_id = (await peer.call("session/create", cwd=cwd))["session"]["sessionId"]
    params = {"sessionId": session_id, "title": "T", "commandId": COMMAND}
    first = await peer.call("session/rename", **params)
    await peer.append(session_id, user("hello"), assistant("hi"))
    assert told(await peer.call("session/rename", **params)) == told(first)


# --- commands that wait for a summary ----------------------------------------------------------------------

ASKING: list[tuple[str, dict[str, Any]]] = [
    ("session/compact", {"settings": SMALL}),
    ("session/branch", {"entryId": "u1", "summarize": True}),
]
asking = pytest.mark.parametrize(
    ("method", "params"), ASKING, ids=[row[0].rpartition("/")[2] for row in ASKING]
)


@asking
async def test_a_summary_is_asked_for_once_for_a_request_that_is_repeated(
    memory: Running, cwd: str, method: str, params: dict[str, Any]
) -> None:
    peer, session_id, path = await a_session(memory, cwd)
    writer = await summarizing(memory)
    await writer.peer.call("session/open", sessionId=session_id)
    command = {"sessionId": session_id, **params, "commandId": COMMAND}
    other = await memory.attach()
    calls = [asyncio.create_task(client.call(method, **command)) for client in (peer, other)]
    await writer.asked()
    writer.answer("So far.")
    answers = await asyncio.gather(*calls)
    first = {name: value for name, value in answers[0].items() if name != "duplicate"}
    assert sorted(answer["duplicate"] for answer in answers) == [False, True]
    await write_something_else(peer, session_id)
    assert await peer.call(method, **command) == first | {"duplicate": True}
    assert len(lines_with(path, COMMAND)) == 1
    assert len(writer.peer.asked) == 1


async def test_a_compaction_that_answers_several_requests_answers_the_repeats_of_each(
    tmp_path: Path, cwd: str
) -> None:
    async with running(tmp_path) as daemon:
        peer, session_id, path = await a_session(daemon, cwd)
        writer = await summarizing(daemon)
        await writer.peer.call("session/open", sessionId=session_id)
        params = {"sessionId": session_id, "settings": SMALL}
        names = ["one", "two", "three"]
        calls = [
            asyncio.create_task(peer.call("session/compact", **params, commandId=name)) for name in names
        ]
        await writer.asked()
        writer.answer("So far.")
        answers = await asyncio.gather(*calls)
        assert all(answer == answers[0] for answer in answers)
        await write_something_else(peer, session_id)
        before = path.read_bytes()
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        for name in names:
            again = await peer.call("session/compact", **params, commandId=name)
            assert again == answers[0] | {"duplicate": True}
            other = peer.call("session/compact", sessionId=session_id, summary="Other.", commandId=name)
            assert (await refusal(other)).kind == "idReused"
    assert path.read_bytes() == before


async def test_a_summary_too_long_for_a_line_is_whole_in_the_answer_to_a_repeat(
    memory: Running, cwd: str
) -> None:
    peer, session_id, _ = await a_session(memory, cwd)
    params = {"sessionId": session_id, "summary": "s" * 600_000, "settings": SMALL, "commandId": COMMAND}
    first = await peer.call("session/compact", **params)
    assert await peer.call("session/compact", **params) == first | {"duplicate": True}
