"""Files that an agent writes beside its transcript belong to the session: outputs of tools, plans, tasks, copies."""

import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sessiond.session.content.blobs import NOTICE
from support import dialect_files
from support.columns import entries_of
from support.daemons import Peer, running
from support.dialect_files import SESSION
from support.dialects import jsonl
from support.following import until
from support.writing_agents import WritingClaude

LONG = "".join(f"{number} of many lines\n" for number in range(30_000))
"""An output that is longer than what an entry keeps of it."""
MIDDLE = "cormorant"
OUTPUT = LONG[: len(LONG) // 2] + f"\n{MIDDLE}\n" + LONG[len(LONG) // 2 :]
PREVIEW = "Preview (first 2KB):\n0 of many lines"


class SpillingClaude(WritingClaude):
    """Claude Code, which writes outputs that are too long for a model into files."""

    def folder(self, session: str = "") -> Path:
        return self.path.with_name(session or self.session) / "tool-results"

    def spill(self, name: str, content: str | bytes) -> Path:
        """Write an output into a file, as the program does before it writes the line."""
        path = self.folder() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def runs(self, number: int, named: Path | str) -> str:
        """Write a call of a tool, and its result, which names the file with its whole output. Returns its uuid."""
        call = dialect_files.claude(
            "assistant", f"{self.session[:8]}-8{number:03}", self.last, [dialect_files.call(number)]
        )
        self.write({**call, "sessionId": self.session})
        self._last = call["uuid"]
        text = f"<persisted-output>\nOutput too large (1MB). Full output saved to: {named}\n\n{PREVIEW}"
        uuid = f"{self.session[:8]}-9{number:03}"
        line = dialect_files.claude("user", uuid, self.last, [dialect_files.answer(number, text)])
        self.write({**line, "sessionId": self.session})
        self._last = uuid
        return uuid


@pytest.fixture
def claude(agents_home: Path) -> SpillingClaude:
    claude = SpillingClaude(agents_home)
    claude.asks("Count the birds.")
    return claude


@pytest.fixture
async def peer(agents_home: Path, tmp_path: Path) -> AsyncIterator[Peer]:
    async with running(tmp_path / "home") as daemon:
        yield await daemon.attach()


async def follow(peer: Peer) -> None:
    await peer.call("agent/follow", agents=["claude-code"], workDoneToken="first")


async def wake(peer: Peer, claude: WritingClaude) -> None:
    await peer.call("agent/wake", agent="claude-code", path=str(claude.path))


async def attachments(peer: Peer, *, whole: bool = False) -> list[dict[str, Any]]:
    """The attachments of the session, in the order of its log; empty before the session exists."""
    if not (await peer.call("session/resolve", query=SESSION))["sessions"]:
        return []
    found = entries_of(await peer.call("session/entries", sessionId=SESSION, limit=1_000, resolveBlobs=whole))
    return [entry for entry in found if entry.get("customType") == "sessiond.attachment"]


async def until_attached(peer: Peer, count: int) -> list[dict[str, Any]]:
    async def are_there() -> bool:
        return len(await attachments(peer)) >= count

    await until(are_there)
    return await attachments(peer)


async def imported(peer: Peer, path: Path) -> dict[str, Any]:
    found = await peer.call("session/import", path=str(path))
    assert found["skipped"] == []
    session: dict[str, Any] = found["sessions"][0]
    return session


async def test_a_whole_output_is_kept_as_a_blob_beside_its_result(claude: SpillingClaude, peer: Peer) -> None:
    path = claude.spill("b1.txt", OUTPUT)
    result = claude.runs(1, path)
    await imported(peer, claude.path)

    [entry] = await attachments(peer)
    assert entry["data"]["targetId"] == result
    assert entry["data"]["sizeBytes"] == len(OUTPUT)
    assert entry["data"]["text"].endswith(NOTICE)
    [whole] = await attachments(peer, whole=True)
    assert whole["data"]["text"] == OUTPUT
    shown = (await peer.call("session/entries", sessionId=SESSION, entryIds=[result]))["items"]
    assert shown[0]["attachmentIds"] == [entry["id"]]


async def test_a_word_in_the_middle_of_an_output_is_found_at_its_result(
    claude: SpillingClaude, peer: Peer
) -> None:
    result = claude.runs(1, claude.spill("b1.txt", OUTPUT))
    await imported(peer, claude.path)

    [hit] = (await peer.call("session/search", query=MIDDLE, waitMs=60_000))["hits"]
    assert (hit["entryId"], hit["role"], hit["onPath"]) == (result, "toolResult", True)
    assert MIDDLE in hit["snippet"]


async def test_the_end_of_an_output_of_many_megabytes_is_found(claude: SpillingClaude, peer: Peer) -> None:
    claude.runs(1, claude.spill("b1.txt", 10 * LONG + f"{MIDDLE}\n"))
    await imported(peer, claude.path)

    hits = (await peer.call("session/search", query=MIDDLE, waitMs=60_000))["hits"]
    assert len(hits) == 1


async def test_reading_a_file_again_doubles_nothing(claude: SpillingClaude, peer: Peer) -> None:
    claude.runs(1, claude.spill("b1.txt", OUTPUT))
    await imported(peer, claude.path)
    claude.says("Many birds.")
    assert (await imported(peer, claude.path))["addedCount"] == 1
    assert (await imported(peer, claude.path))["status"] == "unchanged"

    assert len(await attachments(peer)) == 1


async def test_a_followed_session_gets_the_output_with_its_result(claude: SpillingClaude, peer: Peer) -> None:
    claude.says("x" * 300_000)  # only what is added to such a file is read
    await follow(peer)
    result = claude.runs(1, claude.spill("b1.txt", OUTPUT))
    await wake(peer, claude)

    [entry] = await until_attached(peer, 1)
    assert entry["data"]["targetId"] == result


async def test_an_output_that_comes_later_than_its_line_is_picked_up(
    claude: SpillingClaude, peer: Peer
) -> None:
    claude.runs(1, claude.folder() / "b1.txt")
    first = await imported(peer, claude.path)
    assert "1 files beside it are gone: b1.txt" in str(first["problems"])

    claude.spill("b1.txt", OUTPUT)
    assert (await imported(peer, claude.path))["status"] == "grown"
    [entry] = await attachments(peer, whole=True)
    assert entry["data"]["text"] == OUTPUT


async def test_following_picks_up_an_output_that_comes_later(claude: SpillingClaude, peer: Peer) -> None:
    claude.runs(1, claude.folder() / "b1.txt")
    await follow(peer)
    claude.spill("b1.txt", OUTPUT)
    await peer.call("agent/wake", agent="claude-code")

    assert len(await until_attached(peer, 1)) == 1


async def test_a_changed_output_is_another_attachment_and_the_first_one_stays(
    claude: SpillingClaude, peer: Peer
) -> None:
    path = claude.spill("b1.txt", OUTPUT)
    claude.runs(1, path)
    await imported(peer, claude.path)
    path.write_text("shorter now\n" * 1_000, encoding="utf-8")
    await imported(peer, claude.path)

    texts = [entry["data"]["text"] for entry in await attachments(peer, whole=True)]
    assert texts == [OUTPUT, "shorter now\n" * 1_000]


async def test_an_output_stays_here_when_the_agent_deletes_it(claude: SpillingClaude, peer: Peer) -> None:
    path = claude.spill("b1.txt", OUTPUT)
    claude.runs(1, path)
    await imported(peer, claude.path)
    path.unlink()
    claude.says("Many birds.")
    again = await imported(peer, claude.path)

    assert again["problems"] == []
    [entry] = await attachments(peer, whole=True)
    assert entry["data"]["text"] == OUTPUT


async def test_a_fork_has_the_output_of_the_session_that_it_came_from(
    claude: SpillingClaude, agents_home: Path, peer: Peer
) -> None:
    other = SpillingClaude(agents_home, "99999999-2222-4333-8444-555555555555")
    claude.runs(1, other.spill("b1.txt", OUTPUT))
    await imported(peer, claude.path)

    assert len(await attachments(peer)) == 1


@pytest.mark.parametrize(
    "named",
    [
        "/etc/passwd",
        "/x/../tool-results/../../secret.txt",
        f"/x/{SESSION}/tool-results/..",
        f"/x/{SESSION}/tool-results/.ssh",
        f"/x/{SESSION}/tool-results/../../secret.txt",
        "/x/../tool-results/secret.txt",
        f"/x/{SESSION}/tool-results/secret.txt/more",
    ],
)
async def test_a_transcript_names_no_file_outside_its_folder(
    named: str, claude: SpillingClaude, peer: Peer
) -> None:
    (claude.path.parent / "secret.txt").write_text("secret", encoding="utf-8")
    claude.spill("other.txt", "x")
    claude.runs(1, named)
    await imported(peer, claude.path)

    assert await attachments(peer) == []


@pytest.mark.parametrize("is_folder", [False, True])
async def test_no_symbolic_link_is_followed(
    is_folder: bool, claude: SpillingClaude, tmp_path: Path, peer: Peer
) -> None:
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "b1.txt").write_text("secret", encoding="utf-8")
    claude.folder().parent.mkdir(parents=True)
    if is_folder:
        claude.folder().symlink_to(secrets)
    else:
        claude.folder().mkdir()
        (claude.folder() / "b1.txt").symlink_to(secrets / "b1.txt")
    claude.runs(1, claude.folder() / "b1.txt")
    session = await imported(peer, claude.path)

    assert await attachments(peer) == []
    assert "1 files beside it are not kept: b1.txt" in str(session["problems"])


async def test_a_fifo_in_place_of_an_output_delays_nothing(claude: SpillingClaude, peer: Peer) -> None:
    claude.folder().mkdir(parents=True)
    os.mkfifo(claude.folder() / "b1.txt")
    claude.runs(1, claude.folder() / "b1.txt")
    session = await imported(peer, claude.path)

    assert "it is not a regular file" in str(session["problems"])


async def test_content_that_is_no_text_is_kept_byte_for_byte(
    claude: SpillingClaude, tmp_path: Path, peer: Peer
) -> None:
    content = bytes(range(256)) * 100
    claude.runs(1, claude.spill("b1.pdf", content))
    await imported(peer, claude.path)

    [entry] = await attachments(peer)
    digest = entry["data"]["blob"].rpartition(":")[2]
    assert (tmp_path / "home/data/blobs" / digest).read_bytes() == content


async def test_tasks_plans_images_and_copies_of_files_belong_to_the_session(
    claude: SpillingClaude, agents_home: Path, peer: Peer
) -> None:
    claude.says("I plan.", slug="calm-heron")
    home = agents_home / ".claude"
    for name, content in (
        (f"tasks/{SESSION}/1.json", b'{"subject": "Find the heron"}'),
        (f"tasks/{SESSION}/.lock", b""),
        (f"todos/{SESSION}-agent-{SESSION}.json", b"[]"),
        (f"file-history/{SESSION}/6534a98c7a9aec11@v1", b"first\n"),
        (f"image-cache/{SESSION}/1.png", b"\x89PNG\r\n"),
        ("plans/calm-heron.md", b"# The plan\n"),
        ("plans/another.md", b"# Of another session\n"),
        ("tasks/another/1.json", b"{}"),
    ):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    await imported(peer, claude.path)

    found = {(entry["data"]["kind"], entry["data"]["name"]) for entry in await attachments(peer)}
    assert found == {
        ("tasks", f"{SESSION}/1.json"), ("tasks", f"todos/{SESSION}-agent-{SESSION}.json"),
        ("fileSnapshot", f"{SESSION}/6534a98c7a9aec11@v1"), ("image", f"{SESSION}/1.png"),
        ("plan", "plans/calm-heron.md"),
    }  # fmt: skip
    hits = (await peer.call("session/search", query="subject heron", waitMs=60_000))["hits"]
    assert len(hits) == 1


async def test_the_leaf_stays_at_the_conversation(claude: SpillingClaude, peer: Peer) -> None:
    claude.runs(1, claude.folder() / "b1.txt")
    last = claude.says("Many birds.")
    await imported(peer, claude.path)
    claude.spill("b1.txt", OUTPUT)
    await imported(peer, claude.path)

    info = (await peer.call("session/info", sessionId=SESSION))["session"]
    assert info["leafId"] == last


def pi_session(home: Path, *outputs: str) -> Path:
    """A session file of pi with results of commands."""
    path = home / ".pi/agent/sessions/--work--/2026-01-01T00-00-00-000Z_0199.jsonl"
    path.parent.mkdir(parents=True)
    at = "2026-01-01T00:00:00.000Z"
    lines = [
        {"type": "session", "version": 3, "id": "0199", "timestamp": at, "cwd": "/work"},
        {"type": "message", "id": "a1", "parentId": None, "timestamp": at,
         "message": {"role": "user", "content": "Count the birds.", "timestamp": 1}},
        *({"type": "message", "id": f"r{number}", "parentId": "a1", "timestamp": at,
           "message": {"role": "toolResult", "toolCallId": f"c{number}", "toolName": "bash", "isError": False,
                       "content": [{"type": "text", "text": text}], "timestamp": 2}}
          for number, text in enumerate(outputs)),
    ]  # fmt: skip
    path.write_bytes(jsonl(*lines))
    return path


async def kept(peer: Peer, path: Path) -> list[dict[str, Any]]:
    """The data of the attachments of an imported session."""
    session = await imported(peer, path)
    found = await peer.call("session/entries", sessionId=session["sessionId"], limit=1_000, resolveBlobs=True)
    return [e["data"] for e in entries_of(found) if e.get("customType") == "sessiond.attachment"]


async def test_an_output_that_pi_left_in_the_temporary_folder_is_kept(
    agents_home: Path, peer: Peer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "pi-bash-0123456789abcdef.log").write_text(OUTPUT, encoding="utf-8")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/pi-bash-0123456789abcde0.log").write_text("secret", encoding="utf-8")
    path = pi_session(
        agents_home,
        f"1\n\n[Showing lines 1-9 of 99. Full output: {tmp_path}/pi-bash-0123456789abcdef.log]",
        f"2\n\n[Showing lines 1-9 of 99. Full output: {tmp_path}/other/pi-bash-0123456789abcde0.log]",
    )
    [output] = await kept(peer, path)
    assert (output["targetId"], output["text"]) == ("r0", OUTPUT)


@pytest.mark.system
async def test_a_file_of_another_user_in_a_shared_folder_is_not_read(
    agents_home: Path, peer: Peer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    tmp_path.chmod(0o1777)
    output = tmp_path / "pi-bash-0123456789abcdef.log"
    output.write_text(OUTPUT, encoding="utf-8")
    os.chown(output, 12_345, 12_345)
    path = pi_session(agents_home, f"1\n\n[Full output: {tmp_path}/pi-bash-0123456789abcdef.log]")

    assert await kept(peer, path) == []


async def test_artifacts_of_oh_my_pi_are_kept(agents_home: Path, peer: Peer) -> None:
    path = pi_session(agents_home, "[raw output: artifact://3]")
    path.with_suffix("").mkdir()
    (path.with_suffix("") / "3.bash.log").write_text(OUTPUT, encoding="utf-8")

    [output] = await kept(peer, path)
    assert (output["name"].rpartition("/")[2], output["text"]) == ("3.bash.log", OUTPUT)


async def test_a_fork_here_has_the_whole_output_with_its_result(claude: SpillingClaude, peer: Peer) -> None:
    result = claude.runs(1, claude.spill("b1.txt", OUTPUT))
    last = claude.says("Many birds.")
    await imported(peer, claude.path)
    fork = (await peer.call("session/fork", sessionId=SESSION, leafId=last))["session"]

    assert fork["leafId"] == last
    found = await peer.call("session/entries", sessionId=fork["sessionId"], entryIds=[result])
    [name] = found["items"][0]["attachmentIds"]
    named = await peer.call(
        "session/entries", sessionId=fork["sessionId"], entryIds=[name], resolveBlobs=True
    )
    assert named["items"][0]["entry"]["data"]["text"] == OUTPUT


@pytest.mark.parametrize("format", ["jsonl", "markdown", "html"])
async def test_an_export_has_the_whole_output(
    format: str, claude: SpillingClaude, peer: Peer, tmp_path: Path
) -> None:
    output = LONG[:100_000] + MIDDLE
    claude.runs(1, claude.spill("b1.txt", output))
    claude.says("Many birds.")
    await imported(peer, claude.path)
    target = tmp_path / "export"
    await peer.call("session/export", sessionId=SESSION, format=format, path=str(target))

    assert MIDDLE in target.read_text(encoding="utf-8")


async def test_the_page_of_a_session_shows_the_output_at_its_result(
    claude: SpillingClaude, peer: Peer
) -> None:
    result = claude.runs(1, claude.spill("b1.txt", OUTPUT))
    await imported(peer, claude.path)
    rows = (await peer.call("view/path", sessionId=SESSION))["rows"]

    [row] = [row for row in rows if row["id"] == result]
    assert f"{len(OUTPUT):,} bytes" in row["body"]
    assert "0 of many lines" in row["body"]


async def test_an_editor_is_told_of_the_output_of_a_result(claude: SpillingClaude, peer: Peer) -> None:
    result = claude.runs(1, claude.spill("b1.txt", OUTPUT))
    await imported(peer, claude.path)
    [entry] = await attachments(peer)
    text = (await peer.call("view/entry", sessionId=SESSION, entryId=result))["text"]
    whole = (await peer.call("view/entry", sessionId=SESSION, entryId=entry["id"]))["text"]

    assert entry["id"].replace("-", "\\-") in text or entry["id"] in text
    assert MIDDLE in whole


async def resumed(peer: Peer, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = await peer.call("session/resume", sessionId=SESSION, agent="claude-code")
    assert found["cwd"] == str(folder)
    return found


@pytest.fixture
def working(agents_home: Path, tmp_path: Path) -> SpillingClaude:
    """Claude Code in a folder that exists, so that a session can be resumed in it."""
    folder = tmp_path / "work"
    folder.mkdir()
    claude = SpillingClaude(agents_home, project=str(folder).replace("/", "-").replace("_", "-"))
    claude.asks("Count the birds.", cwd=str(folder))
    return claude


@pytest.fixture
async def output(working: SpillingClaude, peer: Peer, tmp_path: Path) -> Path:
    """A spilled output of a session that is stored."""
    output = working.spill("b1.txt", OUTPUT)
    working.runs(1, output)
    working.says("Many birds.", cwd=str(tmp_path / "work"))
    await imported(peer, working.path)
    return output


async def test_a_resume_puts_outputs_back_that_the_agent_has_deleted(
    output: Path, peer: Peer, tmp_path: Path
) -> None:
    output.unlink()
    output.parent.rmdir()
    await resumed(peer, tmp_path / "work")

    assert output.read_text(encoding="utf-8") == OUTPUT
    assert output.stat().st_mode & 0o777 == 0o600


async def test_a_resume_changes_no_output_that_is_there(output: Path, peer: Peer, tmp_path: Path) -> None:
    output.write_text("changed", encoding="utf-8")
    await resumed(peer, tmp_path / "work")

    assert output.read_text(encoding="utf-8") == "changed"


async def test_a_session_that_is_written_anew_has_the_outputs_of_the_one_that_is_gone(
    working: SpillingClaude, output: Path, peer: Peer, tmp_path: Path
) -> None:
    shutil.rmtree(working.path.with_suffix(""))
    working.path.unlink()
    found = await resumed(peer, tmp_path / "work")

    assert str(output) in Path(found["path"]).read_text(encoding="utf-8")
    assert output.read_text(encoding="utf-8") == OUTPUT
