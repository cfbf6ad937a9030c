"""The readers of Cline's files: messages become a conversation, whichever program of Cline wrote them."""

import json  # noqa: TID251 - files of other programs are written as they write them
from collections import Counter
from copy import deepcopy
from itertools import pairwise
from typing import Any

import pytest

from sessiond.agents import known
from sessiond.session.dialects.import_builder import Imported
from sessiond.session.dialects.source import FIRST_LINES
from sessiond.session.tree import lines
from support import dialects
from support.dialect_files import CLINE, CLINE_TASK, bytes_of
from support.dialects import entry, imported, origin, tree

TASK_PATH = "/home/ada/.cline/data/tasks/1772352000000/api_conversation_history.json"
SESSION_PATH = "/home/ada/.cline/data/sessions/1772352000000_k3v9p/1772352000000_k3v9p.messages.json"


def read(value: Any, path: str, **beside: Any) -> Imported:
    return imported(json.dumps(value).encode(), name=path.rpartition("/")[2], sourcePath=path, **beside)


def session(**beside: Any) -> Imported:
    return read(CLINE, SESSION_PATH, **beside)


def task(**beside: Any) -> Imported:
    return read(CLINE_TASK, TASK_PATH, **beside)


def messages(log: Imported, role: str) -> list[dict[str, Any]]:
    """The messages of a role, in order."""
    found = [entry(log, name) for name, _, kind in tree(log) if kind == role]
    return [one["message"] for one in found]


def text_of(message: dict[str, Any]) -> str:
    return "".join(block.get("text", "") for block in message["content"])


def test_both_forms_are_recognized_and_arrays_of_other_messages_are_not() -> None:
    assert known.detect(bytes_of("cline.messages.json")) == "cline"
    assert known.detect(bytes_of("cline-task.json")) == "cline"
    assert known.detect(b'[{"role": "user", "content": "hello"}]') is None
    assert known.detect(b'[1, "ts"]') is None
    assert known.detect(b'{"messages": [], "updated_at": "x"}') is None


def test_a_session_has_the_id_of_its_file_and_what_the_file_beside_it_says() -> None:
    found = session(cwd="/work", title="Birds", version="3.2.1")
    assert (found.source_id, found.cwd, found.source_version) == ("1772352000000_k3v9p", "/work", "3.2.1")
    assert "Birds" in [line.get("name") for line in dialects.entries(found) if line["type"] == "session_info"]
    assert origin(found)["sourcePath"] == SESSION_PATH


def test_a_task_has_the_id_of_its_folder_and_the_project_that_was_open() -> None:
    found = task()
    assert (found.source_id, found.cwd) == ("1772352000000", "/work/my birds (old)")
    assert found.timestamp == "2026-03-01T08:00:00.000Z"


def test_the_session_of_a_subagent_is_below_that_of_its_agent() -> None:
    found = read(CLINE, "/x/sessions/main/explorer/sub-1.messages.json")
    assert (found.source_id, found.parent_source) == ("main/sub-1", "main")


def test_the_path_has_prompts_answers_and_results_in_order() -> None:
    assert [kind for _, _, kind in tree(session())] == [
        "user", "fileMention", "assistant", "toolResult", "toolResult", "assistant", "user", "custom_message",
        "assistant",
    ]  # fmt: skip
    assert dialects.path(session()) == [name for name, _, _ in tree(session())]


def test_a_prompt_has_its_text_without_tags_its_file_and_its_image() -> None:
    prompt = messages(session(), "user")[0]
    assert [block["type"] for block in prompt["content"]] == ["text", "image"]
    assert prompt["content"][0]["text"] == "Which birds are in notes.txt?"
    assert prompt["content"][1]["mimeType"] == "image/png"
    [mention] = messages(session(), "fileMention")
    assert mention["files"] == [{"path": "/work/notes.txt", "content": "three herons are noted"}]


def test_results_belong_to_their_calls_and_errors_say_so() -> None:
    results = messages(session(), "toolResult")
    assert [(result["toolCallId"], result["toolName"], result["isError"]) for result in results] == [
        ("toolu_1", "read_files", False), ("toolu_2", "run_commands", True),
    ]  # fmt: skip
    assert [text_of(result) for result in results] == ["three herons", "Command exited with code 1"]


def test_an_answer_has_its_model_cost_and_tokens_as_its_provider_counts_them() -> None:
    first, _, last = messages(session(), "assistant")
    assert (first["model"], first["provider"], first["stopReason"]) == ("model-a", "anthropic", "toolUse")
    assert [block["type"] for block in first["content"]] == ["thinking", "text", "toolCall", "toolCall"]
    usage = first["usage"]
    assert (usage["input"], usage["cacheRead"], usage["cacheWrite"], usage["output"]) == (120, 400, 20, 31)
    assert usage["cost"]["total"] == 0.0021
    assert (last["usage"]["input"], last["usage"]["cacheRead"]) == (100, 500)
    assert messages(task(), "assistant")[0]["usage"]["input"] == 100


def test_additions_of_cline_to_a_prompt_are_not_shown() -> None:
    for found in (session(), task()):
        assert [text_of(message) for message in messages(found, "user")][-1] == "And the storks?"
        for line in dialects.entries(found):
            if line["type"] == "custom_message":
                assert line["display"] is False
    shown = [text_of(message) for message in messages(task(), "user")]
    assert shown == ["Which birds are in notes.txt?", "And the storks?"]
    hidden = [line for line in dialects.entries(task()) if line["type"] == "custom_message"]
    assert any("three herons" in text_of(item) for item in hidden)


def test_a_file_that_is_written_anew_only_appends_even_with_other_ids_and_times() -> None:
    whole = [each_entry.id for each_entry in session().entries]
    for count in range(1, len(CLINE["messages"])):
        document = deepcopy(CLINE)
        document["messages"] = document["messages"][:count]
        for message in document["messages"]:
            message.update(id="other", ts=message["ts"] + 5)
        part = read(document, SESSION_PATH)
        assert {each_entry.id for each_entry in part.entries} <= set(whole)


def test_messages_after_a_checkpoint_that_was_restored_become_a_branch() -> None:
    document = deepcopy(CLINE)
    document["messages"][4:] = [{"role": "user", "content": "And the owls?"}]
    found = read(document, SESSION_PATH)
    common = [row[:2] for row in tree(session())[:6]]
    assert [row[:2] for row in tree(found)[:6]] == common
    assert tree(found)[6][0] not in {name for name, _, _ in tree(session())}
    assert tree(found)[6][1] == common[-1][0]


def test_a_system_prompt_and_items_that_are_no_messages_are_kept() -> None:
    document = deepcopy(CLINE)
    document["messages"].append({"role": "narrator", "content": 3})
    found = read(document, SESSION_PATH)
    assert found.report.preserved == {"header": 1, "other": 1}
    assert any("You are an assistant." in raw for raw in dialects.kept(found).values())
    assert found.report.problems == []


def ids(data: bytes, **how: Any) -> list[str]:
    """The ids of the entries of the conversation."""
    found = imported(data, name=SESSION_PATH.rpartition("/")[2], sourcePath=SESSION_PATH, **how)
    return [each_entry.id for each_entry in found.entries[1 : found.conversation_count + 1]]


def places_of_messages(data: bytes) -> list[int]:
    """Where each message begins in the bytes of `CLINE`, and where the last one ends."""
    starts = [data.index(f'{{"id": "msg_{number}"'.encode()) for number in range(1, 7)]
    return [*starts, data.index(b'], "systemPrompt"')]


def test_a_document_that_is_cut_anywhere_gives_its_complete_messages_and_is_named() -> None:
    data = json.dumps(CLINE).encode()
    places, whole = places_of_messages(data), ids(data)
    ends = [*(place - len(", ") for place in places[1:-1]), places[-1]]
    assert known.detect_whole(data[: places[0]]) is None
    for end in (*range(places[1], len(data), 7), len(data) - 1):
        found = read_bytes(data[:end])
        count = sum(place <= end for place in ends)
        expected = read({**CLINE, "messages": CLINE["messages"][:count]}, SESSION_PATH)
        assert [row[0] for row in tree(found)] == [row[0] for row in tree(expected)]
        assert (found.is_cut, found.report.problem_count) == (True, 1)
    assert whole == [row[0] for row in tree(session())]


def read_bytes(data: bytes, **how: Any) -> Imported:
    return imported(data, name=SESSION_PATH.rpartition("/")[2], sourcePath=SESSION_PATH, **how)


@pytest.mark.parametrize("put", [b"", b"\0" * 700], ids=["lost", "NULs"])
def test_bytes_that_are_lost_in_a_message_cost_no_other_message(put: bytes) -> None:
    data = json.dumps(CLINE).encode()
    said = [text_of_message(message) for message in CLINE["messages"]]
    for number, (start, end) in enumerate(pairwise(places_of_messages(data)[:-1])):
        for cut in range(start + 1, end - len(", ") - 1, 4):
            found = read_bytes(data[:cut] + put + data[end - len(", ") :])
            texts = json.dumps([entry(found, name) for name, _, _ in tree(found)])
            assert [text for text in said if texts.count(text) != 1 and text != said[number]] == []
            assert found.is_cut
            assert found.report.problem_count


def test_each_message_of_a_damaged_document_is_decoded_once_beyond_those_that_show_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = [
        {"role": "user", "content": [{"type": "text", "text": f"Heron {number}"}], "id": f"m{number}"}
        for number in range(200)
    ]
    raw = [json.dumps(item).encode() for item in said]
    decoded: Counter[bytes] = Counter()
    loads = lines.loads

    def counted(line: bytes) -> Any:
        decoded[bytes(line)] += 1
        return loads(line)

    monkeypatch.setattr(lines, "loads", counted)
    found = read_bytes(json.dumps({**CLINE, "messages": said}).encode().partition(b', "id": "m199"')[0])
    assert len(messages(found, "user")) == 199
    assert [decoded[line] for line in raw[FIRST_LINES:-1]] == [1] * (199 - FIRST_LINES)
    assert max(decoded[line] for line in raw[:FIRST_LINES]) == 2


def text_of_message(message: dict[str, Any]) -> str:
    """A text that only this message of `CLINE` has."""
    content = message["content"]
    blocks = content if isinstance(content, list) else [{"text": "And the storks?"}]
    text: str = next(part["text"] for part in [*blocks, {"text": "code 1"}] if "text" in part)
    return text.partition(">")[2].partition("<")[0] if text.startswith("<") else text


def test_a_document_that_is_being_written_waits_for_its_end() -> None:
    data = json.dumps(CLINE).encode()
    found = read_bytes(data[: places_of_messages(data)[3] + 9], growing=True)
    assert found.report.held_back_count == 1
    assert (found.report.problems, found.report.preserved) == ([], {})
    assert [row[0] for row in tree(found)] == ids(data)[: len(tree(found))]


def test_a_message_that_is_in_the_file_twice_is_read_once() -> None:
    document = deepcopy(CLINE)
    document["messages"] += document["messages"][1:4]
    found = read(document, SESSION_PATH)
    assert [row[:2] for row in tree(found)] == [row[:2] for row in tree(session())]
    assert found.report.converted["repeated"] == 3


def test_a_session_is_recognized_by_the_messages_that_are_known() -> None:
    for number in range(3):
        document = deepcopy(CLINE)
        document["messages"].insert(number, {"id": "x", "role": "narrator", "ts": 1})
        assert known.detect(json.dumps(document).encode()) == "cline"
        assert known.detect(json.dumps([{"role": "narrator"}, *CLINE_TASK]).encode()) == "cline"


def test_a_folder_that_was_copied_has_the_same_session() -> None:
    path = SESSION_PATH.replace("/1772352000000_k3v9p/", "/copy/")
    assert read(CLINE, path, sessionId="1772352000000_k3v9p").source_id == session().source_id
    assert read(CLINE, path, sessionId="copy").parent_source == "copy"
