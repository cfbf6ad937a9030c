"""The sessions that are written for agents to resume: what each agent demands of a line, and what is in it."""

from dataclasses import replace

import pytest

from sessiond.agents import table
from sessiond.agents.writing import NATIVE_WRITERS
from sessiond.session.dialects.exported import ConversionLosses
from sessiond.session.formats.build import NO_USAGE
from sessiond.session.formats.legal import NO_RESULT
from support.agent_cases import case_of
from support.dialects import as_log, imported
from support.logs import assistant, compaction, entry, label, leaf, tool_call, user
from support.native_sessions import LINEAGE, THOUGHT, a_task, exported, native, with_added_text

AGENTS = tuple(NATIVE_WRITERS)
OTHERS = tuple(agent for agent in AGENTS if table.AGENTS[agent].dialect != "pi")
"""The agents whose formats are not the home format."""


@pytest.mark.parametrize("agent", AGENTS)
def test_writing_a_session_twice_gives_the_same_bytes(agent: str) -> None:
    assert native(agent, a_task()) == native(agent, a_task())


@pytest.mark.parametrize("agent", AGENTS)
def test_another_leaf_gives_a_session_with_another_id(agent: str) -> None:
    ids = {NATIVE_WRITERS[agent].target(a_task(leaf=name)).session_id for name in ("e1", "e2", "e5")}
    ids |= {NATIVE_WRITERS[agent].target(a_task(), generation=name).session_id for name in (0, 1)}
    assert len(ids) == 4


@pytest.mark.parametrize("agent", OTHERS)
def test_thinking_is_left_out_and_counted(agent: str) -> None:
    lines, losses = native(agent, a_task())
    assert "I should read the file." not in str(lines)
    assert losses.lost["thinking"] == 1


@pytest.mark.parametrize("agent", OTHERS)
def test_the_id_of_a_call_has_only_characters_that_every_provider_accepts(agent: str) -> None:
    lines, losses = native(agent, a_task())
    assert "call|2" not in str(lines)
    assert "toolu_1" in str(lines)
    assert losses.lost["id or name of a tool call"] > 0


@pytest.mark.parametrize("agent", OTHERS)
def test_a_call_without_a_result_gets_one_that_says_so(agent: str) -> None:
    whole = exported(user("go"), assistant([tool_call("read", {})], stopReason="toolUse"), user("and?"))
    lines, losses = native(agent, whole)
    assert NO_RESULT in str(lines)
    assert losses.lost["tool call without a result"] == 1


@pytest.mark.parametrize("agent", OTHERS)
def test_a_compaction_is_applied(agent: str) -> None:
    whole = exported(
        user("forgotten"), assistant("gone"), user("kept"), compaction("they met", "e3"), assistant("later")
    )
    lines, losses = native(agent, whole)
    text = str([line.get("messages", line) for line in lines])  # without the title of OpenCode
    assert "forgotten" not in str(lines)
    assert text.index("they met") < text.index("kept") < text.index("later")
    assert losses.lost["entry before a compaction"] == 2


@pytest.mark.parametrize("agent", AGENTS)
def test_only_the_path_to_the_leaf_is_written(agent: str) -> None:
    whole = exported(user("question"), assistant("first"), assistant("second", parent="e1"), leaf("e3"))
    lines, losses = native(agent, whole)
    assert "second" in str(lines)
    assert "first" not in str(lines)
    assert losses.lost["entry of another branch"] == 1


@pytest.mark.parametrize("agent", OTHERS)
def test_content_that_a_format_cannot_hold_is_listed(agent: str) -> None:
    whole = exported(
        user("question"), entry("model_change", model="a/b"), assistant("answer", usage={"input": 1}),
        label("e1", "start"), tags=("work",),
    )  # fmt: skip
    _, losses = native(agent, whole)
    assert losses.lost["model_change"] == losses.lost["usage of an answer"] == 1
    assert losses.lost["label"] == losses.lost["tags"] == 1


@pytest.mark.parametrize("agent", OTHERS)
def test_the_words_of_an_aborted_answer_stay_and_an_error_is_left_out(agent: str) -> None:
    whole = exported(
        user("question"), assistant("so far", stopReason="aborted"), user("again"),
        assistant("overloaded", stopReason="error"), user("once more"),
    )  # fmt: skip
    lines, losses = native(agent, whole)
    assert "so far" in str(lines)
    assert "overloaded" not in str(lines)
    assert losses.lost["answer that ended in an error"] == 1


@pytest.mark.parametrize("agent", OTHERS)
def test_an_answer_in_first_place_gets_a_question_before_it(agent: str) -> None:
    lines, _ = native(agent, exported(assistant("hello")))
    assert str(lines).index("began earlier") < str(lines).index("hello")


@pytest.mark.parametrize("agent", AGENTS)
def test_another_agent_is_not_told_what_the_first_one_added(agent: str) -> None:
    lines, losses = native(agent, with_added_text())
    written = str(lines)
    for added in (
        "reads PDF",
        "pdf: reads",
        "The user opened",
        "Total cost",
        "You review",
        "/clear",
        "skill_listing",
    ):
        assert added not in written
    order = [
        "rename the parser",
        "renamed",
        "ls -l",
        "two files",
        "/review the parser",
        "reviewed",
        "from an extension",
    ]
    assert [text for text in order if text in written] == order
    assert sorted(order, key=written.index) == order
    assert THOUGHT["thinking"] not in written
    kinds = {
        "skills_instructions": 1, "ide_opened_file": 1, "skill_listing": 1, "local-command-stdout": 1, "meta": 1,
        "command to the agent": 1,
    }  # fmt: skip
    prefix = "text that the agent added: "
    assert {
        text.removeprefix(prefix): count for text, count in losses.lost.items() if text.startswith(prefix)
    } == kinds
    assert losses.lost["thinking"] == 1


@pytest.mark.parametrize("agent", AGENTS)
def test_a_copy_names_the_sessions_that_it_goes_on_from_and_the_version_of_its_agent(agent: str) -> None:
    whole = replace(with_added_text(), lineage=LINEAGE)
    losses = ConversionLosses()
    target = NATIVE_WRITERS[agent].target(whole, version="99.1.2")
    data = NATIVE_WRITERS[agent](whole, losses, target)
    read = imported(data)
    assert read.untouched_copy_of == "second-session"
    assert (found := as_log(read).tree.origin) is not None
    assert found.lineage == LINEAGE
    assert found.version == ("99.1.2" if getattr(case_of(agent), "WRITES_VERSION", False) else None)
    assert not read.report.preserved, "the mark is no unknown field"
    assert '"foreign":{"sessiond"' not in data.decode()
    longer = data + data.splitlines(keepends=True)[-1] if table.AGENTS[agent].import_command is None else None
    if longer is not None:
        assert imported(longer).untouched_copy_of is None
        assert (continued := as_log(imported(longer)).tree.origin) is not None
        assert continued.lineage == LINEAGE


@pytest.mark.parametrize("agent", AGENTS)
def test_an_export_has_no_lineage(agent: str) -> None:
    data = NATIVE_WRITERS[agent](with_added_text(), ConversionLosses())
    assert b'"lineage"' not in data
    assert imported(data).untouched_copy_of is None


@pytest.mark.parametrize("agent", OTHERS)
def test_a_compaction_without_a_summary_hands_no_empty_one_over(agent: str) -> None:
    whole = exported(user("question"), compaction("", "e1"), assistant("answer"), user("and now?"))
    lines, _ = native(agent, whole)
    assert "summary" not in str(lines)
    assert str(lines).index("question") < str(lines).index("answer") < str(lines).index("and now?")


@pytest.mark.parametrize("agent", OTHERS)
def test_a_version_that_is_not_known_is_not_made_up_where_the_agent_can_do_without(agent: str) -> None:
    lines, _ = native(agent, a_task())
    assert ("version" in str(lines)) == getattr(case_of(agent), "NEEDS_VERSION", False)


def test_an_answer_whose_usage_is_unknown_loses_none() -> None:
    _, losses = native("codex", exported(user("Hi"), assistant("Hello", usage=NO_USAGE)))
    assert "usage of an answer" not in losses.lost
