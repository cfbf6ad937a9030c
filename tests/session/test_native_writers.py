"""The sessions that are written for agents to resume: what each agent demands of a line, and what is in it."""

import json  # noqa: TID251 - a document as OpenCode writes it
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from sessiond.agents import table
from sessiond.agents.opencode.ids import opencode_id
from sessiond.agents.writing import NATIVE_WRITERS
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.formats.build import NO_USAGE
from sessiond.session.formats.legal import NO_RESULT
from sessiond.session.tree.origin import OriginStep
from support.dialects import as_log, imported
from support.formats import PNG
from support.logs import assistant, compaction, entry, label, leaf, message, tool_call, tool_result, user
from support.native_sessions import exported, native

AGENTS = tuple(NATIVE_WRITERS)
OTHERS = tuple(it for it in AGENTS if table.AGENTS[it].dialect != "pi")
"""The agents whose formats are not the home format."""
PICTURE = {"type": "image", "data": PNG, "mimeType": "image/png"}
THOUGHT = {"type": "thinking", "thinking": "I should read the file.", "thinkingSignature": "signed"}


def a_task(**fields: Any) -> ExportedSession:
    """A question with a picture, an answer with two calls, one of which fails, and the last words."""
    calls = [
        THOUGHT, {"type": "text", "text": "I look."}, tool_call("read", {"path": "notes.txt"}, call="toolu_1"),
        tool_call("bash", {"command": "false"}, call="call|2"),
    ]  # fmt: skip
    return exported(
        user([{"type": "text", "text": "Look at this"}, PICTURE]),
        assistant(calls, model="claude-opus-4-8", provider="anthropic", stopReason="toolUse"),
        tool_result("three notes", call="toolu_1", isError=False),
        tool_result("Exit code 1", call="call|2", name="bash", isError=True),
        assistant("There are three notes.", model="claude-opus-4-8", provider="anthropic", stopReason="stop"),
        **fields,
    )  # fmt: skip


@pytest.mark.parametrize("agent", AGENTS)
def test_writing_a_session_twice_gives_the_same_bytes(agent: str) -> None:
    assert native(agent, a_task()) == native(agent, a_task())


@pytest.mark.parametrize("agent", AGENTS)
def test_another_leaf_gives_a_session_with_another_id(agent: str) -> None:
    ids = {NATIVE_WRITERS[agent].target(a_task(leaf=it)).session_id for it in ("e1", "e2", "e5")}
    ids |= {NATIVE_WRITERS[agent].target(a_task(), generation=it).session_id for it in (0, 1)}
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
    text = str([it.get("messages", it) for it in lines])  # without the title of OpenCode
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


def test_claude_code_has_a_chain_of_lines_with_uuids() -> None:
    lines, _ = native("claude-code", a_task(title="Notes"))
    *chain, title = lines
    assert title == {"type": "custom-title", "customTitle": "Notes", "sessionId": chain[0]["sessionId"]}
    assert [it["type"] for it in chain] == ["user", "assistant", "user", "user", "assistant"]
    assert chain[0]["parentUuid"] is None
    assert all(below["parentUuid"] == above["uuid"] for above, below in pairwise(chain))
    assert all(it["timestamp"] and it["cwd"] == "/home/dev/clock" for it in chain)
    answers = [it["message"] for it in chain if it["type"] == "assistant"]
    assert [it["model"] for it in answers] == ["claude-opus-4-8"] * 2
    assert [block["type"] for block in answers[0]["content"]] == ["text", "tool_use", "tool_use"]
    [result] = chain[3]["message"]["content"]
    assert (result["type"], result["content"], result["is_error"]) == ("tool_result", "Exit code 1", True)
    assert result["tool_use_id"] == answers[0]["content"][2]["id"]


def test_claude_code_always_has_the_model_of_an_answer() -> None:
    lines, _ = native("claude-code", exported(user("hi"), assistant("yo")))
    assert lines[1]["message"]["model"] == "unknown"


def test_claude_code_has_a_compaction_as_its_own() -> None:
    lines, _ = native("claude-code", exported(user("old"), compaction("they met", None), user("new")))
    boundary, summary, _ = lines
    assert (boundary["subtype"], boundary["parentUuid"]) == ("compact_boundary", None)
    assert summary["isCompactSummary"] is True
    assert summary["parentUuid"] == boundary["uuid"]


def test_claude_code_has_an_image_of_a_failed_tool_beside_the_result() -> None:
    failed = message(
        "toolResult",
        [{"type": "text", "text": "no"}, PICTURE],
        toolCallId="call-1",
        toolName="read",
        isError=True,
    )
    lines, _ = native("claude-code", exported(user("go"), assistant([tool_call("read", {})]), failed))
    assert [block["type"] for block in lines[2]["message"]["content"]] == ["tool_result", "image"]


def test_codex_has_the_time_on_every_line_and_an_event_that_lists_the_session() -> None:
    lines, losses = native("codex", a_task(title="Notes"))
    assert all(it["timestamp"].endswith("Z") for it in lines)
    meta = lines[0]["payload"]
    assert {"id", "timestamp", "cwd", "originator", "cli_version"} <= meta.keys()
    events = [it["payload"]["type"] for it in lines if it["type"] == "event_msg"]
    assert events == ["user_message", "agent_message", "agent_message"]
    items = [it["payload"] for it in lines if it["type"] == "response_item"]
    assert [it["type"] for it in items] == [
        "message", "message", "function_call", "function_call", "function_call_output", "function_call_output",
        "message",
    ]  # fmt: skip
    assert items[0]["content"][1]["image_url"].startswith("data:image/png;base64,")
    assert items[2]["arguments"] == '{"path":"notes.txt"}'
    assert [it["call_id"] for it in items[2:4]] == [it["call_id"] for it in items[4:6]]
    assert losses.lost["title"] == 1


def test_gemini_has_results_with_their_calls_and_nowhere_else() -> None:
    lines, _ = native("gemini", a_task(title="Notes"))
    header, question, answer, last = lines
    assert {"sessionId", "projectHash", "startTime", "lastUpdated", "kind"} <= header.keys()
    assert header["summary"] == "Notes"
    assert [it["type"] for it in (question, answer, last)] == ["user", "gemini", "gemini"]
    assert question["content"][1]["inlineData"]["mimeType"] == "image/png"
    assert [it["status"] for it in answer["toolCalls"]] == ["success", "error"]
    [found] = answer["toolCalls"][0]["result"]
    assert found["functionResponse"]["response"] == {"output": "three notes"}


def test_qwen_has_the_folder_on_every_line() -> None:
    lines, _ = native("qwen", a_task(title="Notes"))
    assert {it["cwd"] for it in lines} == {"/home/dev/clock"}
    assert all(below["parentUuid"] == above["uuid"] for above, below in pairwise(lines))
    kinds = [it["type"] for it in lines]
    assert kinds == ["user", "assistant", "tool_result", "tool_result", "assistant", "system"]
    assert lines[-1]["systemPayload"]["customTitle"] == "Notes"
    assert lines[3]["toolCallResult"]["status"] == "error"


def test_opencode_has_ids_that_sort_by_time() -> None:
    [document], _ = native("opencode", a_task(title="Notes"))
    assert {"id", "slug", "title", "version", "time"} <= document["info"].keys()
    ids = [it["info"]["id"] for it in document["messages"]]
    parts = [part["id"] for it in document["messages"] for part in it["parts"]]
    assert ids == sorted(ids)
    assert parts == sorted(parts)
    question, answer, last = document["messages"]
    assert answer["info"]["parentID"] == last["info"]["parentID"] == question["info"]["id"]
    states = [part["state"] for part in answer["parts"] if part["type"] == "tool"]
    assert [it["status"] for it in states] == ["completed", "error"]
    assert states[0]["output"] == "three notes"
    assert states[1]["error"] == "Exit code 1"


def test_an_id_of_opencode_is_that_of_its_time() -> None:
    made = opencode_id("ses", 1_795_168_800_000, 0, "seed", descending=True)
    assert made.startswith("ses_e0799f2fffff")
    assert opencode_id("msg", 1_795_168_801_000, 2, "seed").startswith("msg_1f86610e8002")


def test_opencode_gets_the_model_that_the_user_has() -> None:
    [document], _ = native("opencode", a_task())
    assert document["messages"][0]["info"]["model"] == {
        "providerID": "anthropic", "modelID": "claude-opus-4-8",
    }  # fmt: skip


@pytest.mark.parametrize("agent", ["pi", "oh-my-pi"])
def test_pi_and_oh_my_pi_have_the_entries_of_the_path(agent: str) -> None:
    whole = exported(
        user("one"),
        assistant("two"),
        leaf("e1"),
        user("three", parent="e3"),
        compaction("s", "e4"),
        title="T",
    )
    lines, _ = native(agent, whole)
    assert [it["type"] for it in lines] == [
        "session", "message", "message", "compaction", "session_info" if agent == "pi" else "title_change",
    ]  # fmt: skip
    assert [it["parentId"] for it in lines[1:]] == [None, *(it["id"] for it in lines[1:-1])]
    assert lines[0]["version"] == 3


@pytest.mark.parametrize("agent", ["pi", "oh-my-pi"])
def test_an_answer_in_pi_always_has_a_usage(agent: str) -> None:
    lines, _ = native(agent, exported(user("one"), assistant("two")))
    assert lines[2]["message"]["usage"]["totalTokens"] == 0


def test_a_reset_is_applied_for_pi_which_does_not_know_it() -> None:
    whole = exported(user("before"), entry("reset_boundary"), user("after"))
    lines, losses = native("pi", whole)
    assert "before" not in str(lines)
    assert losses.lost["entry before a reset"] == 1
    assert "before" in str(native("oh-my-pi", whole)[0])


def test_edits_are_applied_for_oh_my_pi_which_does_not_know_them() -> None:
    whole = exported(
        user("secret"), assistant("wrong"), entry("context_edit", targetId="e1", replacement=None),
        entry("context_edit", targetId="e2", replacement={"content": "right"}),
    )  # fmt: skip
    lines, _ = native("oh-my-pi", whole)
    assert [it["type"] for it in lines] == ["session", "message"]
    assert lines[1]["message"]["content"] == [{"type": "text", "text": "right"}]


SKILLS = "<skills_instructions>\n- pdf: reads PDF files\n</skills_instructions>"
OPENED = "<ide_opened_file>The user opened /x.py in the IDE.</ide_opened_file>"
COMMAND = (
    "<command-message>review</command-message>\n<command-name>/review</command-name>\n"
    "<command-args>the parser</command-args>"
)


def with_added_text(**fields: Any) -> ExportedSession:
    """A session in which the agent has put text before, between and around the words of the user."""
    return exported(
        entry("custom_message", customType="codex.developer", content=SKILLS, display=False),
        user([{"type": "text", "text": OPENED}, {"type": "text", "text": "rename the parser"}]),
        entry("custom_message", customType="claude-code.skill_listing", content="pdf: reads", display=False),
        assistant([THOUGHT, {"type": "text", "text": "renamed"}], stopReason="stop"),
        user("<local-command-stdout>Total cost: $1</local-command-stdout>"),
        user("<bash-input>ls -l</bash-input>"), user("<bash-stdout>two files</bash-stdout>"),
        user(COMMAND), entry("custom_message", customType="claude-code.meta", content="You review", display=False),
        assistant("reviewed", stopReason="stop"), user("<command-name>/clear</command-name>"),
        entry("custom_message", customType="my-extension", content="from an extension", display=False),
        agent="claude-code", **fields,
    )  # fmt: skip


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
    assert [it for it in order if it in written] == order
    assert sorted(order, key=written.index) == order
    assert THOUGHT["thinking"] not in written
    kinds = {
        "skills_instructions": 1, "ide_opened_file": 1, "skill_listing": 1, "local-command-stdout": 1, "meta": 1,
        "command to the agent": 1,
    }  # fmt: skip
    prefix = "text that the agent added: "
    assert {
        it.removeprefix(prefix): count for it, count in losses.lost.items() if it.startswith(prefix)
    } == kinds
    assert losses.lost["thinking"] == 1


@pytest.mark.parametrize("agent", ["pi", "oh-my-pi"])
def test_a_session_of_pi_stays_complete_in_pi(agent: str) -> None:
    whole = replace(with_added_text(), agent="pi")
    lines, losses = native(agent, whole)
    assert [it.get("id") for it in lines[1:]] == [it["id"] for it in whole.entries]
    assert all(it in str(lines) for it in ("reads PDF", "The user opened", "You review", THOUGHT["thinking"]))
    assert not losses.lost


LINEAGE = (OriginStep("claude-code", "first-session"), OriginStep("gemini", "second-session"))


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
    assert found.version == ("99.1.2" if agent in ("claude-code", "codex", "opencode", "qwen") else None)
    assert not read.report.preserved, "the mark is no unknown field"
    assert '"foreign":{"sessiond"' not in data.decode()
    longer = data + data.splitlines(keepends=True)[-1] if agent != "opencode" else None
    if longer is not None:
        assert imported(longer).untouched_copy_of is None
        assert (continued := as_log(imported(longer)).tree.origin) is not None
        assert continued.lineage == LINEAGE


@pytest.mark.parametrize("agent", AGENTS)
def test_an_export_has_no_lineage(agent: str) -> None:
    data = NATIVE_WRITERS[agent](with_added_text(), ConversionLosses())
    assert b'"lineage"' not in data
    assert imported(data).untouched_copy_of is None


def test_a_document_of_opencode_with_another_message_is_no_untouched_copy() -> None:
    data = NATIVE_WRITERS["opencode"](replace(with_added_text(), lineage=LINEAGE), ConversionLosses())
    document = json.loads(data)
    document["messages"].append(
        {"info": {"id": "msg_zzzz", "role": "user", "time": {"created": 1_900_000_000_000}}, "parts": []}
    )
    assert imported(json.dumps(document).encode()).untouched_copy_of is None


@pytest.mark.parametrize("agent", OTHERS)
def test_a_compaction_without_a_summary_hands_no_empty_one_over(agent: str) -> None:
    whole = exported(user("question"), compaction("", "e1"), assistant("answer"), user("and now?"))
    lines, _ = native(agent, whole)
    assert "summary" not in str(lines)
    assert str(lines).index("question") < str(lines).index("answer") < str(lines).index("and now?")


@pytest.mark.parametrize("agent", OTHERS)
def test_a_version_that_is_not_known_is_not_made_up_where_the_agent_can_do_without(agent: str) -> None:
    lines, _ = native(agent, a_task())
    assert ("version" in str(lines)) == (agent in ("codex", "opencode"))


def test_opencode_gets_the_first_words_of_the_user_as_a_title() -> None:
    lines, _ = native("opencode", with_added_text())
    assert lines[0]["info"]["title"] == "rename the parser"


def test_an_answer_whose_usage_is_unknown_loses_none() -> None:
    _, losses = native("codex", exported(user("Hi"), assistant("Hello", usage=NO_USAGE)))
    assert "usage of an answer" not in losses.lost
