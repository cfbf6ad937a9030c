"""The readers of Cline's files: messages become a conversation, whichever program of Cline wrote them."""

import json  # noqa: TID251 - files of other programs are written as they write them
from copy import deepcopy
from typing import Any

from sessiond.session.dialects import known
from sessiond.session.dialects.import_builder import Imported
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


def messages(it: Imported, role: str) -> list[dict[str, Any]]:
    """The messages of a role, in order."""
    found = [entry(it, name) for name, _, kind in tree(it) if kind == role]
    return [one["message"] for one in found]


def text_of(message: dict[str, Any]) -> str:
    return "".join(it.get("text", "") for it in message["content"])


def test_both_forms_are_recognized_and_arrays_of_other_messages_are_not() -> None:
    assert known.detect(bytes_of("cline.messages.json")) == "cline"
    assert known.detect(bytes_of("cline-task.json")) == "cline"
    assert known.detect(b'[{"role": "user", "content": "hello"}]') is None
    assert known.detect(b'[1, "ts"]') is None
    assert known.detect(b'{"messages": [], "updated_at": "x"}') is None


def test_a_session_has_the_id_of_its_file_and_what_the_file_beside_it_says() -> None:
    found = session(cwd="/work", title="Birds", version="3.2.1")
    assert (found.source_id, found.cwd, found.source_version) == ("1772352000000_k3v9p", "/work", "3.2.1")
    assert "Birds" in [it.get("name") for it in dialects.entries(found) if it["type"] == "session_info"]
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
    assert [it["type"] for it in prompt["content"]] == ["text", "image"]
    assert prompt["content"][0]["text"] == "Which birds are in notes.txt?"
    assert prompt["content"][1]["mimeType"] == "image/png"
    [mention] = messages(session(), "fileMention")
    assert mention["files"] == [{"path": "/work/notes.txt", "content": "three herons are noted"}]


def test_results_belong_to_their_calls_and_errors_say_so() -> None:
    results = messages(session(), "toolResult")
    assert [(it["toolCallId"], it["toolName"], it["isError"]) for it in results] == [
        ("toolu_1", "read_files", False), ("toolu_2", "run_commands", True),
    ]  # fmt: skip
    assert [text_of(it) for it in results] == ["three herons", "Command exited with code 1"]


def test_an_answer_has_its_model_cost_and_tokens_as_its_provider_counts_them() -> None:
    first, _, last = messages(session(), "assistant")
    assert (first["model"], first["provider"], first["stopReason"]) == ("model-a", "anthropic", "toolUse")
    assert [it["type"] for it in first["content"]] == ["thinking", "text", "toolCall", "toolCall"]
    usage = first["usage"]
    assert (usage["input"], usage["cacheRead"], usage["cacheWrite"], usage["output"]) == (120, 400, 20, 31)
    assert usage["cost"]["total"] == 0.0021
    assert (last["usage"]["input"], last["usage"]["cacheRead"]) == (100, 500)
    assert messages(task(), "assistant")[0]["usage"]["input"] == 100


def test_additions_of_cline_to_a_prompt_are_not_shown() -> None:
    for found in (session(), task()):
        assert [text_of(it) for it in messages(found, "user")][-1] == "And the storks?"
        for it in dialects.entries(found):
            if it["type"] == "custom_message":
                assert it["display"] is False
    shown = [text_of(it) for it in messages(task(), "user")]
    assert shown == ["Which birds are in notes.txt?", "And the storks?"]
    hidden = [it for it in dialects.entries(task()) if it["type"] == "custom_message"]
    assert any("three herons" in text_of(it) for it in hidden)


def test_a_file_that_is_written_anew_only_appends_even_with_other_ids_and_times() -> None:
    whole = [it.id for it in session().entries]
    for count in range(1, len(CLINE["messages"])):
        document = deepcopy(CLINE)
        document["messages"] = document["messages"][:count]
        for it in document["messages"]:
            it.update(id="other", ts=it["ts"] + 5)
        part = read(document, SESSION_PATH)
        assert {it.id for it in part.entries} <= set(whole)


def test_messages_after_a_checkpoint_that_was_restored_become_a_branch() -> None:
    document = deepcopy(CLINE)
    document["messages"][4:] = [{"role": "user", "content": "And the owls?"}]
    found = read(document, SESSION_PATH)
    common = [it[:2] for it in tree(session())[:6]]
    assert [it[:2] for it in tree(found)[:6]] == common
    assert tree(found)[6][0] not in {name for name, _, _ in tree(session())}
    assert tree(found)[6][1] == common[-1][0]


def test_a_system_prompt_and_items_that_are_no_messages_are_kept() -> None:
    document = deepcopy(CLINE)
    document["messages"].append({"role": "narrator", "content": 3})
    found = read(document, SESSION_PATH)
    assert found.report.preserved == {"header": 1, "other": 1}
    assert any("You are an assistant." in raw for raw in dialects.kept(found).values())
    assert found.report.problems == []
