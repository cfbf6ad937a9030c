"""Every text that a person or a model wrote in a recorded file is found by a search (decision 0041).

The texts are extracted here by walking the lines of a file, without any code of its reader. Left out are reasoning,
which is not searched, texts that a program inserted, and NOVA, whose file has a state and no conversation.
"""

import json  # noqa: TID251 - files of other programs are read as they write them
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sessiond.agents import known
from sessiond.agents.table import AGENTS
from support.agent_cases import case_of, texts_of_entries
from support.daemons import running
from support.dialect_files import DATA
from support.dialects import samples

OLD = 1_700_000_000
RECORDED = DATA.parent / "agents"
FILES = [
    *(path for path in sorted(DATA.glob("*.jsonl"))),
    *(path for path in sorted(DATA.glob("cline*.json"))),
    *(path for path in sorted(RECORDED.glob("*.jsonl"))),
    *(sample for sample in samples().values()),
]
_INSERTED = re.compile(
    r"\s*(<|# AGENTS\.md|Caveat: The messages below were generated|.*\(a text of the program\))"
)


WRITTEN: dict[str | None, Callable[[Any], Iterator[str]]] = {
    **{agent.dialect: case_of(name).written for name, agent in AGENTS.items() if hasattr(case_of(name), "written")},
    **dict.fromkeys(("go", "operator", "pi4"), texts_of_entries),
}  # fmt: skip


def objects(data: bytes) -> Iterator[Any]:
    if data.startswith(b"{\n"):  # one object on many lines
        yield json.loads(data)
        return
    for line in data.split(b"\n"):
        try:
            value = json.loads(line.decode("utf-8-sig"))
        except ValueError:
            continue
        if isinstance(value, dict) or (isinstance(value, list) and value and isinstance(value[0], dict)):
            yield value


def texts_in(data: bytes) -> set[str]:
    """The texts that people and models wrote."""
    written = WRITTEN[known.detect(data)]
    found = (text for line in objects(data) for text in written(line))
    return {text.strip() for text in found if re.search(r"\w", text) and not _INSERTED.match(text)}


def phrase_of(text: str) -> str:
    """The beginning of a text as a phrase of a query."""
    return '"' + " ".join(re.findall(r"[^\W_]+", text)[:8]) + '"'


def test_every_dialect_with_a_conversation_has_its_texts_counted() -> None:
    assert {known.detect(file.read_bytes()) for file in FILES} == set(WRITTEN)
    assert set(WRITTEN) | {"nova", "opencode"} >= set(known.DIALECTS)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name[:50])
async def test_every_text_that_was_written_is_found(tmp_path: Path, file: Path) -> None:
    source = tmp_path / file.name
    source.write_bytes(file.read_bytes())
    os.utime(source, (OLD, OLD))
    texts = texts_in(file.read_bytes())
    missing = []
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        [session] = (await peer.call("session/import", path=str(source)))["sessions"]
        for text in sorted(texts):
            answer = await peer.call("session/search", query=phrase_of(text), limit=100)
            if session["sessionId"] not in {hit["sessionId"] for hit in answer["hits"]}:
                missing.append(text)
    assert texts
    assert missing == []
