"""The writers of a summary: the client that is asked first, the next ones, and the rights of a command."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from sessiond.config import Config, SummarizerConfig
from sessiond.hub.summaries import external_command as commands
from sessiond.paths import find_locations
from support.columns import entries_of
from support.daemons import Peer, Running, refusal, running
from support.processes import runs
from support.rpc_peers import until
from support.summarizers import (
    SMALL,
    Summarizing,
    as_toml,
    commanded,
    compactions,
    program,
    summarizing,
    talk,
)


def compacting(peer: Peer, session_id: str, **params: Any) -> asyncio.Task[Any]:
    """A request for a compaction, on its way."""
    return asyncio.ensure_future(peer.call("session/compact", sessionId=session_id, settings=SMALL, **params))


async def holding(daemon: Running, session_id: str) -> Summarizing:
    """A summarizing client that has a session open."""
    writer = await summarizing(daemon)
    await writer.peer.call("session/open", sessionId=session_id)
    return writer


# --- who is asked ------------------------------------------------------------------------------------------


async def test_a_client_is_asked_with_all_that_it_needs(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    prepared = await peer.call(
        "session/prepareCompaction", sessionId=session_id, settings=SMALL, instructions="Mind the cat."
    )
    writer = await holding(daemon, session_id)
    asked = compacting(peer, session_id, instructions="Mind the cat.")
    params = await writer.asked()
    assert "Mind the cat." in params["prompt"]
    assert params == {
        "sessionId": session_id, "purpose": "compaction", "prompt": prepared["prompt"],
        "entryIds": prepared["entryIdsToSummarize"], "models": {"default": "anthropic/claude-test-1"},
        "instructions": "Mind the cat.", "workDoneToken": params["workDoneToken"],
    }  # fmt: skip
    writer.answer("  So far.\n", shortSummary="S", details={"n": 1}, preserveData=[2])
    done = await asked
    assert (done["summary"], done["summarizedBy"]) == ("So far.", "client")
    [entry] = await compactions(peer, session_id)
    stored = {name: entry[name] for name in ("summary", "shortSummary", "details", "preserveData")}
    assert stored == {"summary": "So far.", "shortSummary": "S", "details": {"n": 1}, "preserveData": [2]}


async def test_the_asking_client_comes_first_then_who_has_the_session_open_then_any(
    memory: Running, cwd: str
) -> None:
    _, session_id = await talk(memory, cwd)
    stranger = await summarizing(memory)
    holder = await holding(memory, session_id)
    asker = await summarizing(memory)
    asked = compacting(asker.peer, session_id)
    for writer in (asker, holder, stranger):
        await writer.asked()
        writer.refuse()
    assert (await refusal(asked)).kind == "summarizerFailed"


async def test_a_client_that_did_not_declare_it_is_not_asked(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    assert (await refusal(compacting(peer, session_id))).kind == "noSummarizer"
    told = (await peer.call("server/clients"))["clients"]
    assert [client.get("summarizes", False) for client in told] == [False]


async def test_clients_tells_who_writes_summaries(memory: Running, cwd: str) -> None:
    writer = await summarizing(memory, "the-writer")
    told = (await writer.peer.call("server/clients"))["clients"]
    assert [(client["clientId"], client["summarizes"]) for client in told] == [("the-writer", True)]


@pytest.mark.parametrize(
    "result",
    [{"summary": ""}, {"summary": " \n"}, {"summary": 3}, {}, None, [], {"summary": "x" * 1_000_001}],
)
async def test_after_an_answer_that_is_no_summary_the_next_one_is_asked(
    memory: Running, cwd: str, result: Any
) -> None:
    peer, session_id = await talk(memory, cwd)
    first = await holding(memory, session_id)
    second = await summarizing(memory)
    asked = compacting(peer, session_id)
    await first.asked()
    first.answer_with(result)
    await second.asked()
    second.answer("Better.")
    assert (await asked)["summary"] == "Better."


async def test_a_client_that_leaves_in_the_middle_is_followed_by_the_next(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    first, second = await holding(daemon, session_id), await summarizing(daemon)
    asked = compacting(peer, session_id)
    await first.asked()
    first.peer.connection.abort()
    await second.asked()
    second.answer("From the second.")
    assert (await asked)["summary"] == "From the second."
    assert len(await compactions(peer, session_id)) == 1


async def test_when_the_only_writer_leaves_nothing_is_written(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    writer = await holding(daemon, session_id)
    asked = compacting(peer, session_id)
    await writer.asked()
    writer.peer.connection.abort()
    refused = await refusal(asked)
    assert (refused.kind, refused.data["retryable"]) == ("summarizerFailed", True)
    assert await compactions(peer, session_id) == []


async def test_a_client_that_says_goodbye_is_not_asked(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    writer = await holding(memory, session_id)
    await writer.peer.call("shutdown")
    assert (await refusal(compacting(peer, session_id))).kind == "noSummarizer"


async def test_a_client_that_takes_too_long_is_told_so_and_followed_by_the_next(
    tmp_path: Path, cwd: str
) -> None:
    config = Config(summarizer=SummarizerConfig(None, 0.2))
    async with running(tmp_path / "home", config=config) as daemon:
        peer, session_id = await talk(daemon, cwd)
        first, second = await holding(daemon, session_id), await summarizing(daemon)
        asked = compacting(peer, session_id)
        await first.asked()
        await first.canceled()
        await second.asked()
        second.answer("In time.")
        assert (await asked)["summary"] == "In time."


# --- progress and canceling -------------------------------------------------------------------------------


def steps(peer: Peer, token: str) -> list[dict[str, Any]]:
    return [note["value"] for note in peer.told("$/progress") if note["token"] == token]


async def test_a_waiting_client_gets_progress_until_the_answer(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    writer = await holding(daemon, session_id)
    asked = compacting(peer, session_id, workDoneToken="tok")
    await writer.asked()
    writer.progress(kind="begin", title="reading")
    writer.progress(kind="report", message="writing", percentage=40)
    writer.progress(kind="end")
    await peer.until(lambda client: any(step.get("percentage") == 40 for step in steps(client, "tok")))
    writer.answer()
    await asked
    told = steps(peer, "tok")
    assert [step["kind"] for step in told] == ["begin", "report", "report", "report", "end"]
    assert (told[0]["cancellable"], told[2]["message"], told[3]["message"]) == (True, "reading", "writing")
    assert peer.order.index("reply", peer.order.index("$/progress")) > max(
        index for index, name in enumerate(peer.order) if name == "$/progress"
    )


async def test_a_refusal_ends_the_progress_too(memory: Running, cwd: str) -> None:
    peer, session_id = await talk(memory, cwd)
    await refusal(compacting(peer, session_id, workDoneToken=1, expectedLeafId="q1"))
    assert [note["value"]["kind"] for note in peer.told("$/progress")] == ["begin", "end"]


async def test_progress_with_a_token_that_nobody_gave_out_is_dropped(memory: Running, cwd: str) -> None:
    peer = await memory.attach()
    peer.connection.notify("$/progress", {"token": "summary-1", "value": {"kind": "report"}})
    peer.connection.notify("$/progress", {"token": []})
    assert (await peer.call("server/status"))["clientCount"] == 1


async def test_canceling_gives_up_and_the_writer_is_told(daemon: Running, cwd: str) -> None:
    peer, session_id = await talk(daemon, cwd)
    writer = await holding(daemon, session_id)
    asked = compacting(peer, session_id, workDoneToken="tok")
    await writer.asked()
    peer.connection.notify("$/cancelRequest", {"id": peer.last_id})
    assert (await refusal(asked)).kind == "canceled"
    await writer.canceled()
    writer.answer("Too late.")
    assert await compactions(peer, session_id) == []
    assert [step["kind"] for step in steps(peer, "tok")][-1] == "end"


async def test_when_one_of_two_gives_up_the_other_still_gets_the_compaction(
    memory: Running, cwd: str
) -> None:
    peer, session_id = await talk(memory, cwd)
    other, writer = await memory.attach(), await holding(memory, session_id)
    first = compacting(peer, session_id)
    await writer.asked()
    second = compacting(other, session_id)
    await other.call("server/status")
    peer.connection.notify("$/cancelRequest", {"id": peer.last_id})
    assert (await refusal(first)).kind == "canceled"
    writer.answer("For the other.")
    assert (await second)["summary"] == "For the other."
    assert len(writer.peer.asked) == 1


async def test_when_all_who_wait_have_left_the_writer_is_told(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path, "socket") as daemon:
        peer, session_id = await talk(daemon, cwd)
        writer = await holding(daemon, session_id)
        asked = compacting(peer, session_id)
        await writer.asked()
        peer.connection.abort()
        await asyncio.gather(asked, return_exceptions=True)
        await writer.canceled()
        assert await compactions(writer.peer, session_id) == []
        again = compacting(writer.peer, session_id)
        await writer.asked(2)
        writer.answer(nth=2)
        await again


# --- the command -------------------------------------------------------------------------------------------


async def test_a_command_reads_the_prompt_and_writes_the_summary(tmp_path: Path, cwd: str) -> None:
    command = program(
        tmp_path, "print(f' {prompt.count(chr(63) * 400)} of {len(sys.argv)} in {os.getcwd()} ')"
    )
    async with running(tmp_path / "home", config=commanded([*command, "$HOME;"])) as daemon:
        peer, session_id = await talk(daemon, cwd)
        done = await compacting(peer, session_id)
        left = await questions_before(peer, session_id, done["firstKeptEntryId"])
        assert done["summary"] == f"{len(left)} of 2 in {Path.home().resolve()}"
        assert done["summarizedBy"] == "command"


async def questions_before(peer: Peer, session_id: str, entry_id: str) -> list[str]:
    found = await peer.call("session/path", sessionId=session_id)
    ids = [entry["id"] for entry in entries_of(found)]
    return [name for name in ids[: ids.index(entry_id)] if name.startswith("q")]


async def test_a_command_may_answer_as_a_client_would(tmp_path: Path, cwd: str) -> None:
    answer = "{'summary': 'S', 'shortSummary': 's', 'details': {'n': 1}, 'preserveData': 2}"
    async with running(
        tmp_path / "home", config=commanded(program(tmp_path, f"print(json.dumps({answer}))"))
    ) as item:
        peer, session_id = await talk(item, cwd)
        await compacting(peer, session_id)
        [entry] = await compactions(peer, session_id)
        assert (entry["summary"], entry["shortSummary"], entry["details"], entry["preserveData"]) == (
            "S", "s", {"n": 1}, 2,
        )  # fmt: skip


async def test_a_summary_that_only_looks_like_json_is_text(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path / "home", config=commanded(program(tmp_path, "print('{x}')"))) as daemon:
        peer, session_id = await talk(daemon, cwd)
        assert (await compacting(peer, session_id))["summary"] == "{x}"


@pytest.mark.parametrize(
    "body",
    [
        "",
        "print('half'); sys.exit(3)",
        "os.kill(os.getpid(), 9)",
        "sys.stdout.buffer.write(bytes([0xff]))",
        "print('x' * 1_000_001)",
        "while True: print('x' * 65536)",
        "time.sleep(60)",
        'print(\'{"summary": ""}\')',
    ],
)
async def test_a_command_that_writes_no_summary_changes_nothing(tmp_path: Path, cwd: str, body: str) -> None:
    timeout = 0.5 if "sleep" in body else 10.0
    async with running(tmp_path / "home", config=commanded(program(tmp_path, body), timeout)) as daemon:
        peer, session_id = await talk(daemon, cwd)
        assert (await refusal(compacting(peer, session_id))).kind == "summarizerFailed"
        assert await compactions(peer, session_id) == []


async def test_a_command_that_is_not_there_is_a_failure(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path / "home", config=commanded([str(tmp_path / "nothing")])) as daemon:
        peer, session_id = await talk(daemon, cwd)
        assert (await refusal(compacting(peer, session_id))).kind == "summarizerFailed"


async def test_the_error_output_of_a_command_is_in_the_message(tmp_path: Path, cwd: str) -> None:
    body = "print('x' * 9000 + 'no\\nkey', file=sys.stderr); sys.exit(1)"
    async with running(tmp_path / "home", config=commanded(program(tmp_path, body))) as daemon:
        peer, session_id = await talk(daemon, cwd)
        refused = await refusal(compacting(peer, session_id))
        assert "no key" in refused.message
        assert len(refused.message) < commands.TAIL_BYTES + 500


async def test_a_command_that_does_not_read_its_prompt_may_still_answer(tmp_path: Path, cwd: str) -> None:
    path = tmp_path / "careless"
    path.write_text("#!/bin/sh\nexec <&-\necho So far.\n", encoding="utf-8")
    path.chmod(0o700)
    async with running(tmp_path / "home", config=commanded([str(path)])) as daemon:
        peer, session_id = await talk(daemon, cwd, turns=1000)
        assert (await compacting(peer, session_id))["summary"] == "So far."


FAMILY = """
child = os.fork()
if not child:
    time.sleep(60)
with open(sys.argv[1], "w", encoding="utf-8") as file:
    file.write(f"{os.getpid()} {child}\\n")
time.sleep(60)
"""
"""A program with a child: both are gone when the daemon has given up."""


async def family(pids: Path) -> list[int]:
    await until(lambda: pids.exists() and pids.read_text(encoding="utf-8").endswith("\n"))
    return [int(word) for word in pids.read_text(encoding="utf-8").split()]


async def gone(pids: list[int]) -> None:
    await until(lambda: not any(runs(pid) for pid in pids))


async def test_a_command_and_its_children_end_when_nobody_waits_any_more(tmp_path: Path, cwd: str) -> None:
    pids = tmp_path / "pids"
    command = [*program(tmp_path, FAMILY), str(pids)]
    async with running(tmp_path / "home", config=commanded(command, 60.0)) as daemon:
        peer, session_id = await talk(daemon, cwd)
        asked = compacting(peer, session_id)
        started = await family(pids)
        peer.connection.notify("$/cancelRequest", {"id": peer.last_id})
        assert (await refusal(asked)).kind == "canceled"
        await gone(started)


async def test_a_command_ends_with_the_daemon(tmp_path: Path, cwd: str) -> None:
    pids, home = tmp_path / "pids", tmp_path / "home"
    config = Path(find_locations({"SESSIOND_HOME": str(home)}).config_file)
    config.parent.mkdir(parents=True, mode=0o700)
    config.write_text(as_toml(commanded([*program(tmp_path, FAMILY), str(pids)], 60.0)), encoding="utf-8")
    async with running(home, "process") as daemon:
        peer, session_id = await talk(daemon, cwd)
        asked = compacting(peer, session_id)
        started = await family(pids)
        pid = (await peer.call("server/status"))["pid"]
        os.kill(pid, signal.SIGTERM)
        refused = (await asyncio.gather(asked, return_exceptions=True))[0]
        assert getattr(refused, "kind", "draining") == "draining"
        await gone(started)
    async with running(home, "process") as daemon:
        assert await compactions(await daemon.attach(), session_id) == []
