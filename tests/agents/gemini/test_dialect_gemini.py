"""Sessions of Gemini CLI are read (decision 0040)."""

import json  # noqa: TID251 - files of other programs are written as they write them
from typing import Any

import pytest

from support.dialect_files import GEMINI
from support.dialects import as_log, entries, entry, imported, jsonl, kept, origin, path, tree

HEADER = {
    "sessionId": "33333333-2222-4333-8444-555555555555", "projectHash": "0f", "startTime": "2026-01-01T00:00:00.000Z",
    "kind": "main",
}  # fmt: skip


def read(*lines: Any, **how: Any) -> Any:
    return imported(jsonl(*lines), **how)


def message(name: str, type: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"id": name, "timestamp": "2026-01-01T00:00:01.000Z", "type": type, "content": content, **fields}


def call(name: str, output: str | None = "done", **fields: Any) -> dict[str, Any]:
    response = {"functionResponse": {"id": name, "name": "read_file", "response": {"output": output}}}
    result = {} if output is None else {"result": [response]}
    return {
        "id": name,
        "name": "read_file",
        "args": {"file_path": name},
        "status": "success",
        **result,
        **fields,
    }


def history(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"$set": {"messages": list(messages)}}


def texts(session: Any) -> list[str]:
    """The texts of the messages on the path, in order."""
    found = {line["id"]: line for line in entries(session)}
    said = []
    for name in path(session):
        content = found[name].get("message", {}).get("content", [])
        said += [block["text"] for block in content if block["type"] == "text"]
    return said


def test_the_file_of_the_tests_becomes_a_tree_with_a_branch_for_the_rewind_and_a_compaction() -> None:
    session = read(*GEMINI)
    assert [name.split("-")[0] for name in path(session)] == [
        "c0", "c1", "c2", "c2", "c2", "c2", "c4", "c5", "c8", "c9", "c9", "c11", "c12", "c13", "s1", "c14", "c15",
    ]  # fmt: skip
    assert entry(session, "c7")["parentId"] == "c6"
    assert entry(session, "c6")["parentId"] == entry(session, "c8")["parentId"]
    [label] = [line for line in entries(session) if line["type"] == "label"]
    assert (label["targetId"], label["label"]) == ("c7", "rolled-back")
    assert entry(session, "s1")["firstKeptEntryId"] == "c12"
    assert list(kept(session)) == [25]


def test_the_title_is_the_summary_and_the_folder_comes_from_beside_the_file() -> None:
    session = read(
        {**HEADER, "summary": "First"}, message("a", "user", "x"), {"$set": {"summary": "Second"}}, cwd="/p"
    )
    names = [line["name"] for line in entries(session) if line["type"] == "session_info"]
    assert (names, session.cwd) == (["First", "Second"], "/p")


def test_tokens_and_the_model_are_in_the_message() -> None:
    said = entry(read(*GEMINI), "c2")["message"]
    assert (said["model"], said["provider"], said["api"]) == ("gemini-test", "google", "google-generative-ai")
    counted = said["usage"]
    assert (counted["input"], counted["output"], counted["cacheRead"]) == (90, 25, 10)
    assert counted["totalTokens"] == 125


def test_tokens_that_come_with_a_later_line_of_a_message_are_counted_once() -> None:
    spent = {"input": 10, "output": 2, "total": 12}
    session = read(
        HEADER,
        message("a", "gemini", "Hello"),
        message("a", "gemini", "Hello", tokens=spent),
        message("a", "gemini", "Hello", tokens=spent, toolCalls=[call("one")]),
    )
    counted = [line for line in entries(session) if "usage" in line or "usage" in line.get("message", {})]
    assert [sent["type"] for sent in counted] == ["model_usage"]


def test_a_message_that_is_written_again_adds_its_calls_and_their_results() -> None:
    first = message("a", "gemini", "I look.")
    one, two = call("one", None), call("two")
    session = read(
        HEADER, first, {**first, "toolCalls": [one]}, {**first, "toolCalls": [call("one"), two]},
        message("b", "gemini", "Seen."),
    )  # fmt: skip
    assert [role for _, _, role in tree(session)] == [
        "assistant", "assistant", "assistant", "toolResult", "toolResult", "assistant",
    ]  # fmt: skip
    assert len(path(session)) == 6


def test_another_text_of_the_last_message_is_a_version_beside_the_first_one() -> None:
    session = read(
        HEADER, message("q", "user", "?"), message("a", "gemini", "one"), message("a", "gemini", "two")
    )
    assert tree(session)[1:] == [("a", "q", "assistant"), ("a-v2", "q", "assistant")]
    assert session.leaf == "a-v2"


def test_another_text_of_an_earlier_message_is_kept_and_does_not_move_the_leaf() -> None:
    session = read(
        HEADER, message("q", "user", "?"), message("a", "gemini", "one"), message("q", "user", "!")
    )
    assert ("q-v2", None, "user") in tree(session)
    assert session.leaf == "a"


def test_a_history_that_is_repeated_at_a_resume_adds_nothing() -> None:
    asked, said = message("q", "user", "?"), message("a", "gemini", "I look.", toolCalls=[call("one")])
    answer = message("r", "user", [call("one")["result"][0]])
    parts = [{"text": "I look."}, {"functionCall": {"id": "one", "name": "read_file", "args": {}}}]
    before = [HEADER, asked, said, answer, message("b", "gemini", "Seen.")]
    again = history(
        {**asked, "content": [{"text": "?"}]}, {**said, "content": parts},
        {**answer, "id": "a_response"}, answer, message("b", "gemini", [{"text": "Seen."}]),
    )  # fmt: skip
    assert read(*before, again).entries == read(*before).entries
    grown = read(*before, again, message("c", "user", "And now?"))
    assert entry(grown, "c")["parentId"] == "b"


def test_a_resume_that_empties_the_history_and_adds_it_again_adds_nothing_to_the_conversation() -> None:
    context = message("c", "user", "<session_context>folders</session_context>")
    said = [message("a", "user", "First"), message("b", "gemini", "Second")]
    again = [{**sent, "id": f"{sent['id']}2"} for sent in said]
    lines = [
        HEADER, history(context), *said, HEADER, history(context), history(context, *again),
        message("d", "user", "Third"),
    ]  # fmt: skip
    session = read(*lines)
    spoken = [line for line in entries(session) if line["type"] == "message"]
    assert [sent["id"] for sent in spoken] == ["a", "b", "d"]
    assert texts(session)[-3:] == ["First", "Second", "Third"]
    labels = [(line["targetId"], line.get("label")) for line in entries(session) if line["type"] == "label"]
    assert labels == [("b", "rolled-back"), ("b", None)]
    assert not list(kept(session))


@pytest.mark.parametrize(
    "first", [[], [history(message("c", "user", "<session_context>Monday</session_context>"))]]
)
def test_a_context_of_another_day_is_no_compaction_and_doubles_nothing(first: list[dict[str, Any]]) -> None:
    said = [message("a", "user", "First"), message("b", "gemini", "Second")]
    again = [{**sent, "id": f"{sent['id']}2"} for sent in said]
    lines: list[Any] = [HEADER, *first, *said]
    for day, prompt in (("Tuesday", "Third"), ("Wednesday", "Fourth"), ("Wednesday", "Fifth")):
        context = message("c", "user", f"<session_context>{day}</session_context>")
        asked = message(prompt, "user", prompt)
        lines += [HEADER, *([history(context)] if first else []), history(context, *again), asked]
        again += [asked]
        session = read(*lines)
        assert [text for text in texts(session) if not text.startswith("<")] == [
            "First",
            "Second",
            *[sent["content"] for sent in again[2:]],
        ]
    assert not any(line["type"] == "compaction" for line in entries(session))
    added = [line["content"][0]["text"] for line in entries(session) if line["type"] == "custom_message"]
    assert [day for text in added for day in ("Monday", "Tuesday", "Wednesday") if day in text] == [
        *(["Monday"] if first else []), "Tuesday", "Wednesday",
    ]  # fmt: skip


CONTEXT = "<session_context>folders</session_context>"


def copied_at_a_resume() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A session with a call, and the copies of its messages with other ids and a shortened result."""
    said = [
        message("a", "user", "First"), message("b", "gemini", "", toolCalls=[call("one", "a long result")]),
        message("c", "gemini", "Second"),
    ]  # fmt: skip
    function = {"functionCall": {"id": "one", "name": "read_file", "args": {"file_path": "one"}}}
    copies = [
        message("a2", "user", [{"text": CONTEXT}, {"text": "First"}]), message("b2", "gemini", [function]),
        message("r2", "user", call("one", "shortened")["result"]), message("c2", "gemini", [{"text": "Second"}]),
    ]  # fmt: skip
    return said, copies


def test_a_history_that_is_copied_with_other_ids_to_shorten_its_results_adds_nothing() -> None:
    said, copies = copied_at_a_resume()
    context = history(message("x", "user", CONTEXT))
    session = read(HEADER, context, *said, *copies, history(*copies), message("d", "user", "Third"))
    assert [role for _, _, role in tree(session) if role != "model_usage"] == [
        "custom_message", "user", "assistant", "toolResult", "assistant", "user",
    ]  # fmt: skip
    assert texts(session)[-4:] == ["First", "a long result", "Second", "Third"]
    assert entry(session, "d")["parentId"] == "c"


def test_a_copied_history_that_comes_back_without_its_prompt_keeps_the_prompt_on_the_path() -> None:
    said, copies = copied_at_a_resume()
    context = message("x", "user", CONTEXT)
    third = message("d", "user", "Third")
    session = read(
        HEADER, history(context), *said, *copies, history(*copies), third, HEADER, history(context),
        history(context, *copies[1:], third), message("e", "user", "Fourth"),
    )  # fmt: skip
    assert texts(session) == ["First", "a long result", "Second", "Third", "Fourth"]
    assert len([line for line in entries(session) if line["type"] == "message"]) == 6


def test_a_prompt_that_is_said_again_is_no_copy() -> None:
    said, _ = copied_at_a_resume()
    session = read(HEADER, history(message("x", "user", CONTEXT)), *said, message("d", "user", "First"))
    assert texts(session)[-2:] == ["Second", "First"]


def test_a_result_in_a_repeated_history_belongs_to_its_own_call() -> None:
    both = [call("one", "1")["result"][0], call("two", "2")["result"][0]]
    calls = [{**call("one"), "result": both}, {**call("two"), "result": both}]
    session = read(HEADER, history(message("a", "gemini", "I look.", toolCalls=calls)))
    results = [
        line["message"] for line in entries(session) if line.get("message", {}).get("role") == "toolResult"
    ]
    assert [(result["toolCallId"], result["content"][0]["text"]) for result in results] == [
        ("one", "1"),
        ("two", "2"),
    ]


def test_a_history_that_begins_anew_is_a_compaction_with_its_summary() -> None:
    session = read(
        HEADER, message("a", "user", "Old question"), message("b", "gemini", "Old answer"),
        history(message("s", "user", "They met."), message("t", "gemini", "Got it.")), message("c", "user", "Later"),
    )  # fmt: skip
    assert [(name, kind) for name, _, kind in tree(session)][2:] == [
        ("s", "compaction"), ("t", "assistant"), ("c", "user"),
    ]  # fmt: skip
    assert (entry(session, "s")["summary"], entry(session, "s")["firstKeptEntryId"]) == ("They met.", None)


def test_a_resume_after_a_compaction_adds_no_copy_of_the_messages_that_it_kept() -> None:
    def again(*names: str) -> list[dict[str, Any]]:
        known = {"s": ("user", "They met."), "t": ("gemini", "Got it."), "l": ("gemini", "Last")}
        known |= {"c": ("user", "Kept question"), "d": ("gemini", "Kept answer")}
        return [message(f"{name}2", *known[name]) for name in names]

    context = history(message("x", "user", CONTEXT))
    begun = [
        HEADER, context, message("a", "user", "Old question"), message("b", "gemini", "Old answer"),
        message("c", "user", "Kept question"), message("d", "gemini", "Kept answer"),
        history(message("x", "user", CONTEXT), *again("s", "t", "c", "d")), message("l", "gemini", "Last"),
    ]  # fmt: skip
    resumed = [HEADER, context, history(message("x", "user", CONTEXT), *again("s", "t", "c", "d", "l"))]
    session = read(*begun, *resumed, message("e", "user", "Now"), *resumed[:2], history(
        message("x", "user", CONTEXT), *again("s", "t", "c", "d", "l"), message("e", "user", "Now")
    ), message("f", "gemini", "Yes"))  # fmt: skip
    assert [line["id"] for line in entries(session) if line["type"] == "message"] == [
        "a",
        "b",
        "c",
        "d",
        "l",
        "e",
        "f",
    ]
    assert list(as_log(session).context().entry_ids) == ["s2", "c", "d", "l", "e", "f"]


def test_a_history_that_was_cut_or_changed_leaves_a_branch() -> None:
    start = [
        HEADER,
        message("a", "user", "one"),
        message("b", "gemini", "two"),
        message("c", "user", "three"),
    ]
    cut = read(*start, history(message("a", "user", "one"), message("b", "gemini", "two")))
    assert cut.leaf == "b"
    changed = read(*start, history(message("a", "user", "one"), message("d", "gemini", "four")))
    assert path(changed) == ["a", "d"]
    assert "c" in {line.id for line in changed.entries}


def test_a_rewind_to_an_unknown_message_begins_at_the_root_and_is_a_problem() -> None:
    session = read(HEADER, message("a", "user", "one"), {"$rewindTo": "x"}, message("b", "user", "two"))
    assert path(session) == ["b"]
    assert session.report.problem_count == 1


def test_a_subagent_names_the_session_of_its_folder() -> None:
    there = "/home/me/.gemini/tmp/p/chats/parent-session/child.jsonl"
    session = read({**HEADER, "kind": "subagent"}, message("a", "user", "x"), sourcePath=there)
    assert (session.parent_source, origin(session)["kind"]) == ("parent-session", "subagent")


def test_a_file_of_an_earlier_version_is_one_object_on_one_line_or_on_many() -> None:
    document = {
        **HEADER,
        "messages": [message("a", "user", "one"), message("b", "gemini", "two", toolCalls=[call("c")])],
    }
    for data in (json.dumps(document), json.dumps(document, indent=2)):
        session = imported(data.encode())
        assert [role for _, _, role in tree(session)] == ["user", "assistant", "assistant", "toolResult"]


def test_a_call_of_a_document_that_is_written_again_is_not_lost() -> None:
    one, two = ({**HEADER, "messages": [message("a", "gemini", "x", toolCalls=calls), message("b", "user", "y")]}
                for calls in ([call("c")], [call("c"), call("d")]))  # fmt: skip
    before, after = (
        {each_entry.id: each_entry.line for each_entry in imported(json.dumps(item).encode()).entries}
        for item in (one, two)
    )
    assert before.keys() < after.keys()
    assert b'"d"' in b"".join(line for name, line in after.items() if name not in before)


def test_the_last_message_of_a_document_that_is_being_written_waits() -> None:
    document = {**HEADER, "messages": [message("a", "user", "one"), message("b", "gemini", "two")]}
    session = imported(json.dumps(document).encode(), growing=True)
    assert [name for name, _, _ in tree(session)] == ["a"]
    assert session.report.held_back_count == 1


def test_every_text_is_in_an_entry_and_in_order_on_the_path() -> None:
    assert texts(read(*GEMINI)) == [
        "Read the plan", "I read it.", "the plan", "Exit code 1", "The plan has two steps.", "Do step one", "written",
        "Step one is done.", "Do step two", "Step two is done.", "And step three?", "There is none.",
    ]  # fmt: skip


@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_that_is_cut_gives_its_complete_messages(indent: int | None) -> None:
    document = {**HEADER, "messages": [message("a", "user", "one"), message("b", "gemini", "two")]}
    data = json.dumps(document, indent=indent).encode()
    session = imported(data[: data.index(b"two")])
    assert [row[2] for row in tree(session)] == ["user"]
    assert (session.source_id, session.report.problem_count) == (HEADER["sessionId"], 1)
