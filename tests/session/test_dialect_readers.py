"""Files of operator, Go, NOVA and pi are read, and the samples (decision 0023)."""

from typing import Any

import pytest

from sessiond.agents import known
from sessiond.session.state.updates import state_at
from sessiond.session.tree import steps
from support.dialect_files import DATA, FILES, GO, HOME, NOVA, OPERATOR, PI4, bytes_of
from support.dialects import as_log, entries, entry, imported, jsonl, kept, path, samples, tree


def read(*lines: Any, **how: Any) -> Any:
    return imported(jsonl(*lines), **how)


@pytest.mark.parametrize("dialect", list(known.DIALECTS))
def test_a_file_is_told_by_its_first_lines(dialect: str) -> None:
    assert known.detect(jsonl(*FILES[dialect])) == dialect


def test_a_file_that_is_no_session_has_no_dialect() -> None:
    for data in (
        b"",
        b"\n\n",
        b"text",
        b"{}",
        b"[1]\n2\n",
        jsonl({"type": "mystery"}),
        jsonl({"name": "package"}),
    ):
        assert known.detect(data) is None


def test_sessions_of_hermes_are_taken_for_nobody_elses() -> None:
    said = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo", "tool_calls": []}]
    state = {
        "session_id": "20260301_081500_ab12cd", "model": "hermes-4", "base_url": "https://example.org/v1",
        "platform": "cli", "session_start": "2026-03-01T08:15:00", "last_updated": "2026-03-01T08:20:00",
        "system_prompt": "be kind", "tools": [], "message_count": 2, "messages": said,
    }  # fmt: skip
    assert known.detect(jsonl(state)) is None
    assert known.detect(jsonl(state | {"tokens_used": 1, "turn_count": 1})) is None
    meta = {
        "role": "session_meta",
        "tools": [],
        "model": "hermes-4",
        "platform": "telegram",
        "timestamp": "2026",
    }
    assert known.detect(jsonl(meta, *said)) is None


def test_a_new_state_of_nova_is_told_by_its_empty_lists() -> None:
    state = {
        "session_id": "s",
        "key_decisions": [],
        "latest_artifacts": {},
        "tokens_used": 0,
        "turn_count": 0,
    }
    assert known.detect(jsonl(state)) == "nova"


def test_operator_becomes_a_tree_and_its_leaf_lines_move_the_leaf() -> None:
    session = read(*OPERATOR)
    assert tree(session) == [
        ("a1", None, "user"), ("a2", "a1", "assistant"), ("a3-1", "a2", "toolResult"), ("a3", "a3-1", "toolResult"),
        ("a4", "a3", "compaction"), ("a5", "a4", "custom"), ("a6", "a1", "branch_summary"), ("a7", "a6", "custom"),
        ("a9", "a2", "user"),
    ]  # fmt: skip
    assert session.leaf == "a3"
    assert entry(session, "a1")["timestamp"] == "2023-11-14T22:13:21.500Z"
    assert entry(session, "a4")["firstKeptEntryId"] == "a2"
    assert entry(session, "a6")["fromId"] == "a5"
    assert entry(session, "a7")["data"] == {"kept_as": "it is"}
    assert entry(session, "a2")["message"]["stopReason"] == "toolUse"
    assert [line["message"]["isError"] for line in entries(session) if line["id"].startswith("a3")] == [
        False,
        True,
    ]


def test_go_is_read_nested_and_flat() -> None:
    session = read(*GO)
    assert tree(session)[:3] == [
        ("m-1", None, "user"),
        ("m-2", "m-1", "assistant"),
        ("m-3", "m-2", "toolResult"),
    ]
    assert [entry(session, name)["thinkingLevel"] for name in ("t-1", "t-2")] == ["high", "low"]
    assert entry(session, "c-1")["model"] == "openai/gpt-4o"
    assert entry(session, "k-1")["firstKeptEntryId"] == "m-3"
    assert entry(session, "m-2")["message"]["provider"] == "acme"
    assert entry(session, "m-3")["message"]["toolName"] == "read"
    assert path(session) == ["m-1", "m-4", "m-5"]
    assert list(kept(session)) == [11]
    assert as_log(session).tree.labels["m-1"].text == "start"


def test_a_state_of_nova_is_reproduced() -> None:
    log = as_log(read(NOVA))
    point = steps.run(state_at(log.tree, log.tree.leaf, log.read))
    state = point.state
    assert (state.plan, point.model, state.agent_name, state.tags) == ("P", "one", "nova", ("t",))
    assert [decision.decision for decision in state.decisions] == ["d1", "d2"]
    assert state.artifacts == NOVA["latest_artifacts"]
    assert (state.tokens_used, state.turn_count, state.task_count, state.decision_count) == (300, 4, 4, 1)
    assert (state.pruned, state.last_pruned_at) == (True, NOVA["last_pruned_at"])
    assert state.updated_at == NOVA["last_updated"]


def test_a_state_that_updates_cannot_say_is_kept_beside_them() -> None:
    session = read(
        {**NOVA, "metrics": {"decision_count": 40, "total_tokens": 1, "errors": 3}, "mystery": "x"}
    )
    assert len(kept(session)) == 1
    assert session.report.problem_count == 4


def test_a_state_that_changed_is_a_path_of_its_own() -> None:
    one, two = read(NOVA), read({**NOVA, "turn_count": 5})
    shared = {line.id for line in one.entries} & {line.id for line in two.entries}
    assert shared == {one.entries[0].id}


def test_format_4_of_pi_is_read_with_its_lanes_and_facts() -> None:
    session = read(*PI4)
    assert tree(session) == [
        ("e1", None, "user"), ("e2", "e1", "assistant"), ("e3", "e2", "compaction"), ("e3-2", "e3", "user"),
        ("e4", "e1", "user"),
    ]  # fmt: skip
    assert session.leaf == "e2"
    log = as_log(session).tree
    assert (log.title, log.labels["e1"].text) == ("Greetings", "start")


def test_the_home_format_stays_byte_for_byte() -> None:
    session = read(*HOME)
    lines = jsonl(*HOME).split(b"\n")
    assert [line.line for line in session.entries[1:5]] == lines[2:6]
    assert as_log(session).tree.title == "Greetings"
    assert session.leaf == "aaaa0004"


def test_a_title_slot_that_was_written_over_is_a_new_title() -> None:
    renamed = [{**HOME[0], "title": "Farewells"}, *HOME[1:]]
    one, two = ({line.id for line in read(*lines).entries} for lines in (HOME, renamed))
    assert len(two - one) == 1


def test_format_4_is_read_as_its_own_code_writes_it() -> None:
    session = imported(bytes_of("pi4-agent-core.jsonl"))
    assert tree(session) == [
        ("e1", None, "user"), ("e2", "e1", "assistant"), ("e3", "e1", "user"), ("e4", "e2", "custom"),
    ]  # fmt: skip
    log = as_log(session).tree
    assert (log.title, log.leaf_id) == ("A name by its own code", "e4")
    assert {name: label.text for name, label in log.labels.items()} == {"e1": "start"}
    assert session.parent_source == "44444444-2222-4333-8444-555555555555"
    assert set(kept(session)) == {12, 13}


def test_ids_that_cannot_be_ids_here_are_made_from_what_they_were() -> None:
    session = read(
        GO[0], {**GO[1], "id": "has spaces/and more"}, {**GO[2], "parent_id": "has spaces/and more"}
    )
    [(made, _, _), (_, above, _)] = tree(session)
    assert above == made
    assert made.startswith("x-")


SAMPLES = {
    "claude_daaain_dag_compact_after_rewind.jsonl": ["u1", "a1", "b2u", "b2a", "b2u2", "b2a2", "cb", "p1u", "p1a"],
    "claude_daaain_dag_compact_after_rewind_preserved.jsonl": [
        "u1", "a1", "b2u", "b2a", "b2u2", "b2a2", "cb", "p1u", "p1a",
    ],
    "claude_simonw_sample_session.jsonl": [f"msg-00{n}" for n in range(1, 8)],
    "claude_daaain_representative_messages.jsonl": [f"msg_{n:03}" for n in range(1, 12)],
    "ASSEMBLED_claude_fork_leaf_metadata.jsonl": ["n1", "n3", "n4"],
    "pi_v1_large-session_head.jsonl": [f"{n:08x}" for n in range(1, 10)],
}  # fmt: skip


if samples():  # cases more where these files lie; files of our own are read everywhere

    @pytest.mark.parametrize("name", SAMPLES)
    def test_a_sample_ends_where_it_ended(name: str) -> None:
        assert path(imported(samples()[name].read_bytes())) == SAMPLES[name]

    def test_the_preserved_messages_of_the_sample_are_in_its_context() -> None:
        data = samples()["claude_daaain_dag_compact_after_rewind_preserved.jsonl"].read_bytes()
        assert list(as_log(imported(data)).context().entry_ids) == ["cb", "b2a", "b2u2", "b2a2", "p1u", "p1a"]


@pytest.mark.parametrize("name", ["claude-code-2.1.197", "codex-0.169.0"])
def test_nothing_of_a_recorded_session_is_unknown(name: str) -> None:
    session = imported((DATA.parent / "agents" / f"{name}.jsonl").read_bytes())
    assert session.report.problems == []
    assert set(session.report.preserved) <= {
        "last-prompt", "mode", "turn_context", "world_state", "event thread_settings_applied", "event task_started",
        "event task_complete", "event CommandExecution", "event ContextCompaction",
    }  # fmt: skip
    assert [line["type"] for line in entries(session)].count("compaction") == 1
    assert path(session)[-1] == session.leaf
