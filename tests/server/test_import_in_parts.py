"""A file of lines that is read part by part becomes the log that reading it whole gives, byte for byte."""

import itertools
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings, strategies as st

from sessiond.agents import known
from sessiond.agents.companions import Companions
from sessiond.hub.transfer import (
    file_parts,
    foreign_files,
    import_reading,
    json_texts,
    memory_limit,
    streaming,
    taken_texts,
)
from sessiond.hub.transfer.file_parts import FilePart, FileSource
from sessiond.hub.transfer.foreign_files import NotImported
from sessiond.hub.transfer.import_reading import Target
from sessiond.hub.transfer.source_state import SourceState
from sessiond.hub.transfer.spool import Spool
from sessiond.session.dialects import imported_log
from sessiond.session.dialects.import_builder import ImportReport
from support.daemons import running
from support.dialect_files import FILES, SESSION, answer, call, claude, item, meta, said
from support.dialects import jsonl
from support.killed_readings import killed_after
from support.long_sessions import SESSIONS

OLD = 1_700_000_000
LINES_OF_CLAUDE = jsonl(claude("user", "u1", None, "hello"))
LINES = [name for name, dialect in known.DIALECTS.items() if dialect.reader is not None]
SIZES = st.one_of(st.integers(1, 300), st.integers(300, 20_000))

same_patch = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def reported(report: ImportReport) -> Any:
    problems = sorted(report.problems, key=lambda problem: (problem.line, problem.message))
    return (
        dict(report.converted),
        dict(report.preserved),
        problems,
        report.problem_count,
        report.held_back_count,
    )


def settled(state: SourceState) -> SourceState:
    """The state of a file as it is some seconds later."""
    return msgspec.structs.replace(state, is_settled=True)


def whole(path: Path) -> Any:
    """The session and the report of an import that reads the file whole."""
    source = foreign_files.read(str(path), None, Companions(), Spool(str(path.parent / "whole")))
    session_id = imported_log.candidates(source.imported, str(path))[0]
    new = import_reading.new_session(source, session_id, Target(None), lambda _digest: None)
    blobs = {digest: Path(name).read_bytes() for digest, name in source.files.items()} | new.blobs
    named = {name: blobs[name] for name in new.named}
    return new.lines, new.cwd, new.is_answered, new.added, settled(new.state), named, {
        name: getattr(new.imported, name) for name in ("title", "leaf", "source_id", "untouched_copy_of", "inherited")
    }, reported(new.imported.report)  # fmt: skip


def whole_lines(path: Path) -> bytes:
    """The log of an import that reads the file whole."""
    source = foreign_files.read(str(path), None, Companions())
    session_id = imported_log.candidates(source.imported, str(path))[0]
    return import_reading.new_session(source, session_id, Target(None), lambda _digest: None).lines


def streamed(path: Path, spool: Spool | None = None) -> Any:
    """The same of an import that reads the file part by part; None if it must be read whole."""
    spool = spool or Spool(str(path.parent / "parts"))
    log = streaming.read(str(path), None, Companions(), spool, cwd=None, title_space=True)
    if log is None:
        assert not list(Path(spool.folder).glob(".*"))
        return None
    blobs = {name: Path(log.files[name]).read_bytes() for name in log.named}
    lines = Path(log.path).read_bytes()
    spool.clear()
    return lines, log.cwd, log.is_answered, log.count, settled(log.state), blobs, {
        name: getattr(log.imported, name) for name in ("title", "leaf", "source_id", "untouched_copy_of", "inherited")
    }, reported(log.imported.report)  # fmt: skip


def check(path: Path, data: bytes, size: int, patch: pytest.MonkeyPatch, *, growing: bool = False) -> None:
    path.write_bytes(data)
    if not growing:
        os.utime(path, (OLD, OLD))
    patch.setattr(file_parts, "PART_BYTES", size)
    in_parts = streamed(path)
    assert in_parts is None or in_parts == whole(path)


def name_of(dialect: str) -> str:
    return f"rollout-2026-01-01T00-00-00-{SESSION}.jsonl" if dialect == "codex" else f"{SESSION}.jsonl"


@pytest.mark.parametrize("growing", [False, True])
@pytest.mark.parametrize("dialect", LINES)
@same_patch
@given(size=SIZES)
def test_a_file_with_one_of_each_thing(
    dialect: str, growing: bool, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(tmp_path / name_of(dialect), jsonl(*FILES[dialect]), size, monkeypatch, growing=growing)


@pytest.mark.parametrize("growing", [False, True])
@pytest.mark.parametrize("dialect", LINES)
@same_patch
@given(size=SIZES, turns=st.integers(1, 12))
def test_a_long_session(
    dialect: str, growing: bool, size: int, turns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(tmp_path / name_of(dialect), jsonl(*SESSIONS[dialect](turns)), size, monkeypatch, growing=growing)


def at_different_times(data: bytes) -> bytes:
    """A file whose lines have a later time each."""
    numbers = itertools.count(1)
    return re.sub(rb"2026-01-01T00:00:00", lambda _: b"2026-01-01T00:00:%02d" % (next(numbers) % 60), data)


@pytest.mark.parametrize("dialect", LINES)
@same_patch
@given(size=SIZES, data=st.data())
def test_a_session_with_damaged_lines(
    dialect: str, size: int, data: st.DataObject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = bytearray(at_different_times(jsonl(*SESSIONS[dialect](4))))
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=4)):
        kind = data.draw(st.sampled_from([b"\n", b"\0", b"{", b'"', b"}\n{", b""]))
        content[place : place + 1] = kind
    if known.detect(bytes(content)) == dialect:
        check(
            tmp_path / name_of(dialect), bytes(content), size, monkeypatch, growing=data.draw(st.booleans())
        )


@pytest.mark.parametrize("dialect", LINES)
def test_no_line_of_a_long_session_has_the_file_read_whole(
    dialect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name_of(dialect)
    path.write_bytes(jsonl(*SESSIONS[dialect](30, long=3_000)))
    os.utime(path, (OLD, OLD))
    monkeypatch.setattr(file_parts, "PART_BYTES", 2_000)
    assert streamed(path) == whole(path)


def test_a_compressed_rollout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"{name_of('codex')}.zst"
    path.write_bytes(zstandard.compress(jsonl(*SESSIONS["codex"](20))))
    os.utime(path, (OLD, OLD))
    monkeypatch.setattr(file_parts, "PART_BYTES", 500)
    assert streamed(path) == whole(path)


def test_a_damaged_compressed_rollout_is_refused(tmp_path: Path) -> None:
    path = tmp_path / f"{name_of('codex')}.zst"
    path.write_bytes(zstandard.compress(jsonl(*SESSIONS["codex"](20)))[:-9])
    refusals = []
    for read in (streamed, whole):
        with pytest.raises(NotImported) as refusal:
            read(path)
        refusals.append((refusal.value.reason, refusal.value.state))
    assert refusals[0] == refusals[1]


@pytest.mark.parametrize("name", ["endless.jsonl", "endless.jsonl.zst"])
async def test_a_file_of_a_terabyte_without_a_line_is_refused_before_it_is_read(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    with path.open("wb") as file:
        file.write(zstandard.compress(b"{") if path.suffix == ".zst" else b"{")
        file.truncate(1 << 40)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        imported = await peer.call("session/import", path=str(path))
        assert imported["sessions"] == []
        assert [skipped["path"] for skipped in imported["skipped"]] == [str(path)]


@pytest.mark.parametrize("place", ["beginning", "middle", "end"])
async def test_a_session_with_a_hole_of_a_terabyte_is_refused_before_it_is_read(
    place: str, tmp_path: Path
) -> None:
    path, lines = tmp_path / "hole.jsonl", LINES_OF_CLAUDE
    with path.open("wb") as file:
        file.write(b"" if place == "beginning" else lines)
        file.truncate(1 << 40)
        file.seek(0, os.SEEK_END)
        file.write(b"" if place == "end" else b"\n" + lines)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        [skipped] = (await peer.call("session/import", path=str(path)))["skipped"]
        assert skipped["message"].endswith("are holes, in which nothing was written")


def test_a_session_with_a_small_hole_is_read_part_by_part(tmp_path: Path) -> None:
    path, lines = tmp_path / "hole.jsonl", LINES_OF_CLAUDE
    with path.open("wb") as file:
        file.write(lines)
        file.truncate(1 << 21)
    os.utime(path, (OLD, OLD))
    found = streamed(path)
    assert found is not None
    assert found == whole(path)


def test_a_line_that_has_no_text_to_take_out_is_refused_if_the_memory_does_not_suffice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_limit, "ALWAYS_READ", 1_000_000)
    monkeypatch.setattr(memory_limit, "free_bytes", lambda: 50_000_000)
    path = tmp_path / "numbers.jsonl"
    path.write_bytes(LINES_OF_CLAUDE + b'{"numbers": [' + b"1, " * 7_000_000 + b"1]}\n")
    os.utime(path, (OLD, OLD))
    with pytest.raises(NotImported) as refusal:
        streamed(path)
    assert refusal.value.reason.startswith("a line cannot be read in parts, and reading its 21 MB takes")


def test_texts_and_images_of_a_session_become_the_same_blobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name_of("codex")
    lines = [meta(), said("user", "hello")]
    for number in range(4):
        lines += [
            item("function_call", call_id=f"c{number}", name="run", arguments="{}"),
            item("function_call_output", call_id=f"c{number}", output=f"{number} heron " * 100_000),
        ]
    path.write_bytes(jsonl(*lines, said("assistant", "done")))
    os.utime(path, (OLD, OLD))
    found = streamed(path)
    assert len(found[5]) == 4
    assert found == whole(path)


def test_files_beside_a_transcript_are_the_same_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ".claude/projects/-work" / name_of("claude-code")
    spilled = path.with_suffix("") / "tool-results"
    spilled.mkdir(parents=True)
    lines = [claude("user", "u0", None, "Count the birds.")]
    for number in range(3):
        file = spilled / f"b{number}.txt"
        file.write_text(f"{number} of many lines\n" * 2_000, encoding="utf-8")
        text = f"<persisted-output>\nOutput too large (1MB). Full output saved to: {file}\n\nPreview (first 2KB):\n"
        lines.append(claude("assistant", f"a{number}", lines[-1]["uuid"], [call(number)]))
        lines.append(claude("user", f"r{number}", f"a{number}", [answer(number, text)]))
    path.write_bytes(jsonl(*lines))
    os.utime(path, (OLD, OLD))
    monkeypatch.setattr(file_parts, "PART_BYTES", 500)
    found = streamed(path)
    assert len(found[5]) == 3
    assert found == whole(path)


@pytest.mark.parametrize("growing", [False, True])
@pytest.mark.parametrize("part_bytes", [97, 1_000, 4_000])
def test_long_texts_are_taken_out_of_lines(
    part_bytes: int, growing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name, value in (
        (json_texts, "STEP", 1_000), (json_texts, "CHUNK", 97), (taken_texts, "CHUNK", 97),
        (taken_texts, "LONG_TEXT", 4_000), (foreign_files, "LONG_TEXT", 4_000), (taken_texts, "MIN_INNER", 1_000),
        (taken_texts, "LONG_HEAD", 200), (taken_texts, "SHORT_HEAD", 100), (taken_texts, "TAIL", 60),
        (file_parts, "PART_BYTES", part_bytes),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)
    path = tmp_path / name_of("codex")
    lines = [meta(), said("user", "hello")]
    for number in range(6):
        text = f'{number} heron \\ "quoted" ' * (300 * (number + 1))
        arguments = msgspec.json.encode({"t": text}).decode()
        lines += [
            item(
                "function_call",
                call_id=f"c{number}",
                name="run",
                arguments=arguments,
            ),
            item("function_call_output", call_id=f"c{number}", output=text),
            said("user", f"{number} {text}"),
            said("assistant", "seen"),
        ]
    path.write_bytes(jsonl(*lines, said("assistant", "done")))
    if not growing:
        os.utime(path, (OLD, OLD))
    found = streamed(path)
    assert len(found[5]) > 6
    assert found == whole(path)


def test_a_text_that_names_a_blob_is_a_text_and_an_image_that_is_one_needs_the_daemon(tmp_path: Path) -> None:
    reference = f"blob:sha256:{'0' * 64}"
    image = {"type": "image", "data": reference, "mimeType": "image/png"}
    pi = [
        {
            "type": "session",
            "version": 3,
            "id": SESSION,
            "timestamp": "2026-01-01T00:00:00.000Z",
            "cwd": "/work",
        }
    ]
    place = {"type": "message", "id": "u0000001", "parentId": None, "timestamp": "2026-01-01T00:00:00.000Z"}
    path = tmp_path / "session.jsonl"
    for content, is_streamed in ((reference, True), ([image], False)):
        path.write_bytes(jsonl(*pi, {**place, "message": {"role": "user", "content": content}}))
        os.utime(path, (OLD, OLD))
        spool = Spool(str(tmp_path / "parts"))
        log = streaming.read(str(path), None, Companions(), spool, cwd=None, title_space=True)
        assert (log is not None) is is_streamed
        if log is not None:
            assert Path(log.path).read_bytes() == whole_lines(path)
            assert log.named == {"0" * 64}


@pytest.mark.parametrize(
    "lines",
    [[], [meta()], [{"type": "user", "uuid": "u", "parentUuid": None, "sessionId": SESSION, "message": 1}]],
    ids=["empty", "only a header", "no message"],
)
def test_a_file_without_a_conversation_is_refused_for_the_same_reason(
    lines: list[Any], tmp_path: Path
) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(jsonl(*lines))
    os.utime(path, (OLD, OLD))
    refusals = []
    for read in (streamed, whole):
        try:
            refusals.append(read(path))
        except NotImported as refusal:
            refusals.append((refusal.reason, refusal.state))
    assert refusals[0] in (None, refusals[1])


@pytest.mark.parametrize("dialect", LINES)
def test_a_reading_that_was_killed_goes_on_where_it_was(
    dialect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name_of(dialect)
    lines = SESSIONS[dialect](8, long=510_000)
    path.write_bytes(jsonl(*FILES[dialect], *lines[1:]))
    os.utime(path, (OLD, OLD))
    size, starts = path.stat().st_size, list[int]()
    parts = file_parts.FileSource.parts

    def noted(source: FileSource, start: int = 0, newlines: int = 0) -> Iterator[FilePart]:
        starts.append(start)
        return parts(source, start, newlines)

    monkeypatch.setattr(file_parts.FileSource, "parts", noted)
    monkeypatch.setattr(file_parts, "PART_BYTES", 500)
    for kills in (1, 3):
        spool = Spool(str(tmp_path / "parts"))
        for _ in range(kills):
            assert killed_after(str(path), spool, part_bytes=500, parts=3) == 9
        starts.clear()
        assert streamed(path, spool) == whole(path)
        assert len(starts) == 1
        assert 0 < starts[0] < size
        assert not list(tmp_path.glob("parts/.*"))


async def test_a_daemon_goes_on_where_one_that_was_killed_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_reading, "LARGE_FILE", 0)
    path = tmp_path / name_of("claude-code")
    path.write_bytes(jsonl(*SESSIONS["claude-code"](40)))
    os.utime(path, (OLD, OLD))
    found = []
    for home in ("undisturbed", "killed"):
        async with running(tmp_path / home) as daemon:
            peer = await daemon.attach()
            blobs = (
                Path((await peer.call("session/create", cwd="/work"))["session"]["path"]).parents[2] / "blobs"
            )
            if home == "killed":
                spool = Spool.of_source(str(blobs), str(path), None)
                assert killed_after(str(path), spool, part_bytes=500, parts=20) == 9
                assert {name.name.split(".")[2] for name in blobs.iterdir()} == {"progress", "tree", "beside"}
            result = await peer.call("session/import", path=str(path))
            info = (await peer.call("session/info", sessionId=result["sessions"][0]["sessionId"]))["session"]
            found.append((result, Path(info["path"]).read_bytes()))
            assert not list(blobs.iterdir())
    assert found[0] == found[1]


def changed(path: Path) -> None:
    path.write_bytes(
        path.read_bytes().replace(b"question 0", b"QUESTION 0").replace(b"prompt 0", b"PROMPT 0")
    )


def cut(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))


@pytest.mark.parametrize("change", [changed, cut])
@pytest.mark.parametrize("dialect", LINES)
def test_a_file_that_changed_after_the_kill_is_read_from_its_beginning(
    dialect: str, change: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / name_of(dialect)
    path.write_bytes(jsonl(*SESSIONS[dialect](20)))
    spool = Spool(str(tmp_path / "parts"))
    assert killed_after(str(path), spool, part_bytes=500, parts=12) == 9
    before = path.read_bytes()
    change(path)
    assert path.read_bytes() != before
    os.utime(path, (OLD, OLD))
    assert streamed(path, spool) == whole(path)


@pytest.mark.parametrize("kind", ["progress", "tree", "beside"])
def test_a_damaged_file_of_the_progress_has_the_source_read_from_its_beginning(
    kind: str, tmp_path: Path
) -> None:
    path = tmp_path / name_of("codex")
    path.write_bytes(jsonl(*FILES["codex"], *SESSIONS["codex"](20)[1:]))
    os.utime(path, (OLD, OLD))
    spool = Spool(str(tmp_path / "parts"))
    assert killed_after(str(path), spool, part_bytes=500, parts=20) == 9
    damaged = spool.named(kind)
    damaged.write_bytes(damaged.read_bytes()[:7])
    assert streamed(path, spool) == whole(path)
