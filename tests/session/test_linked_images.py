"""An image that a message only links to is read, shown to a model, and written for other programs."""

import json  # noqa: TID251 - files of other programs are written as they write them
from typing import Any

import pytest

from sessiond.agents.writing import WRITERS
from sessiond.session.content.image_links import image_url
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.import_builder import Imported
from sessiond.session.formats import agent
from sessiond.session.formats.conversation import Image, Turn
from support.dialects import entries, imported, jsonl
from support.logs import time_of

URL = "https://example.org/heron.png"
GO = [
    {"type": "session", "id": "sess-123", "version": 1, "timestamp": time_of(0)},
    {"type": "message", "id": "m1", "parent_id": None, "timestamp": time_of(1), "message": {
        "role": "user",
        "content": [{"type": "image", "image": {"source": {"type": "url", "media_type": "image/png", "data": URL}}}],
    }},
]  # fmt: skip
OPERATOR = [
    {"type": "session", "version": 3, "id": "o1", "timestamp": 1.5, "cwd": "/work"},
    {"type": "message", "id": "m1", "timestamp": 1.5, "message": {
        "role": "user", "contents": [{"type": "image", "images": [URL]}], "id": "a", "timestamp": 1.5,
    }},
]  # fmt: skip


def exported(session: Imported, format: str) -> tuple[list[dict[str, Any]], ConversionLosses]:
    whole = ExportedSession("session-1", time_of(0), "/w", None, (), None, entries(session), session.leaf)
    losses = ConversionLosses()
    return [json.loads(line) for line in WRITERS[format](whole, losses).splitlines()], losses


@pytest.mark.parametrize("lines", [GO, OPERATOR], ids=["go", "operator"])
def test_a_linked_image_is_in_the_context_and_in_each_export(lines: list[dict[str, Any]]) -> None:
    session = imported(jsonl(*lines))
    [message] = [entry["message"] for entry in entries(session) if entry["type"] == "message"]
    turn = agent.read_turn(json.dumps(message).encode(), 0)
    assert isinstance(turn, Turn)
    assert [part.url for part in turn.parts if isinstance(part, Image)] == [URL]
    for format in ("go", "operator"):
        written, losses = exported(session, format)
        assert not [text for text in losses.lost if "image" in text]
        again = imported(jsonl(*written))
        [back] = [entry["message"] for entry in entries(again) if entry["type"] == "message"]
        assert [image_url(block) for block in back["content"]] == [URL]


def test_the_files_have_the_link_where_their_programs_look_for_it() -> None:
    go = next(entry for entry in exported(imported(jsonl(*OPERATOR)), "go")[0] if entry["type"] == "message")
    assert go["message"]["content"] == [
        {"type": "image", "image": {"source": {"type": "url", "media_type": "", "data": URL}}}
    ]
    operator = next(
        entry for entry in exported(imported(jsonl(*GO)), "operator")[0] if entry["type"] == "message"
    )
    assert operator["message"]["contents"] == [{"type": "image", "images": [URL]}]
