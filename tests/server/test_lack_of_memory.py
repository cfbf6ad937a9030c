"""A request for which there is no memory is refused, and the daemon goes on."""

from pathlib import Path
from typing import Any, Final

import pytest

from sessiond.hub.transfer import exporting
from support.daemons import Refused, assistant, joined, refusal, running, spawn, user

KILOBYTES: Final = 450_000
"""The memory of a daemon and of each of its processes."""
WORDS: Final = "word " * 2_400_000


async def test_a_request_that_lacks_memory_is_refused_and_the_next_one_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(*_: Any) -> None:
        raise MemoryError

    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        session_id = (await peer.call("session/create", cwd="/w"))["session"]["sessionId"]
        await peer.append(session_id, user("hello"), assistant("hi"))
        with monkeypatch.context() as patched:
            patched.setattr(exporting, "convert", lacking)
            with pytest.raises(Refused) as refused:
                await peer.call("session/export", sessionId=session_id, format="jsonl")
        assert (refused.value.kind, refused.value.data["retryable"]) == ("overloaded", True)
        assert (await peer.call("session/export", sessionId=session_id, format="jsonl"))["entryCount"] == 2


async def test_a_session_that_is_larger_than_the_memory_is_exported_or_refused_and_the_daemon_goes_on(
    tmp_path: Path,
) -> None:
    process = await spawn(tmp_path, kilobytes=KILOBYTES)
    peer = await joined(tmp_path).attach()
    session_id = (await peer.call("session/create", cwd="/w"))["session"]["sessionId"]
    for _ in range(10):
        await peer.append(session_id, user(WORDS))
        await peer.append(session_id, assistant(WORDS))
    target = tmp_path / "whole.jsonl"
    exported = await peer.call(
        "session/export", sessionId=session_id, format="jsonl", path=str(target), redact=False
    )
    with target.open("rb") as written:
        sizes = [len(line) for line in written]
    assert exported["sizeBytes"] == sum(sizes) > 20 * len(WORDS)
    assert (len(sizes), min(sizes[1:]) > len(WORDS)) == (21, True)
    for name in ("markdown", "html", "claude-code"):
        path = str(tmp_path / f"refused.{name}")
        refused = await refusal(
            peer.call("session/export", sessionId=session_id, format=name, path=path, redact=False)
        )
        assert refused.kind == "overloaded"
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["whole.jsonl"]
    refused = await refusal(peer.call("session/export", sessionId=session_id, format="jsonl", redact=False))
    assert refused.kind == "tooLarge"
    assert (await peer.call("session/info", sessionId=session_id))["session"]["messageCount"] == 20
    process.terminate()
    assert await process.wait() == 0
