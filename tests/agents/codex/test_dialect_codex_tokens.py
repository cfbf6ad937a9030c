"""Which requests the token counts of Codex report: each once, by the name that all of its copies have."""

from typing import Any

import pytest

from support.dialect_files import SESSION, codex, event, meta, said
from support.dialects import entries, imported, jsonl

OWN = "22222222-3333-4444-8555-666666666666"
GRANDPARENT = "33333333-3333-4444-8555-666666666666"


def tokens(input: int, output: int, **more: int) -> dict[str, int]:
    return {"input_tokens": input, "cached_input_tokens": 0, "output_tokens": output, **more,
            "total_tokens": input + output}  # fmt: skip


def count(total: dict[str, int], last: dict[str, int]) -> dict[str, Any]:
    return event("token_count", info={"total_token_usage": total, "last_token_usage": last})


def record(usage: dict[str, int], total: dict[str, int], response: str, **more: Any) -> dict[str, Any]:
    payload = {"thread_id": SESSION, "response_id": response, "usage": usage, "thread_token_usage": total}
    return codex("token_usage_record", payload | more)


def stamped(time: str, *lines: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the lines with the day and time `2026-01-01T{time}` and following milliseconds."""
    return [{**line, "timestamp": f"2026-01-01T{time}.{number:03}Z"} for number, line in enumerate(lines)]


def created(time: str, **header: Any) -> dict[str, Any]:
    return meta(timestamp=f"2026-01-01T{time}.500Z", **header)


def turn(started_at: int) -> dict[str, Any]:
    """Return the start of a turn, this many seconds after 2026 began."""
    return event("task_started", started_at=1_767_225_600 + started_at)


def requests(*lines: dict[str, Any]) -> dict[str, int]:
    """Return the total tokens of the requests that a rollout reports, by their names."""
    found = [entry for entry in entries(imported(jsonl(*lines))) if entry["type"] == "model_usage"]
    named = {entry["requestKey"]: entry["usage"]["totalTokens"] for entry in found}
    assert len(named) == len(found), "one request is in two entries"
    return named


FIRST, SECOND = tokens(1000, 100), tokens(2000, 200)
BOTH = tokens(3000, 300)
SOURCE = [said("user", "go"), count(FIRST, FIRST), said("user", "on"), count(BOTH, SECOND)]


@pytest.mark.parametrize("grown", [False, True], ids=["its total stays", "its total grows"])
def test_the_request_of_a_compaction_is_one_of_its_own(grown: bool) -> None:
    summary = tokens(900, 80)
    lines = [
        meta(), record(FIRST, FIRST, "resp_1"), count(FIRST, FIRST),
        record(summary, tokens(1900, 180) if grown else FIRST, "resp_2"),
        codex("compacted", {"message": "A summary.", "compaction_response_id": "resp_2"}), count(FIRST, FIRST),
        record(SECOND, tokens(3900, 380) if grown else BOTH, "resp_3"), count(BOTH, SECOND),
    ]  # fmt: skip
    assert requests(*lines) == {
        f"{SESSION}/resp_1": 1100, f"{SESSION}/resp_2": 980, f"{SESSION}/resp_3": 2200,
    }  # fmt: skip


def test_a_count_mirrors_a_record_that_leaves_out_other_zeros() -> None:
    told = {**FIRST, "cache_write_input_tokens": 0, "reasoning_output_tokens": 0}
    assert requests(meta(), record(told, told, "resp_1"), count(FIRST, FIRST)) == {f"{SESSION}/resp_1": 1100}


def test_requests_with_equal_tokens_are_told_apart_by_their_responses() -> None:
    lines = [meta(), *(record(FIRST, FIRST, f"resp_{number}") for number in range(3)), count(FIRST, FIRST)]
    assert len(requests(*lines)) == 3


def test_a_repeated_count_and_a_repeated_record_are_no_requests() -> None:
    lines = [record(FIRST, FIRST, "resp_1"), count(FIRST, FIRST), count(BOTH, SECOND)]
    assert list(requests(meta(), *lines, *lines).values()) == [1100, 2200]


def test_an_estimate_of_the_context_is_no_request() -> None:
    full = {"total_tokens": 258_400}
    assert list(requests(meta(), count(FIRST, FIRST), count(full, {"total_tokens": 257_300})).values()) == [
        1100
    ]


def test_a_fork_names_the_requests_of_its_source_as_the_source_does() -> None:
    source = requests(created("09:00:00"), *SOURCE)
    head = created("10:00:00", id=OWN, forked_from_id=SESSION)
    copies = stamped("10:00:00", head, *SOURCE)
    own = stamped("10:00:09", said("user", "more"), count(tokens(3500, 350), tokens(500, 50)))
    fork = requests(*copies, *own)
    assert {name: fork[name] for name in source} == source
    [(name, total)] = (fork.items() - source.items())  # fmt: skip
    assert name.startswith(OWN)
    assert total == 550


def test_a_sub_agent_names_the_requests_of_the_thread_that_it_serves() -> None:
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": SESSION, "depth": 1}}}
    lines = stamped("10:00:00", created("10:00:00", id=OWN, source=spawned), *SOURCE)
    assert requests(*lines) == requests(created("09:00:00"), *SOURCE)


def test_own_requests_of_two_forks_with_equal_tokens_are_two() -> None:
    def fork(thread: str, *repeated: dict[str, Any]) -> dict[str, int]:
        head = created("10:00:00", id=thread, forked_from_id=SESSION)
        copies = stamped("10:00:00", head, *repeated, turn(9 * 3600), *SOURCE)
        own = stamped("10:00:02", turn(10 * 3600 + 2), count(tokens(3500, 350), tokens(500, 50)))
        return requests(*copies, *own)

    source = requests(created("09:00:00"), *SOURCE)
    for repeated in ((), (created("09:00:00"),)):
        first, second = fork(OWN, *repeated), fork(GRANDPARENT, *repeated)
        assert first.keys() & second.keys() == source.keys()


def test_a_copy_that_takes_seconds_to_write_is_still_a_copy_where_turns_say_when_they_began() -> None:
    head = created("10:00:00", id=OWN, forked_from_id=SESSION)
    lines = [*stamped("10:00:00", head, turn(9 * 3600), *SOURCE[:2]), *stamped("10:00:05", *SOURCE[2:])]
    assert requests(*lines) == requests(created("09:00:00"), *SOURCE)


def test_a_fork_of_a_fork_names_the_thread_of_each_turn() -> None:
    grandparent = created("08:00:00", id=GRANDPARENT)
    first = [turn(8 * 3600), count(FIRST, FIRST)]
    parent = [created("09:00:00", forked_from_id=GRANDPARENT), grandparent, *first,
              turn(9 * 3600 + 5), count(BOTH, SECOND)]  # fmt: skip
    fork = [created("10:00:00", id=OWN, forked_from_id=SESSION), *parent]
    assert requests(*stamped("10:00:00", *fork)) == requests(*stamped("09:00:00", *parent))
    assert sorted(name[:36] for name in requests(*stamped("10:00:00", *fork))) == sorted(
        (GRANDPARENT, SESSION)
    )


def test_copies_that_keep_their_times_are_those_from_before_the_thread() -> None:
    head = created("10:00:00", id=OWN, forked_from_id=SESSION)
    own = count(tokens(3500, 350), tokens(500, 50))
    lines = [*stamped("10:00:00", head), *stamped("09:00:03", *SOURCE), *stamped("10:00:00", own)]
    assert sorted(name[:36] for name in requests(*lines)) == sorted((SESSION, SESSION, OWN))


def test_the_header_of_a_sub_agent_says_where_its_own_lines_begin() -> None:
    head = created("10:00:00", id=OWN, parent_thread_id=SESSION, subagent_history_start_ordinal=5)
    lines = stamped("10:00:00", head, *SOURCE, count(tokens(3500, 350), tokens(500, 50)))
    numbered = [{**line, "ordinal": number} for number, line in enumerate(lines)]
    assert sorted(name[:36] for name in requests(*numbered)) == sorted((SESSION, SESSION, OWN))


def test_a_fork_without_a_copy_names_only_requests_of_its_own() -> None:
    base = {"thread_id": SESSION, "end_ordinal_exclusive": 24}
    head = created("10:00:00", id=OWN, forked_from_id=SESSION, history_base=base)
    own = {**count(FIRST, FIRST), "ordinal": 25}
    assert [name[:36] for name in requests({**head, "ordinal": 24}, own)] == [OWN]
    assert [name[:36] for name in requests(head, turn(10 * 3600), count(FIRST, FIRST))] == [OWN]


def test_a_copied_record_keeps_the_thread_that_it_names() -> None:
    head = created("10:00:00", id=OWN, forked_from_id=SESSION)
    lines = stamped("10:00:00", head, record(FIRST, FIRST, "resp_1"), count(FIRST, FIRST))
    own = stamped("10:00:09", record(SECOND, BOTH, "resp_2", thread_id=OWN), count(BOTH, SECOND))
    assert requests(*lines, *own) == {f"{SESSION}/resp_1": 1100, f"{OWN}/resp_2": 2200}
