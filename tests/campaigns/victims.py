"""The operations during which a daemon is killed: each victim with the promises that must hold afterwards.

A victim prepares a home, does one thing, and says after a death what the home must look like: the thing is done
or it is not, nothing between, and nothing that was there before is lost.
"""

import base64
import hashlib
import json  # noqa: TID251  (what is checked here must not be read with the product's own means)
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from campaigns.campaign import hold
from campaigns.daemons import Home
from campaigns.log_on_disk import LogOnDisk, log_of, read_log, without_title
from sessiond.client.blocking import BlockingDaemon
from support.columns import entries_of, messages_of

SESSION = "victim-session-0001"
NEW = "victim-session-0002"


@dataclass
class Stage:
    """A home, somebody who asks, and what a victim wants to remember from before the death."""

    home: Home
    daemon: BlockingDaemon
    before: dict[str, Any] = field(default_factory=dict)

    def call(self, method: str, **params: Any) -> Any:
        return self.daemon.call(method, params)

    def append(self, *entries: dict[str, Any], session_id: str = SESSION, **params: Any) -> Any:
        return self.call("session/append", sessionId=session_id, entries=list(entries), **params)

    @property
    def data(self) -> Path:
        return self.home.folder / "data"

    def files(self, pattern: str) -> list[Path]:
        """Return the files under `data`, but for hidden ones: half-made files of a killed process."""
        return sorted(
            path for path in self.data.glob(pattern) if path.is_file() and not path.name.startswith(".")
        )

    def log(self, session_id: str = SESSION) -> LogOnDisk:
        return read_log(log_of(self.home.folder, session_id))


@dataclass(frozen=True)
class Victim:
    """`act` is what the death comes into; `check` is told whether it was acknowledged, and asks a new daemon."""

    name: str
    prepare: Callable[[Stage], None]
    act: Callable[[Stage], None]
    check: Callable[[Stage, bool], None]


def user(name: str, text: str = "hello") -> dict[str, Any]:
    blocks = [{"type": "text", "text": text}]
    return {"id": name, "type": "message", "message": {"role": "user", "content": blocks}}


def assistant(name: str, text: str = "yes") -> dict[str, Any]:
    return {
        "id": name,
        "type": "message",
        "message": {
            "role": "assistant",
            "content": [{"type": "text", "text": text}],
            "provider": "p",
            "model": "m",
            "stopReason": "stop",
            "usage": {"input": 1, "output": 1},
        },
    }


def all_or_nothing(stage: Stage, names: list[str], acknowledged: bool) -> None:
    """Of these entries all are in the log, in order, or none is."""
    seqs = stage.log().seqs
    there = [seqs[name] for name in names if name in seqs]
    hold(len(there) in (0, len(names)), f"of {names} only {len(there)} are there")
    hold(there or not acknowledged, f"{names} were acknowledged and are not there")
    hold(there == sorted(there), f"{names} lie at {there}")


def still_there(stage: Stage, lines: list[bytes], session_id: str = SESSION) -> None:
    """The log begins with these lines, byte for byte."""
    kept = without_title(stage.log(session_id).raw[: len(lines)])
    hold(kept == without_title(lines), f"what {session_id} held before has changed")


# --- a session as most victims find it -----------------------------------------------------------------------


def a_session(stage: Stage) -> None:
    stage.call("session/create", cwd="/work/a", id=SESSION)
    stage.append(user("u1"), assistant("a1"), user("u2"), assistant("a2"), user("u3"), assistant("a3"))
    stage.before["lines"] = stage.log().raw


def a_draft(stage: Stage) -> None:
    stage.call("session/create", cwd="/work/a", id=SESSION)
    stage.append(user("u1"), user("u2"))
    stage.before["lines"] = stage.log().raw


def nothing(_stage: Stage) -> None:
    """Begin with an empty home."""


# --- the victims ----------------------------------------------------------------------------------------------


def _append(stage: Stage) -> None:
    stage.append(user("n1"), assistant("n2"), user("n3"))


def _check_append(stage: Stage, acknowledged: bool) -> None:
    stage.call("session/open", sessionId=SESSION)
    _append(stage)  # it may be sent again for ever, and the log is in order behind it
    still_there(stage, stage.before["lines"])
    all_or_nothing(stage, ["n1", "n2", "n3"], acknowledged=True)


def _check_append_before(stage: Stage, acknowledged: bool) -> None:
    shown = entries_of(stage.call("session/entries", sessionId=SESSION))
    names = [entry["id"] for entry in shown if entry["id"].startswith("n")]
    hold(names in ([], ["n1", "n2", "n3"]), f"a part of a batch is shown: {names}")
    hold(names or not acknowledged, "an acknowledged batch is not shown")
    _check_append(stage, acknowledged)


def _create(stage: Stage) -> None:
    stage.call("session/create", cwd="/work/b", id=NEW)


def _check_create(stage: Stage, acknowledged: bool) -> None:
    found = stage.files(f"*/*/*_{NEW}.jsonl")
    hold(len(found) <= 1, f"{NEW} has {len(found)} files")
    hold(found or not acknowledged, "an acknowledged session has no file")
    if not found:
        _create(stage)
    stage.append(user("n1"), session_id=NEW)
    log = stage.log(NEW)
    hold(log.lines[0]["id"] == NEW and len(log.lines) == 2, f"{log.path} holds {log.lines}")


def _promote(stage: Stage) -> None:
    stage.append(assistant("n1"))


def _check_promote(stage: Stage, acknowledged: bool) -> None:
    still_there(stage, stage.before["lines"])
    all_or_nothing(stage, ["n1"], acknowledged)
    _promote(stage)
    log = stage.log()
    hold("sessions" in log.path.parts, f"a session with an answer lies at {log.path}")
    hold(list(log.seqs) == ["u1", "u2", "n1"], f"{log.path} holds {list(log.seqs)}")


def _fork(stage: Stage) -> None:
    stage.call("session/fork", sessionId=SESSION, leafId="a2")


def _check_fork(stage: Stage, acknowledged: bool) -> None:
    hold(stage.log().raw == stage.before["lines"], "the source of a fork has changed")
    made = [path for path in stage.files("*/*/*.jsonl") if not path.name.endswith(f"_{SESSION}.jsonl")]
    hold(len(made) <= 1, f"one fork made {len(made)} sessions")
    hold(made or not acknowledged, "an acknowledged fork has no file")
    for path in made:
        log = read_log(path)
        told = [line.get("message", {}).get("content") for line in log.lines[1:]]
        wanted = [json.loads(line)["message"]["content"] for line in stage.before["lines"][1:5]]
        hold(told == wanted, f"{path} is a part of a fork: {told}")
        hold(not log.tail, f"{path} ends in half a line")
        stage.call("session/open", sessionId=str(log.lines[0]["id"]))
    _fork(stage)


def _change(stage: Stage) -> None:
    stage.call("session/rename", sessionId=SESSION, title="a title")
    stage.call("session/tag", sessionId=SESSION, add=["one"])
    stage.call("session/label", sessionId=SESSION, entryId="u2", label="here")
    stage.call("session/branch", sessionId=SESSION, entryId="a1")


def _check_change(stage: Stage, acknowledged: bool) -> None:
    told = stage.call("session/open", sessionId=SESSION)["session"]
    # Each was sent when the one before was acknowledged, so what is there is a beginning of them.
    labels = [node["label"] for node in stage.call("session/tree", sessionId=SESSION, filter="all")["nodes"]]
    done = [told["title"] == "a title", told["tags"] == ["one"], "here" in labels, told["leafId"] == "a1"]
    hold(done == sorted(done, reverse=True), f"a later change is there and an earlier is not: {done}")
    hold(all(done) or not acknowledged, f"acknowledged changes are not there: {done}")
    _change(stage)
    still_there(stage, stage.before["lines"])


def _compact(stage: Stage) -> None:
    stage.call("session/compact", sessionId=SESSION, summary="so far so good", firstKeptEntryId="u3")


def _check_compact(stage: Stage, acknowledged: bool) -> None:
    messages = messages_of(stage.call("session/context", sessionId=SESSION))
    compacted = "so far so good" in json.dumps(messages[0])
    hold(compacted or not acknowledged, "an acknowledged compaction is not there")
    hold(len(messages) == (3 if compacted else 6), f"the context has {len(messages)} messages")
    if not compacted:
        _compact(stage)
    still_there(stage, stage.before["lines"])


def _delete(stage: Stage) -> None:
    stage.call("session/delete", sessionId=SESSION, note="why not")


def _in_one_place(stage: Stage) -> bool:
    """The log is there once, byte for byte; whether in the trash."""
    kept, gone = stage.files(f"[sd]*/*/*_{SESSION}.jsonl"), stage.files(f"trash/*_{SESSION}.jsonl")
    hold(len(kept) + len(gone) == 1, f"the session is there {len(kept)} times, and {len(gone)} in the trash")
    found = (kept or gone)[0].read_bytes().split(b"\n")[:-1]
    hold(found == stage.before["lines"], "what went to the trash and back has changed")
    return bool(gone)


def _check_delete(stage: Stage, acknowledged: bool) -> None:
    gone = _in_one_place(stage)
    hold(gone or not acknowledged, "an acknowledged delete has not moved the session")
    if not gone:
        _delete(stage)
    told = stage.call("trash/list")["sessions"]
    hold([item["note"] for item in told] == ["why not"], f"the trash says {told}")
    stage.call("trash/restore", sessionId=SESSION)
    hold(not _in_one_place(stage), "a restored session lies in the trash")
    stage.call("session/open", sessionId=SESSION)


def _a_deleted_session(stage: Stage) -> None:
    a_session(stage)
    _delete(stage)


def _restore(stage: Stage) -> None:
    stage.call("trash/restore", sessionId=SESSION)


def _check_restore(stage: Stage, acknowledged: bool) -> None:
    gone = _in_one_place(stage)
    hold(not gone or not acknowledged, "an acknowledged restore has not moved the session")
    if gone:
        _restore(stage)
    hold(stage.call("trash/list")["sessions"] == [], "the trash still names a session that came back")
    stage.call("session/open", sessionId=SESSION)
    hold(not _in_one_place(stage), "a restored session lies in the trash")


def _purge(stage: Stage) -> None:
    stage.call("trash/purge", sessionId=SESSION, dryRun=False)


def _check_purge(stage: Stage, acknowledged: bool) -> None:
    left = stage.files(f"*/*{SESSION}.jsonl*") + stage.files(f"*/*/*{SESSION}.jsonl*")
    logs = [path for path in left if path.suffix == ".jsonl"]
    hold(not left or not acknowledged, f"an acknowledged purge has left {left}")
    if logs:
        hold(_in_one_place(stage), "a purge has brought a session back")
        _purge(stage)
    hold(stage.call("trash/list")["sessions"] == [], "the trash names a session that is gone for good")


def _move(stage: Stage) -> None:
    stage.call("session/move", sessionId=SESSION, cwd="/work/elsewhere")


def _check_move(stage: Stage, acknowledged: bool) -> None:
    log = stage.log()
    hold(log.raw[1:] == stage.before["lines"][1:], "a move has changed entries")
    cwd = log.lines[0]["cwd"]
    hold(cwd == "/work/elsewhere" or (cwd == "/work/a" and not acknowledged), f"the header says {cwd}")
    _move(stage)
    moved = stage.log()
    hold(moved.lines[0]["cwd"] == "/work/elsewhere", f"after a move the header says {moved.lines[0]['cwd']}")
    hold("elsewhere" in moved.path.parent.name, f"after a move the file is {moved.path}")
    hold(moved.raw[1:] == stage.before["lines"][1:], "a move has changed entries")


def _an_old_log(version: int) -> Callable[[Stage], None]:
    def prepare(stage: Stage) -> None:
        header = {
            "type": "session",
            "version": version,
            "id": SESSION,
            "timestamp": _time(0),
            "cwd": "/work/a",
        }
        lines = [header]
        for number in range(1, 7):
            role = "user" if number % 2 else "assistant"
            message = {"role": role, "content": [{"type": "text", "text": f"text {number}"}]}
            line: dict[str, Any] = {"type": "message", "timestamp": _time(number), "message": message}
            if version > 1:
                line |= {"id": f"0000000{number}", "parentId": f"0000000{number - 1}" if number > 1 else None}
            lines.append(line)
        folder = stage.data / "sessions" / "--work-a--"
        folder.mkdir(mode=0o700, parents=True)
        path = folder / f"2026-01-01T00-00-00-000Z_{SESSION}.jsonl"
        path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        stage.before["file"] = path.read_bytes()

    return prepare


def _time(seconds: int) -> str:
    return f"2026-01-01T00:00:{seconds:02}.000Z"


def _append_one(stage: Stage) -> None:
    stage.append(user("n1"))


def _check_migration(stage: Stage, acknowledged: bool) -> None:
    log = stage.log()
    now = log.path.read_bytes()
    migrated = log.lines[0].get("version") == 3
    if migrated:
        kept = [path.read_bytes() for path in stage.files(f"sessions/*/*_{SESSION}.jsonl.v*.bak")]
        hold(kept and set(kept) == {stage.before["file"]}, "a migrated log has no original beside it")
    else:
        hold(now == stage.before["file"], "an old log has changed without being migrated")
    hold(migrated or not acknowledged, "an old log was written to and is no v3")
    _append_one(stage)
    after = stage.log()
    texts = [line["message"]["content"][0]["text"] for line in after.lines[1:]]
    hold(texts == [f"text {number}" for number in range(1, 7)] + ["hello"], f"{after.path} holds {texts}")
    parents = [line["parentId"] for line in after.lines[1:]]
    hold(parents == [None, *(line["id"] for line in after.lines[1:-1])], f"{after.path} links {parents}")


def _a_damaged_end(end: bytes) -> Callable[[Stage], None]:
    """A log as a crash may have left it."""

    def prepare(stage: Stage) -> None:
        a_session(stage)
        path = stage.log().path
        stage.before["end"] = end
        stage.before["path"] = str(path)
        stage.call("session/close", sessionId=SESSION)
        stage.home.kill(signal.SIGTERM)
        with open(path, "ab") as file:
            file.write(end)

    return prepare


def _check_repair(stage: Stage, acknowledged: bool) -> None:
    path = Path(stage.before["path"])
    whole = b"\n".join(stage.before["lines"]) + b"\n"
    now, end = path.read_bytes(), stage.before["end"]
    hold(now.startswith(whole), "a repair has changed what was whole")
    kept = [file.read_bytes() for file in stage.files(f"sessions/*/*_{SESSION}.jsonl.torn-*")]
    hold(end in (now[len(whole) :], *kept), "a torn end is neither in the log nor beside it")
    _append_one(stage)
    still_there(stage, stage.before["lines"])
    names = list(stage.log().seqs)
    hold(names[6:] == ["n1"], f"behind a torn end the log has {names[6:]}")
    kept = [file.read_bytes() for file in stage.files(f"sessions/*/*_{SESSION}.jsonl.torn-*")]
    hold(end in kept, "a torn end was thrown away")


_IMAGE = base64.b64encode(bytes(range(256)) * 40).decode()


def _append_image(stage: Stage) -> None:
    block = {"type": "image", "data": _IMAGE, "mimeType": "image/png"}
    stage.append({"id": "n1", "type": "message", "message": {"role": "user", "content": [block]}})


def _check_image(stage: Stage, acknowledged: bool) -> None:
    for blob in stage.files("blobs/*"):
        good = hashlib.sha256(blob.read_bytes()).hexdigest() == blob.name
        hold(good, f"{blob} is not what its name says")
    all_or_nothing(stage, ["n1"], acknowledged)
    for line in stage.log().lines[7:]:
        named = line["message"]["content"][0]["data"].removeprefix("blob:sha256:")
        hold((stage.data / "blobs" / named).exists(), f"a line names a blob that is not there: {named}")
    _append_image(stage)
    back = stage.call("session/entries", sessionId=SESSION, entryIds=["n1"], resolveBlobs=True)
    hold(entries_of(back)[0]["message"]["content"][0]["data"] == _IMAGE, "an image did not come back whole")


def _remember(stage: Stage) -> None:
    stage.call("history/add", prompt="what did I say")
    stage.call("session/list")
    stage.call("session/search", query="hello")


def _check_index(stage: Stage, acknowledged: bool) -> None:
    recent = [prompt["prompt"] for prompt in stage.call("history/list")["prompts"]]
    hold("what did I say" in recent or not acknowledged, f"the history has {recent}")
    listed = [session["sessionId"] for session in stage.call("session/list")["sessions"]]
    hold(listed == [SESSION], f"the list has {listed}")
    _append(stage)
    found = stage.call("session/search", query="hello")["hits"]
    names = {item["entryId"] for item in found}
    hold(names == {"u1", "u2", "u3", "n1", "n3"}, f"the search found {sorted(names)}")


def _some_prompts(stage: Stage) -> None:
    a_session(stage)
    for number in range(6):
        stage.call("history/add", prompt=f"prompt {number}")
    stage.before["listed"] = stage.call("history/list")["prompts"]


def _delete_prompts(stage: Stage) -> None:
    stage.call("history/delete", promptIds=[item["promptId"] for item in stage.before["listed"][::2]])


def _check_prompts(stage: Stage, acknowledged: bool) -> None:
    before, listed = stage.before["listed"], stage.call("history/list")["prompts"]
    stay = [item for item in before if item not in before[::2]]
    hold(listed == stay or (listed == before and not acknowledged), f"the history has {listed}")
    _delete_prompts(stage)
    hold(stage.call("history/list")["prompts"] == stay, "prompts could not be deleted again")


VICTIMS = (
    Victim("append", a_session, _append, _check_append_before),
    Victim("create", nothing, _create, _check_create),
    Victim("promotion", a_draft, _promote, _check_promote),
    Victim("fork", a_session, _fork, _check_fork),
    Victim("trash", a_session, _delete, _check_delete),
    Victim("restore", _a_deleted_session, _restore, _check_restore),
    Victim("migration of version 1", _an_old_log(1), _append_one, _check_migration),
    Victim("migration of version 2", _an_old_log(2), _append_one, _check_migration),
    Victim("repair of half a line", _a_damaged_end(b'{"type":"message","id":"t1","par'), _append_one, _check_repair),
    Victim("repair of NULs", _a_damaged_end(b"\0" * 5000), _append_one, _check_repair),
    Victim(
        "repair of half a batch",
        _a_damaged_end(
            b'{"type":"custom","id":"t1","parentId":"a3","timestamp":"2026-01-01T00:00:09.000Z","customType":"x"\t}\n'
        ),
        _append_one,
        _check_repair,
    ),
    Victim("blob", a_session, _append_image, _check_image),
    Victim("rename, tag, label, branch", a_session, _change, _check_change),
    Victim("compaction", a_session, _compact, _check_compact),
    Victim("move", a_session, _move, _check_move),
    Victim("purge", _a_deleted_session, _purge, _check_purge),
    Victim("index and history", a_session, _remember, _check_index),
    Victim("deletion of prompts", _some_prompts, _delete_prompts, _check_prompts),
)  # fmt: skip
