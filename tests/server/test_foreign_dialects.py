"""Session files of other programs where sessiond opens or lists files: recognized, never opened, never changed."""

import os
import shlex
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sessiond.agents.recognition import foreign_program_of
from sessiond.config import Config, RootsConfig
from sessiond.session.dialects.home_format import PROBE_BYTES
from support import logs
from support.commands import a_shell
from support.daemons import Running, assistant, refusal, running, user
from support.dialect_files import bytes_of
from support.dialects import jsonl

FOREIGN = {
    "claude-code.jsonl": "claude-code", "codex.jsonl": "codex", "go.jsonl": "go", "operator.jsonl": "operator",
    "operator-program.jsonl": "operator", "pi4.jsonl": "pi4", "gemini.jsonl": "gemini", "qwen.jsonl": "qwen",
    "copilot.jsonl": "copilot", "cursor.jsonl": "cursor",
}  # fmt: skip
OLD = 1_700_000_000


def placed(folder: Path, name: str) -> Path:
    """A copy of a file of the test data, written long ago, as its program would leave it."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes_of(name))
    os.utime(path, (OLD, OLD))
    return path


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file of a folder with its bytes and its time of modification."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


@pytest.fixture
async def with_root(tmp_path: Path) -> AsyncIterator[tuple[Running, Path]]:
    """A daemon that lists a folder of another program, and that folder."""
    root = tmp_path / "root"
    root.mkdir()
    async with running(tmp_path / "home", config=Config(roots=RootsConfig(folders=(str(root),)))) as daemon:
        yield daemon, root


@pytest.mark.parametrize("name", FOREIGN)
async def test_every_method_that_takes_a_path_refuses_the_file_and_leaves_it_unchanged(
    memory: Running, tmp_path: Path, name: str
) -> None:
    path = placed(tmp_path / "theirs", name)
    before = state(path.parent)
    peer = await memory.attach()
    for method, params in (
        ("session/open", {"path": str(path)}),
        ("session/fork", {"path": str(path), "cwd": str(tmp_path)}),
    ):
        refused = await refusal(peer.call(method, **params))
        assert (refused.kind, refused.code, refused.data["retryable"]) == ("foreignDialect", 1415, False)
        assert (refused.details["dialect"], refused.details["path"]) == (FOREIGN[name], str(path))
        assert refused.details["importCommand"] == f"sessiond import {shlex.quote(str(path))}"
    assert state(path.parent) == before


@pytest.mark.parametrize("name", FOREIGN)
async def test_files_in_a_root_are_not_listed_and_not_found_by_a_search(
    with_root: tuple[Running, Path], name: str, cwd: str
) -> None:
    daemon, root = with_root
    path = placed(root, name)
    before = state(root)
    peer = await daemon.attach()
    own = (await peer.call("session/create", cwd=cwd))["session"]["sessionId"]
    await peer.append(own, user("Hello there"), assistant("Hello!"))
    listed = await peer.call("session/list", includeDrafts=True)
    assert [session["sessionId"] for session in listed["sessions"]] == [own]
    hits = await peer.call("session/search", query="Hello")
    assert {hit["sessionId"] for hit in hits["hits"]} == {own}
    refused = await refusal(peer.call("session/info", sessionId=path.stem))
    assert refused.kind == "foreignDialect"
    refused = await refusal(peer.append(path.stem, user("x")))
    assert refused.kind == "foreignDialect"
    refused = await refusal(peer.call("session/delete", sessionId=path.stem))
    assert refused.kind == "foreignDialect"
    assert state(root) == before


@pytest.mark.parametrize("name", FOREIGN)
async def test_a_file_in_a_root_is_imported_into_a_session_of_its_own(
    with_root: tuple[Running, Path], name: str
) -> None:
    daemon, root = with_root
    path = placed(root, name)
    before = state(root)
    peer = await daemon.attach()
    result = await peer.call("session/import", path=str(path), cwd="/work")
    assert not result["skipped"], result["skipped"]
    [session] = result["sessions"]
    assert (session["status"], session["format"]) == ("created", FOREIGN[name])
    info = (await peer.call("session/info", sessionId=session["sessionId"]))["session"]
    assert Path(info["path"]).parent != root
    again = await peer.call("session/import", path=str(path), cwd="/work")
    assert [listed["status"] for listed in again["sessions"]] == ["unchanged"]
    assert state(root) == before


def test_commands_refuse_the_files_and_doctor_names_the_command_that_imports_them(tmp_path: Path) -> None:
    root = tmp_path / "root"
    paths = [placed(root, name) for name in FOREIGN]
    before = state(root)
    with a_shell(tmp_path) as shell:
        config = Path(shell.locations.config_file)
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(f'[roots]\nfolders = ["{root}"]\n', encoding="utf-8")
        for path in paths:
            for words in (
                ("tree", str(path)), ("show", str(path)), ("append", str(path), "--user", "x"),
                ("context", str(path)), ("branch", str(path), "a"), ("rename", str(path), "x"),
            ):  # fmt: skip
                ran = shell.run(*words)
                assert ran.code == 1, (words, ran)
                assert "is a session file of another program" in ran.err, (words, ran)
        assert shell("list", "--all", "--drafts", "--json").json["sessions"] == []
        for words in (("doctor", "--json"), ("doctor", "--fix", "--json"), ("doctor", str(root), "--json")):
            found = [
                finding
                for finding in shell.run(*words).json["findings"]
                if str(finding["location"]["path"]).startswith(str(root))
            ]
            assert {(Path(finding["location"]["path"]).name, finding["kind"]) for finding in found} == {
                (name, "foreignDialect") for name in FOREIGN
            }
            for finding in found:
                assert f"sessiond import {finding['location']['path']}" in finding["advice"]
    assert state(root) == before


def test_a_large_first_prompt_does_not_hide_whose_file_it_is() -> None:
    long = "x" * PROBE_BYTES
    theirs = jsonl(
        {"type": "session", "id": "sess-1", "version": 1, "timestamp": "2024-01-01T00:00:00Z"},
        {"type": "message", "id": "m", "parent_id": None, "message": {"role": "user", "content": long}},
    )
    ours = logs.log(logs.header(), logs.user(long, id="a", parent=None))
    assert found(theirs) == "go"
    assert found(ours) is None


@pytest.mark.parametrize(
    "first",
    [
        [logs.header()],
        [logs.header(version=1), b'{"type":"message","message":{"role":"user","content":"x"}}\n'],
        [b'{"type":"title","v":1,"title":"x"}\n', logs.header(), logs.user("x", id="a", parent=None)],
        [logs.header(version=4), logs.user("x", id="a", parent=None)],
        [logs.user("x", id="a", parent=None)],
        [b'{"some":"data"}\n'],
        [],
    ],
)
def test_sessions_of_pi_and_oh_my_pi_and_other_text_are_no_foreign_sessions(first: list[Any]) -> None:
    assert found(logs.log(*first)) is None


def found(data: bytes) -> str | None:
    program = foreign_program_of(lambda size: data[:size])
    return None if program is None else program.dialect
