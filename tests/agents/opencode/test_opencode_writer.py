"""The documents that are written for OpenCode."""

import json  # noqa: TID251 - a document as OpenCode writes it
from dataclasses import replace

from sessiond.agents.opencode.ids import opencode_id
from sessiond.agents.writing import NATIVE_WRITERS
from sessiond.session.dialects.exported import ConversionLosses
from support.dialects import imported
from support.native_sessions import LINEAGE, a_task, native, with_added_text


def test_opencode_has_ids_that_sort_by_time() -> None:
    [document], _ = native("opencode", a_task(title="Notes"))
    assert {"id", "slug", "title", "version", "time"} <= document["info"].keys()
    ids = [message["info"]["id"] for message in document["messages"]]
    parts = [part["id"] for message in document["messages"] for part in message["parts"]]
    assert ids == sorted(ids)
    assert parts == sorted(parts)
    question, answer, last = document["messages"]
    assert answer["info"]["parentID"] == last["info"]["parentID"] == question["info"]["id"]
    states = [part["state"] for part in answer["parts"] if part["type"] == "tool"]
    assert [state["status"] for state in states] == ["completed", "error"]
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


def test_a_document_of_opencode_with_another_message_is_no_untouched_copy() -> None:
    data = NATIVE_WRITERS["opencode"](replace(with_added_text(), lineage=LINEAGE), ConversionLosses())
    document = json.loads(data)
    document["messages"].append(
        {"info": {"id": "msg_zzzz", "role": "user", "time": {"created": 1_900_000_000_000}}, "parts": []}
    )
    assert imported(json.dumps(document).encode()).untouched_copy_of is None


def test_opencode_gets_the_first_words_of_the_user_as_a_title() -> None:
    lines, _ = native("opencode", with_added_text())
    assert lines[0]["info"]["title"] == "rename the parser"
