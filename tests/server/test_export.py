"""session/export: a session in the formats of other programs, inline or in a file that appears whole."""

import base64
import json  # noqa: TID251 - files are read as other programs read them
import stat
from pathlib import Path
from typing import Any, get_args

import pytest

from sessiond.agents.writing import NATIVE_WRITERS
from sessiond.protocol import enums
from support.daemons import Peer, Running, assistant, refusal, user
from support.dialects import imported, path as path_of
from support.shared import started

PNG = "iVBORw0KGgo" + "A" * 3001


async def told(daemon: Running, cwd: str) -> tuple[Peer, str, list[str]]:
    """A session with a question, two answers to it, and the leaf at the first."""
    peer, session = await started(daemon, cwd, title="Flaky", tags=["ci"])
    made = await peer.append(session, user("Why?"), assistant("A race."), user("Sure?"))
    question, answer, doubt = (entry["id"] for entry in made["entries"])
    await peer.call("session/branch", sessionId=session, entryId=answer)
    return peer, session, [question, answer, doubt]


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.split("\n") if line]


@pytest.mark.parametrize("format", ["jsonl", "operator", "go"])
async def test_an_export_can_be_imported_again(daemon: Running, cwd: str, format: str) -> None:
    peer, session, [question, answer, doubt] = await told(daemon, cwd)
    result = await peer.call("session/export", sessionId=session, format=format)
    back = imported(result["text"].encode())
    assert path_of(back)[-2:] == [question, answer]
    assert {question, answer, doubt} <= {entry.id for entry in back.entries}
    assert back.cwd == cwd


async def test_one_path_is_exported_with_new_parents_and_its_labels(memory: Running, cwd: str) -> None:
    peer, session, [question, answer, doubt] = await told(memory, cwd)
    await peer.call("session/label", sessionId=session, entryId=question, label="here")
    result = await peer.call("session/export", sessionId=session, format="jsonl", leafId=answer)
    header, *entries = lines(result["text"])
    assert header["parentSession"] == session
    assert header["id"] != session
    assert [entry["type"] for entry in entries] == ["session_info", "message", "message", "label"]
    assert [entry["id"] for entry in entries[1:3]] == [question, answer]
    assert doubt not in [entry["id"] for entry in entries]
    assert entries[3]["parentId"] == answer


async def test_a_transcript_is_readable(memory: Running, cwd: str) -> None:
    peer, session, _ = await told(memory, cwd)
    text = (await peer.call("session/export", sessionId=session, format="markdown"))["text"]
    assert text.startswith("# Flaky")
    assert "A race." in text
    assert "*Another branch starts here:* Sure?." in text


async def test_a_working_state_is_exported_for_nova_and_imported_again(memory: Running, cwd: str) -> None:
    peer, session = await started(memory, cwd)
    await peer.append(session, user("hi"))
    await peer.call(
        "state/update", sessionId=session, plan="P", tokens=30, turns=2,
        decision={"decision": "d", "rationale": "r"}, artifact={"name": "n", "path": "/x"},
    )  # fmt: skip
    result = await peer.call("session/export", sessionId=session, format="nova")
    state = json.loads(result["text"])
    assert (state["current_plan"], state["tokens_used"], state["turn_count"]) == ("P", 30, 2)
    assert state["latest_artifacts"] == {"n": "/x"}
    assert [decision["decision"] for decision in state["key_decisions"]] == ["d"]
    assert {item["name"]: item["count"] for item in result["lost"]} == {"message entry": 1}
    source = memory.home / "state.json"
    source.write_text(json.dumps({**state, "session_id": "another-one"}), encoding="utf-8")
    back = (await peer.call("session/import", path=str(source), cwd=cwd))["sessions"][0]
    again = (await peer.call("state/get", sessionId=back["sessionId"]))["state"]
    assert (again["plan"], again["tokensUsed"], again["turnCount"]) == ("P", 30, 2)
    assert again["latestArtifacts"] == {"n": "/x"}
    assert back["problems"] == []


async def test_an_export_restores_blobs(memory: Running, cwd: str) -> None:
    peer, session = await started(memory, cwd)
    image = {"type": "image", "data": PNG + "A" * (-len(PNG) % 4), "mimeType": "image/png"}
    asked = {"type": "message", "message": {"role": "user", "content": [image]}}
    await peer.append(session, asked, assistant("x" * 600_000))
    result = await peer.call("session/export", sessionId=session, format="jsonl")
    assert image["data"] in result["text"]
    assert "x" * 600_000 in result["text"]
    assert result["missingBlobs"] == []


async def test_a_file_is_written_for_its_owner_only_and_never_over_another(
    memory: Running, cwd: str, tmp_path: Path
) -> None:
    peer, session, _ = await told(memory, cwd)
    target = tmp_path / "out.md"
    params = {"sessionId": session, "format": "markdown", "path": str(target)}
    result = await peer.call("session/export", **params)
    assert (result["text"], result["path"]) == (None, str(target))
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    written = target.read_bytes()
    assert len(written) == result["sizeBytes"]
    target.write_text("mine", encoding="utf-8")
    assert (await refusal(peer.call("session/export", **params))).kind == "invalidParams"
    assert target.read_text(encoding="utf-8") == "mine"
    await peer.call("session/export", **params, overwrite=True)
    assert target.read_bytes() == written
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".out")] == []


async def test_a_path_that_cannot_be_written_is_refused(memory: Running, cwd: str, tmp_path: Path) -> None:
    peer, session, _ = await told(memory, cwd)
    info = (await peer.call("session/info", sessionId=session))["session"]
    for path in ("relative.md", info["path"], str(Path(info["path"]).with_name("other.jsonl"))):
        params = {"sessionId": session, "format": "markdown", "path": path, "overwrite": True}
        assert (await refusal(peer.call("session/export", **params))).kind == "invalidParams"
    missing = {"sessionId": session, "format": "markdown", "path": str(tmp_path / "no" / "folder" / "x.md")}
    refused = await refusal(peer.call("session/export", **missing))
    assert (refused.kind, refused.details["path"]) == ("storageFailed", missing["path"])
    folder = {"sessionId": session, "format": "markdown", "path": str(tmp_path)}
    assert (await refusal(peer.call("session/export", **folder))).kind == "invalidParams"


async def test_an_entry_that_is_not_there_is_named(memory: Running, cwd: str) -> None:
    peer, session, _ = await told(memory, cwd)
    refused = await refusal(peer.call("session/export", sessionId=session, format="go", leafId="nowhere"))
    assert refused.kind == "entryNotFound"


async def test_an_export_changes_nothing(memory: Running, cwd: str) -> None:
    peer, session, [_, answer, _] = await told(memory, cwd)
    before = memory.everything()
    for format in get_args(enums.ExportFormat):
        await peer.call("session/export", sessionId=session, format=format)
        await peer.call("session/export", sessionId=session, format=format, leafId=answer)
    assert memory.everything() == before


async def test_secrets_are_removed_unless_redaction_is_disabled(memory: Running, cwd: str) -> None:
    peer, session = await started(memory, cwd)
    key = "AKIA" + "IOSFODNN7EXAMPLE"
    made = await peer.append(session, user(f"Use {key} please"), assistant("No."))
    before = memory.everything()
    for format in ("jsonl", "operator", "go", "markdown", *NATIVE_WRITERS):
        result = await peer.call("session/export", sessionId=session, format=format)
        assert key not in result["text"]
        assert "redacted: AWS Access Key" in result["text"]
        entry = made["entries"][0]["id"]
        assert result["redacted"] == [{"kind": "AWS Access Key", "entryId": entry, "count": 1}]
    plain = await peer.call("session/export", sessionId=session, format="jsonl", redact=False)
    assert key in plain["text"]
    assert plain["redacted"] == []
    assert memory.everything() == before


async def test_secrets_in_the_title_in_tags_and_in_keys_of_objects_are_taken_out_too(
    memory: Running, cwd: str
) -> None:
    peer, session = await started(memory, cwd)
    keys = ["AKIA" + letter * 16 for letter in "ABC"]
    await peer.call("session/rename", sessionId=session, title=f"Try {keys[0]}")
    await peer.call("session/tag", sessionId=session, add=[keys[1]])
    await peer.append(
        session, {"type": "custom", "customType": "x", "data": {keys[2]: {"password": "hunter2"}}}
    )
    for format in get_args(enums.ExportFormat):
        result = await peer.call("session/export", sessionId=session, format=format)
        assert not [text for text in (*keys, "hunter2") if text in result["text"]]
    assert (await peer.call("session/info", sessionId=session))["session"]["tags"] == [keys[1]]


async def test_nothing_is_exported_over_the_files_of_sessiond(memory: Running, cwd: str) -> None:
    peer, session, _ = await told(memory, cwd)
    path = Path((await peer.call("session/info", sessionId=session))["session"]["path"])
    before = path.read_bytes()
    link = memory.home.parent / "a-way-in"
    link.symlink_to(path)
    for target in (path, link, memory.home / "state/index.db", memory.home / "data/trash/x.jsonl"):
        refused = await refusal(
            peer.call("session/export", sessionId=session, format="jsonl", path=str(target), overwrite=True)
        )
        assert refused.kind == "invalidParams"
    assert path.read_bytes() == before


async def test_pictures_lie_beside_the_transcript_that_links_to_them(
    memory: Running, cwd: str, tmp_path: Path
) -> None:
    peer, session, _ = await told(memory, cwd)
    out = tmp_path / "out"
    out.mkdir()
    data = base64.b64encode(b"a picture").decode()
    image = {"type": "image", "mimeType": "image/png", "data": data}
    await peer.append(session, {"type": "message", "message": {"role": "user", "content": [image, image]}})
    params = {"sessionId": session, "format": "markdown", "path": str(out / "how it was.md")}
    result = await peer.call("session/export", **params)
    (picture,) = result["picturePaths"]
    assert Path(picture).read_bytes() == b"a picture"
    link = f"how%20it%20was.pictures/{Path(picture).name}"
    assert f"![A picture]({link})" in Path(result["path"]).read_text(encoding="utf-8")
    assert (await refusal(peer.call("session/export", **params))).kind == "invalidParams"
    again = await peer.call("session/export", **params, overwrite=True)
    assert again["picturePaths"] == result["picturePaths"]
    assert sorted(path.name for path in out.iterdir()) == ["how it was.md", "how it was.pictures"]


async def test_a_file_in_place_of_the_folder_of_pictures_is_unchanged(
    memory: Running, cwd: str, tmp_path: Path
) -> None:
    peer, session, _ = await told(memory, cwd)
    out = tmp_path / "out"
    out.mkdir()
    image = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(b"a picture").decode()}
    await peer.append(session, {"type": "message", "message": {"role": "user", "content": [image]}})
    taken = out / "x.pictures"
    taken.write_text("mine", encoding="utf-8")
    call = peer.call("session/export", sessionId=session, format="markdown", path=str(out / "x.md"))
    assert (await refusal(call)).kind == "invalidParams"
    assert [path.name for path in out.iterdir()] == ["x.pictures"]
    assert taken.read_text(encoding="utf-8") == "mine"


async def test_progress_is_reported_and_ends_before_the_response(memory: Running, cwd: str) -> None:
    peer, session, _ = await told(memory, cwd)
    await peer.call("session/export", sessionId=session, format="markdown", workDoneToken="t-1")
    steps = [
        notification["value"] for notification in peer.told("$/progress") if notification["token"] == "t-1"
    ]
    assert [steps[0]["kind"], steps[-1]["kind"]] == ["begin", "end"]
    shares = [step["percentage"] for step in steps if step["kind"] == "report"]
    assert shares == sorted(shares)
    assert shares[-1] == 50
    assert peer.order.index("reply", peer.order.index("$/progress")) > max(
        at for at, text in enumerate(peer.order) if text == "$/progress"
    )


async def test_many_losses_and_secrets_are_counted_and_the_first_are_listed(
    memory: Running, cwd: str
) -> None:
    peer, session = await started(memory, cwd)
    odd = user("Why?")
    odd["message"] |= {f"field{number:04}": 1 for number in range(1_200)} | {"field0600": 1}
    secrets = [user("AKIA" + "QWERTYUIOPASDFGH") for _ in range(1_050)]
    await peer.append(session, odd, *secrets)
    result = await peer.call("session/export", sessionId=session, format="go")
    assert len(result["lost"]) == 1_000
    assert result["lostCount"] > sum(item["count"] for item in result["lost"])
    assert len(result["redacted"]) == 1_000
    assert result["redactedCounts"] == {"AWS Access Key": 1_050}
    assert result["entryCount"] == 1_051
