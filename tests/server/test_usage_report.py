"""usage/report: each request to a model counts once, with the figures of its agent, and is priced by what is known."""

import asyncio
import json  # noqa: TID251 - files of other programs are written as they write them
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support import peer_statistics
from support.daemons import Peer, Running, assistant, refusal, user
from support.dialect_files import DATA, SESSION, claude, codex, item, meta
from support.dialects import jsonl

AGENTS = DATA.parent / "agents"
OPUS = "claude-opus-4-5-20251101"
"""A model whose prices have not changed: 5 dollars for a million tokens of input, 25 for output."""


@pytest.fixture
async def peer(memory: Running) -> Peer:
    return await memory.attach()


def spent(input: int = 0, output: int = 0, cost: float = 0, **more: Any) -> dict[str, Any]:
    return {
        "input": input,
        "output": output,
        "cacheRead": 0,
        "cacheWrite": 0,
        "cost": {"total": cost},
        **more,
    }


def said(
    text: str,
    usage: dict[str, Any],
    *,
    model: str = OPUS,
    provider: str = "anthropic",
    response: str = "",
    **more: Any,
) -> dict[str, Any]:
    draft = assistant(text, **more)
    draft["message"] |= {"usage": usage, "model": model, "provider": provider}
    if response:
        draft["message"]["responseId"] = response
    return draft


async def session_with(peer: Peer, *entries: dict[str, Any], cwd: str = "/w") -> str:
    session_id: str = (await peer.call("session/create", cwd=cwd))["session"]["sessionId"]
    await peer.append(session_id, user("go on"), *entries)
    return session_id


async def imported(peer: Peer, *files: Path) -> None:
    for file in files:
        result = await peer.call("session/import", path=str(file))
        assert [session["status"] for session in result["sessions"]] == ["created"], result


async def report(peer: Peer, **params: Any) -> dict[str, Any]:
    result: dict[str, Any] = await peer.call("usage/report", waitMs=60_000, **params)
    assert result["uncounted"]["sessionCount"] == 0
    return result


async def tokens(peer: Peer, **params: Any) -> dict[str, int]:
    found: dict[str, int] = (await report(peer, **params))["total"]["tokens"]
    return found


# --- what agents recorded --------------------------------------------------------------------------------


async def test_codex_counts_what_its_thread_counted(peer: Peer) -> None:
    file = AGENTS / "codex-0.169.0.jsonl"
    records = [json.loads(line) for line in file.read_bytes().splitlines()]
    own = [record["payload"] for record in records if record["type"] == "token_usage_record"][-1][
        "thread_token_usage"
    ]
    await imported(peer, file)
    found = await tokens(peer)
    assert found["input"] + found["cacheRead"] + found["cacheWrite"] == own["input_tokens"]
    assert (found["cacheRead"], found["output"]) == (own["cached_input_tokens"], own["output_tokens"])
    assert (found["reasoning"], found["total"]) == (own["reasoning_output_tokens"], own["total_tokens"])


async def test_claude_code_counts_each_message_once_by_its_last_usage(peer: Peer) -> None:
    file = AGENTS / "claude-code-2.1.197.jsonl"
    usages: dict[str, dict[str, Any]] = {}
    for line in map(json.loads, file.read_bytes().splitlines()):
        if line.get("type") == "assistant":
            usages[line["message"]["id"]] = line["message"]["usage"]
    assert len(usages) > 2
    await imported(peer, file)
    found = await tokens(peer)
    names = {
        "input": "input_tokens", "output": "output_tokens", "cacheRead": "cache_read_input_tokens",
        "cacheWrite": "cache_creation_input_tokens",
    }  # fmt: skip
    assert {name: found[name] for name in names} == {
        name: sum(usage[own] for usage in usages.values()) for name, own in names.items()
    }


async def test_opencode_counts_the_tokens_and_the_cost_of_its_messages(peer: Peer) -> None:
    infos = [message["info"] for message in json.loads((DATA / "opencode.json").read_bytes())["messages"]]
    own = [info for info in infos if info["role"] == "assistant"]
    await imported(peer, DATA / "opencode.json")
    total = (await report(peer))["total"]
    assert (
        total["cost"]["total"]
        == total["cost"]["recorded"]
        == pytest.approx(sum(element["cost"] for element in own))
    )
    assert total["tokens"]["input"] == sum(element["tokens"]["input"] for element in own)
    assert total["tokens"]["reasoning"] == sum(element["tokens"]["reasoning"] for element in own)
    assert total["tokens"]["output"] == sum(
        element["tokens"]["output"] + element["tokens"]["reasoning"] for element in own
    )


@pytest.mark.parametrize("agent", ["gemini", "qwen"])
async def test_gemini_and_qwen_count_the_last_tokens_of_each_message(peer: Peer, agent: str) -> None:
    name, total = {"gemini": ("tokens", "total"), "qwen": ("usageMetadata", "totalTokenCount")}[agent]
    lines = [json.loads(line) for line in (DATA / f"{agent}.jsonl").read_bytes().splitlines() if line]
    own = {line.get("id", line.get("uuid")): line[name][total] for line in lines if name in line}
    await imported(peer, DATA / f"{agent}.jsonl")
    assert (await tokens(peer))["total"] == sum(own.values()) > 0


@pytest.mark.parametrize("program", ["pi", "omp"])
async def test_pi_and_oh_my_pi_count_what_they_count_themselves(peer: Peer, program: str) -> None:
    file = {"pi": "pi-1.6.0.jsonl", "omp": "omp-18.3.4.jsonl"}[program]
    own = peer_statistics.recorded()[file][program]
    await imported(peer, peer_statistics.FOLDER / file)
    total = (await report(peer))["total"]
    assert total["cost"]["recorded"] == pytest.approx(own["cost"])
    counted = own.get("tokens", own)
    assert (total["tokens"]["input"], total["tokens"]["output"]) == (counted["input"], counted["output"])


async def test_pi_gives_the_cost_of_each_model_that_it_gives_itself(peer: Peer) -> None:
    own = peer_statistics.recorded()["pi-1.6.0.jsonl"]["pi"]["models"]
    await imported(peer, peer_statistics.FOLDER / "pi-1.6.0.jsonl")
    rows = (await report(peer, by="model"))["rows"]
    assert {row["key"]: row["tokens"]["total"] for row in rows} == {
        element["key"]: element["tokens"] for element in own
    }
    for row, its in zip(rows, sorted(own, key=lambda element: -element["cost"]), strict=True):
        assert row["cost"]["recorded"] == pytest.approx(its["cost"])


# --- once ------------------------------------------------------------------------------------------------


async def test_the_lines_of_one_answer_count_once_with_the_last_tokens(peer: Peer, tmp_path: Path) -> None:
    def line(uuid: str, parent: str, content: dict[str, Any], output: int) -> dict[str, Any]:
        made = claude("assistant", uuid, parent, [content], message_id="msg_01ABCDEFGHJKLMNPQRS")
        made["message"]["usage"] = {"input_tokens": 10, "output_tokens": output}
        return made

    text = {"type": "text", "text": "I look."}
    calls = [{"type": "tool_use", "id": f"toolu_{n}", "name": "Read", "input": {}} for n in (1, 2)]
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}
    file = tmp_path / "split.jsonl"
    file.write_bytes(
        jsonl(
            claude("user", "u1", None, "go"),
            line("a1", "u1", text, 1),
            line("a2", "a1", calls[0], 1),
            claude("user", "u2", "a2", [result]),
            line("a3", "u2", calls[1], 40),
        )
    )
    await imported(peer, file)
    found = await report(peer)
    assert found["total"]["requestCount"] == 1
    assert (found["total"]["tokens"]["input"], found["total"]["tokens"]["output"]) == (10, 40)


async def test_a_fork_costs_nothing_and_its_own_answers_do(peer: Peer) -> None:
    source = await session_with(peer, said("one", spent(100, 10)), said("two", spent(200, 20)))
    before = await tokens(peer)
    forked = (await peer.call("session/fork", sessionId=source))["session"]["sessionId"]
    assert await tokens(peer) == before
    await peer.append(forked, user("more"), said("three", spent(1, 1)))
    assert (await tokens(peer))["total"] == before["total"] + 2


async def test_a_session_that_was_resumed_into_a_copy_counts_its_copied_lines_once(
    peer: Peer, tmp_path: Path
) -> None:
    def lines(session: str, *more: dict[str, Any]) -> bytes:
        answer = claude("assistant", "a1", "u1", "Yes.", message_id="msg_01ABCDEFGHJKLMNPQRS")
        answer["message"]["usage"] = {"input_tokens": 10, "output_tokens": 4}
        return jsonl(
            *({**each, "sessionId": session} for each in (claude("user", "u1", None, "go"), answer, *more))
        )

    (tmp_path / "first.jsonl").write_bytes(lines(SESSION))
    added = claude("assistant", "a2", "a1", "More.", message_id="msg_02ABCDEFGHJKLMNPQRS")
    added["message"]["usage"] = {"input_tokens": 7, "output_tokens": 1}
    copy = SESSION.replace("1", "2")
    (tmp_path / "copy.jsonl").write_bytes(lines(copy, added))
    await imported(peer, tmp_path / "first.jsonl", tmp_path / "copy.jsonl")
    assert (await tokens(peer))["total"] == 14 + 8


async def test_a_forked_thread_of_codex_counts_the_requests_of_its_source_once(
    peer: Peer, tmp_path: Path
) -> None:
    def count(total: int, last: int, second: int) -> dict[str, Any]:
        info = {
            "total_token_usage": {"input_tokens": total, "total_tokens": total},
            "last_token_usage": {"input_tokens": last, "total_tokens": last},
        }
        return codex("event_msg", {"type": "token_count", "info": info}, second)

    asked = item("message", role="user", content=[{"type": "input_text", "text": "go"}])
    (tmp_path / "source.jsonl").write_bytes(jsonl(meta(), asked, count(10, 10, 1), count(30, 20, 2)))
    # A fork writes the lines of its source again, at the time of the fork.
    fork = meta(id=SESSION.replace("1", "2"), forked_from_id=SESSION)
    lines = (fork, meta(), asked, count(10, 10, 40), count(30, 20, 41), count(35, 5, 42))
    (tmp_path / "fork.jsonl").write_bytes(jsonl(*lines))
    await imported(peer, tmp_path / "source.jsonl", tmp_path / "fork.jsonl")
    assert (await tokens(peer))["total"] == 35


async def test_ids_that_local_servers_give_again_and_again_are_no_copies(peer: Peer) -> None:
    await session_with(peer, said("one", spent(10), response="chatcmpl-1"))
    await session_with(peer, said("two", spent(10), response="chatcmpl-1"))
    assert (await report(peer))["total"]["requestCount"] == 2


async def test_abandoned_branches_and_compacted_entries_count(peer: Peer) -> None:
    session = await session_with(peer, said("one", spent(10), id="first"), said("two", spent(20)))
    await peer.call("session/branch", sessionId=session, entryId="first")
    await peer.append(session, said("another two", spent(30)))
    assert (await tokens(peer))["total"] == 60


async def test_a_deleted_copy_is_counted_in_the_session_that_is_left(peer: Peer) -> None:
    source = await session_with(peer, said("one", spent(100)))
    await peer.call("session/fork", sessionId=source)
    assert (await tokens(peer))["total"] == 100
    await peer.call("session/delete", sessionId=source)
    assert (await tokens(peer))["total"] == 100


# --- cost ------------------------------------------------------------------------------------------------


async def test_a_recorded_cost_goes_before_the_list_price_and_both_shares_are_given(peer: Peer) -> None:
    await session_with(peer, said("one", spent(1_000_000, cost=0.5)), said("two", spent(1_000_000, 100_000)))
    cost = (await report(peer))["total"]["cost"]
    assert cost["recorded"] == pytest.approx(0.5)
    assert cost["estimated"] == pytest.approx(5 + 2.5)
    assert cost["total"] == pytest.approx(8)


async def test_cached_tokens_have_their_own_prices(peer: Peer) -> None:
    cached = spent() | {"cacheRead": 1_000_000, "cacheWrite": 2_000_000, "cttl": {"ephemeral1h": 1_000_000}}
    await session_with(peer, said("one", cached))
    # 0.50 to read, 6.25 to write for five minutes, 10 to write for an hour.
    assert (await report(peer))["total"]["cost"]["estimated"] == pytest.approx(0.5 + 6.25 + 10)


async def test_long_prompts_have_the_price_of_long_prompts(peer: Peer) -> None:
    model = {
        "model": "gemini-2.5-pro",
        "provider": "google",
    }  # 1.25 dollars for a million, 2.50 above 200,000
    await session_with(peer, *(said(f"{n}", spent(100_000), **model) for n in range(10)))
    assert (await report(peer))["total"]["cost"]["estimated"] == pytest.approx(1.25)
    await session_with(peer, said("long", spent(400_000), **model))
    assert (await report(peer))["total"]["cost"]["estimated"] == pytest.approx(1.25 + 1.0)


async def test_first_reports_that_are_asked_for_at_once_have_the_prices_of_later_ones(peer: Peer) -> None:
    long = said("long", spent(400_000), model="gemini-2.5-pro", provider="google")
    await session_with(peer, long, said("one", spent(1_000_000)))
    together = await asyncio.gather(*(report(peer, by=by) for by in ("day", "model", "agent", "project")))
    assert [each["total"]["cost"]["estimated"] for each in together] == [pytest.approx(1.0 + 5)] * 4


async def test_a_model_without_a_price_is_named_and_its_tokens_count(peer: Peer) -> None:
    await session_with(
        peer, said("one", spent(30), model="tuned-7b", provider="home"), said("two", spent(1_000_000))
    )
    found = await report(peer, by="model")
    assert found["unpricedModels"] == [{"model": "home/tuned-7b", "requestCount": 1, "tokens": 30}]
    assert found["total"]["tokens"]["total"] == 1_000_030
    assert found["total"]["cost"]["unpricedTokens"] == 30
    assert [(row["key"], row["cost"]["total"]) for row in found["rows"]] == [
        (f"anthropic/{OPUS}", pytest.approx(5)), ("home/tuned-7b", 0),
    ]  # fmt: skip


async def test_a_model_on_the_users_machine_has_no_price(peer: Peer) -> None:
    await session_with(peer, said("one", spent(30), model="gpt-4o", provider="ollama"))
    assert [model["model"] for model in (await report(peer))["unpricedModels"]] == ["ollama/gpt-4o"]


async def test_a_provider_that_is_not_known_sells_at_the_price_of_the_maker(peer: Peer) -> None:
    await session_with(peer, said("one", spent(1_000_000), provider="my-proxy"))
    assert (await report(peer))["total"]["cost"]["estimated"] == pytest.approx(5)


async def test_the_source_of_the_prices_is_named_if_something_was_estimated(peer: Peer) -> None:
    await session_with(peer, said("one", spent(10, cost=1)))
    assert (await report(peer))["prices"] is None
    await session_with(peer, said("two", spent(10)))
    prices = (await report(peer))["prices"]
    assert prices["name"] == "genai-prices"
    assert prices["newestChange"] > "2026-01-01"


# --- rows and filters ------------------------------------------------------------------------------------


def at(time: str, **more: Any) -> dict[str, Any]:
    return said(time, spent(1, cost=1), timestamp=time, **more)


async def test_days_are_those_of_the_time_zone_with_its_summer_time(peer: Peer) -> None:
    times = ("2026-03-28T22:59:59Z", "2026-03-28T23:00:00Z", "2026-03-29T21:59:59Z", "2026-03-29T22:00:00Z")
    await session_with(peer, *map(at, times))
    found = await report(peer, timeZone="Europe/Berlin")
    assert found["timeZone"] == "Europe/Berlin"
    assert [(row["key"], row["requestCount"]) for row in found["rows"]] == [
        ("2026-03-28", 1), ("2026-03-29", 2), ("2026-03-30", 1),
    ]  # fmt: skip
    in_utc = await report(peer, timeZone="UTC")
    assert [(row["key"], row["requestCount"]) for row in in_utc["rows"]] == [
        ("2026-03-28", 2),
        ("2026-03-29", 2),
    ]


async def test_since_and_until_are_times_and_both_belong_to_the_report(peer: Peer) -> None:
    await session_with(
        peer, *map(at, ("2026-03-01T10:00:00Z", "2026-03-02T10:00:00Z", "2026-03-03T10:00:00Z"))
    )
    whole = {"since": "2026-03-02T10:00:00Z", "until": "2026-03-02T10:00:00Z"}
    assert (await report(peer, **whole))["total"]["requestCount"] == 1
    assert (await report(peer, since="2026-03-02T12:00:00+02:00"))["total"]["requestCount"] == 2
    assert (await report(peer, until="2026-03-02"))["total"]["requestCount"] == 1


@pytest.mark.parametrize("params", [{"since": "yesterday"}, {"until": ""}, {"timeZone": "Mars/Olympus"}])
async def test_a_time_or_a_zone_that_cannot_be_read_is_an_error(peer: Peer, params: dict[str, str]) -> None:
    assert (await refusal(report(peer, **params))).kind == "invalidParams"


async def test_rows_are_agents_or_projects_and_filters_select_them(peer: Peer, tmp_path: Path) -> None:
    project = tmp_path / "atlas"
    (project / "part").mkdir(parents=True)
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(project)], check=True)
    await session_with(peer, said("one", spent(5, cost=2)), cwd=str(project / "part"))
    await imported(peer, AGENTS / "codex-0.169.0.jsonl")
    by_agent = (await report(peer, by="agent"))["rows"]
    assert [(element["key"], element["tokens"]["total"]) for element in by_agent] == [
        ("sessiond", 5),
        ("codex", 550),
    ]
    by_project = {row["key"]: row["tokens"]["total"] for row in (await report(peer, by="project"))["rows"]}
    assert by_project[str(project)] == 5
    assert (await tokens(peer, agent="codex"))["total"] == 550
    assert (await tokens(peer, project=str(project)))["total"] == 5
    assert (await tokens(peer, cwd=str(project)))["total"] == 0


async def test_appended_requests_are_in_the_next_report(peer: Peer) -> None:
    session = await session_with(peer, said("one", spent(5)))
    assert (await tokens(peer))["total"] == 5
    await peer.append(session, said("two", spent(6)))
    assert (await tokens(peer))["total"] == 11


async def test_hostile_numbers_count_as_nothing(peer: Peer) -> None:
    hostile: list[Any] = [
        {"input": -5, "output": "9"},
        {"input": 1e300},
        "many",
        {"input": True},
        {"cost": -1},
    ]
    await session_with(peer, *(said(str(element), element) for element in hostile))
    found = await report(peer)
    assert (found["rows"], found["total"]["requestCount"]) == ([], 0)
