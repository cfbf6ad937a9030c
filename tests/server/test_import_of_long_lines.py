"""Long texts of long lines get into blobs before a line is decoded, and the session is that of reading whole lines.

The limits are small in these tests, so that every shape of a line is tried. `agents/test_following_long_lines.py` has
lines of real size.
"""

import json  # noqa: TID251 - sources are written as their programs write them
import os
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from sessiond.agents.companions import Companions
from sessiond.hub.transfer import foreign_files, json_texts, taken_texts
from sessiond.hub.transfer.foreign_files import ReadSource
from sessiond.hub.transfer.json_texts import Region
from sessiond.hub.transfer.spool import Spool
from sessiond.session.content.restore_blobs import restore
from support.dialect_files import SESSION, claude, item, meta, said
from support.dialects import jsonl
from support.sized_sessions import WRITERS

OLD = 1_700_000_000
ODD = 'Zoë "quoted" \\ back\\\\slash \n\t é ß \U0001f600 \u2028 \x7f </tag> [sessiond-text:' + "0" * 64 + "] "
"""Characters that JSON escapes, pairs of surrogates, and what looks like a mark."""


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of more than 4 kB are taken out of lines, and texts of more than 1 kB out of these."""
    for module, name, value in (
        (json_texts, "STEP", 1_000), (json_texts, "CHUNK", 97), (taken_texts, "CHUNK", 97),
        (taken_texts, "LONG_TEXT", 4_000), (foreign_files, "LONG_TEXT", 4_000), (taken_texts, "MIN_INNER", 1_000),
        (taken_texts, "LONG_HEAD", 200), (taken_texts, "SHORT_HEAD", 100), (taken_texts, "TAIL", 60),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)


def text(seed: int, size: int = 6_000) -> str:
    """A text with odd characters."""
    choose = random.Random(seed)
    return "".join(choose.choice([*ODD, *"heron "]) for _ in range(size))


def both(path: str, folder: Path) -> tuple[list[Any], list[Any], ReadSource]:
    """Return the entries of a source as whole lines give them, those restored from blobs, and what was read."""
    if Path(path).exists():
        os.utime(path, (OLD, OLD))
    whole = foreign_files.read(path, None, Companions())
    taken = foreign_files.read(path, None, Companions(), Spool(str(folder)))

    def find(digest: str) -> bytes | None:
        return Path(taken.files[digest]).read_bytes() if digest in taken.files else None

    restored = [json.loads(restore(entry.line, find)) for entry in taken.imported.entries]
    assert taken.state == whole.state
    return _numbered([json.loads(entry.line) for entry in whole.imported.entries]), _numbered(restored), taken


def _numbered(entries: list[Any]) -> list[Any]:
    """Return entries with numbers as ids, because some readers derive an id from the text."""
    numbers = {entry["id"]: number for number, entry in enumerate(entries)}
    return [
        {**entry, "id": numbers[entry["id"]], "parentId": numbers.get(entry["parentId"])} for entry in entries
    ]


def rollout(folder: Path, *lines: Any) -> str:
    path = folder / f"rollout-2026-01-01T00-00-00-{SESSION}.jsonl"
    path.write_bytes(jsonl(meta(), said("user", "hello"), *lines))
    return str(path)


def transcript(folder: Path, *lines: Any) -> str:
    path = folder / f"{SESSION}.jsonl"
    path.write_bytes(jsonl(claude("user", "u1", None, "hello"), *lines))
    return str(path)


@pytest.mark.parametrize("kind", WRITERS)
def test_texts_of_any_agent_are_whole_in_blobs(kind: str, tmp_path: Path) -> None:
    _, write = WRITERS[kind]
    texts = [text(number) for number in range(4)]
    write(tmp_path, texts)
    folder = tmp_path / ".local/share/opencode/opencode.db" if kind == "opencode" else tmp_path
    [found] = foreign_files.find([str(folder)])
    whole, restored, taken = both(found.path, tmp_path / "blobs")
    assert restored == whole
    assert len(taken.files) >= len(texts)
    assert max(len(entry.line) for entry in taken.imported.entries) < 2_000


@pytest.mark.parametrize("arguments", [{"input": text(1)}, {"a": [text(1), {"b": text(2)}], "c": 1}])
def test_a_text_that_is_json_is_decoded_as_if_it_were_whole(arguments: Any, tmp_path: Path) -> None:
    path = rollout(
        tmp_path,
        item("function_call", call_id="c1", name="run", arguments=json.dumps(arguments)),
        item("function_call_output", call_id="c1", output=json.dumps({"output": text(3), "n": 1})),
        said("assistant", "done"),
    )  # fmt: skip
    whole, restored, taken = both(path, tmp_path / "blobs")
    assert restored == whole
    assert max(len(entry.line) for entry in taken.imported.entries) < 3_000


@pytest.mark.parametrize(
    "shape",
    ["  \n{}\n  ", "<environment_context>{}</environment_context>", "a{}b", "Wall time: 1\nOutput:\n{}"],
)
def test_a_reader_may_change_the_ends_of_a_text(shape: str, tmp_path: Path) -> None:
    inside = "heron " * 1_000
    path = rollout(
        tmp_path,
        said("user", shape.format(inside)),
        item("function_call", call_id="c1", name="run", arguments="{}"),
        item("function_call_output", call_id="c1", output=shape.format(inside)),
        said("assistant", shape.format(inside)),
    )
    whole, restored, _ = both(path, tmp_path / "blobs")
    assert restored == whole


def test_a_line_that_no_reader_knows_is_kept_as_it_is_in_its_file(tmp_path: Path) -> None:
    path = transcript(
        tmp_path, claude("assistant", "a1", "u1", "hi"), {"type": "unheard-of", "data": text(1)}
    )
    whole, restored, taken = both(path, tmp_path / "blobs")
    assert restored == whole
    assert max(len(entry.line) for entry in taken.imported.entries) < 3_000


def test_an_image_is_restored_in_its_place(tmp_path: Path) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" + "A" * 8_001}
    path = transcript(tmp_path, claude("user", "u2", "u1", [{"type": "image", "source": source}]))
    whole, restored, taken = both(path, tmp_path / "blobs")
    assert restored == whole
    assert taken.files


def test_only_long_texts_leave_a_line(tmp_path: Path) -> None:
    blocks = [{"type": "text", "text": name * 3_000} for name in ("a", "b")] + [
        {"type": "text", "text": "c" * 9_000}
    ]
    path = transcript(tmp_path, claude("user", "u2", "u1", blocks))
    whole, restored, taken = both(path, tmp_path / "blobs")
    assert restored == whole
    assert [Path(file).read_bytes() for file in taken.files.values()] == [b"c" * 9_000]


def test_the_same_file_gives_the_same_entries_again(tmp_path: Path) -> None:
    path = transcript(tmp_path, claude("user", "u2", "u1", text(1)))
    first, again = (both(path, tmp_path / name)[2] for name in ("once", "twice"))
    assert first.imported.entries == again.imported.entries


@pytest.mark.parametrize(
    "damage", [b'{"type":"user","text":"', b'{"type":"user","a":"\\x', b"\xff{", b'{"a":"\\ud800']
)
def test_a_damaged_long_line_is_what_it_is_when_it_is_short(damage: bytes, tmp_path: Path) -> None:
    path = Path(transcript(tmp_path, claude("assistant", "a1", "u1", "hi")))
    path.write_bytes(path.read_bytes() + damage + b"z" * 9_000 + b'"}\n')
    whole, restored, _ = both(str(path), tmp_path / "blobs")
    assert restored == whole


def test_a_long_line_that_is_not_complete_yet_waits(tmp_path: Path) -> None:
    path = Path(transcript(tmp_path, claude("assistant", "a1", "u1", "hi")))
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + jsonl(claude("user", "u2", "a1", "x" * 9_000))[:-100])
    found = foreign_files.read(str(path), None, Companions(), Spool(str(tmp_path / "blobs")))
    assert (found.state.consumed_bytes, found.state.is_final, found.files) == (size, False, {})


def test_a_refused_file_leaves_no_files(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_bytes(jsonl({"note": "x" * 9_000}))
    with pytest.raises(foreign_files.NotImported):
        foreign_files.read(str(path), None, Companions(), Spool(str(tmp_path / "blobs")))
    assert list((tmp_path / "blobs").iterdir()) == []


def test_an_entry_that_no_client_could_read_is_kept_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taken_texts, "MAX_ENTRY_BYTES", 510_000)
    blocks = [{"type": "text", "text": f"{number:900}"} for number in range(700)]
    path = transcript(tmp_path, claude("user", "u2", "u1", blocks))
    whole, restored, taken = both(path, tmp_path / "blobs")
    [stored] = [element for element in restored if element.get("customType") == "sessiond.import"]
    [entry] = [entry for entry in whole if entry["id"] == stored["id"]]
    raw = json.loads(stored["data"]["raw"])
    assert (raw["type"], raw["message"]) == (entry["type"], entry["message"])
    assert max(len(each_entry.line) for each_entry in taken.imported.entries) <= 510_000


@given(st.text(min_size=1), st.integers(1, 400), st.booleans())
def test_any_text_is_decoded_in_pieces(some: str, count: int, is_ascii: bool) -> None:
    some = some.encode("utf-8", "replace").decode()
    data = b'{"key": %b}' % json.dumps(some * count, ensure_ascii=is_ascii).encode()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(json_texts, "STEP", 16)
        patched.setattr(json_texts, "CHUNK", 29)
        texts = json_texts.long_texts(
            Region(lambda offset, size: data[offset : offset + size], 0, len(data)), 16
        )
        assert texts is not None
        if len(data) > 40:
            [found] = texts
            assert "".join(json_texts.decoded(found)) == some * count
