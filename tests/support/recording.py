"""Records the answers of a real peer for one file: tests/data/conformance/<file>.<peer>-<version>.json.

A recording has three parts: what the peer sees in the file, how the opening changed its bytes, and what
the file contains after the peer has appended one message. scripts/record-peers makes it from copies, and
the interop tests compare it.

    file, peer        the file and the peer of the recording; all paths are removed
    hung              true: the peer did not answer within the time limit, and nothing else is known
    openError, entryIds, roots, parents, treeError, labels, sessionName    as in `Answers`
    header            as in `Answers`; "new" if the file had none and the peer wrote one
    generatedIds      true: the file has no ids (v1), and the peer generated the ids
    messages          every distinct message, once
    views             name -> {leafId, path, messages: [positions in messages], settings} or {leafId, error}
    sha256            of the file before, and after opening (null with a new header)
    rewroteAtOpen     those two differ
    append            {error} or {parentId, keptBytes, survived, lost}: whether the old bytes are still a
                      prefix of the file, whether the new entry is there after reopening, which old are not
"""

import json  # noqa: TID251  (answers hold lone surrogates, which msgspec refuses)
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from support.answers import Answers, View
from support.peers import Peer, PeerFailed, PeerHung, ask

PROBE = {"role": "user", "content": "appended by the peer", "timestamp": 1772355600000}
HOME = "/home/dev/sessions"  # the folder of the files in recordings
FORK_ID = "5e55104d-0000-4000-8000-00000000f04c"
FIRST_ID = 0x0F00D  # the start of the peers' ids, so that a recording is the same each time
TIME_LIMIT = 120.0  # seconds; pi needs several seconds to run out of memory on a cycle


def recording_path(file: Path, peer: Peer) -> Path:
    return file.with_name(f"{file.stem}.{peer}.json")


def record(peer: Peer, file: Path, *, time_limit: float = TIME_LIMIT) -> dict[str, Any]:
    """Ask `peer` about a copy of `file`; `file` itself is not touched."""
    recorded: dict[str, Any] = {"file": file.name, "peer": peer.name, "version": peer.version}
    with tempfile.TemporaryDirectory(prefix="peer-copy-") as folder:
        copy = Path(folder) / file.name
        shutil.copyfile(file, copy)
        before = _hash(copy)
        try:
            reply = ask(peer, copy, at="everywhere", ids=FIRST_ID, timeout=time_limit)
        except PeerHung:
            return {**recorded, "hung": True}
        recorded |= _seen(reply, file.read_bytes())
        after = (
            None if recorded.get("header") == "new" else _hash(copy)
        )  # a new header is different each time
        recorded |= {"sha256": [before, after], "rewroteAtOpen": reply["rewroteAtOpen"]}
        if "openError" not in reply:
            shutil.copyfile(file, copy)
            recorded["append"] = _append_probe(peer, copy, reply["entryIds"], time_limit)
    return recorded


def fork(peer: Peer, file: Path, leaf_id: str) -> str:
    """The session file that `peer` forks from `file` at `leaf_id`, without this machine's paths."""
    with tempfile.TemporaryDirectory(prefix="peer-copy-") as folder:
        copy = Path(folder) / file.name
        shutil.copyfile(file, copy)
        reply = ask(peer, copy, steps=[["createBranchedSession", leaf_id]], ids=FIRST_ID)
    lines = reply["written"].split("\n")
    position = next(at for at, line in enumerate(lines) if line.startswith('{"type":"session"'))
    header = json.loads(lines[position])
    header |= {"id": FORK_ID, "cwd": reply["header"]["cwd"], "parentSession": f"{HOME}/{file.name}"}
    lines[position] = json.dumps(header, ensure_ascii=False, separators=(",", ":"))
    return "\n".join(lines)


def ids_are_made_up(entry_ids: Iterable[Any], content: bytes) -> bool:
    """Whether a peer gave entries ids that are not in the file."""
    ids = [id for id in entry_ids if isinstance(id, str)]
    return any(json.dumps(id, ensure_ascii=False).encode() not in content for id in ids)


def _seen(reply: Mapping[str, Any], content: bytes) -> dict[str, Any]:
    if "openError" in reply:
        return {"openError": reply["openError"]}
    pool: list[Any] = []
    views: dict[str, Any] = {}
    for name, view in reply["at"].items():
        if "error" in view:
            views[name] = view
            continue
        for message in view["messages"]:
            if message not in pool:
                pool.append(message)
        views[name] = {**view, "messages": [pool.index(message) for message in view["messages"]]}
    kept = ("header", "sessionName", "entryIds", "roots", "parents", "treeError", "labels")
    seen: dict[str, Any] = {key: reply[key] for key in kept if key in reply}
    if b'"session"' not in content:
        seen["header"] = (
            "new"  # the file had no header, so the peer wrote one, with a new id and its own folder
        )
    if ids_are_made_up(reply["entryIds"], content):
        seen["generatedIds"] = True
    return {**seen, "messages": pool, "views": views}


def _append_probe(peer: Peer, copy: Path, entry_ids: list[Any], time_limit: float) -> dict[str, Any]:
    old = copy.read_bytes()
    try:
        reply = ask(peer, copy, steps=[["appendMessage", PROBE]], ids=FIRST_ID, timeout=time_limit)
        if "stepError" in reply:
            return {"error": reply["stepError"]}
        (appended,) = reply["results"]
        lines = [line for line in copy.read_bytes().split(b"\n") if b'"appended by the peer"' in line]
        again = ask(peer, copy, ids=2 * FIRST_ID, timeout=time_limit)
    except PeerFailed as failure:
        return {"error": type(failure).__name__}
    found = again.get("entryIds", [])
    outcome: dict[str, Any] = {"keptBytes": copy.read_bytes().startswith(old), "survived": appended in found}
    if lines and len(lines[-1]) < 1000 and lines[-1].startswith(b"{"):
        outcome["parentId"] = _parent_of(lines[-1], appended)
    if len(entry_ids) == len(reply["entryIds"]) and not _made_up_twice(entry_ids, found):
        outcome["lost"] = [id for id in dict.fromkeys(entry_ids) if id not in found]
    return outcome


def _parent_of(line: bytes, appended: str) -> str | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    parent: str | None = entry.get("parentId") if entry.get("id") == appended else None
    return parent


def _made_up_twice(first: list[Any], second: list[Any]) -> bool:
    """Whether a file without ids got different ids when it was opened again. Losses cannot be detected then."""
    return bool(first) and not set(map(str, first)) & set(map(str, second))


def dump(recorded: Mapping[str, Any]) -> str:
    """JSON with one line per message and per view, so that a changed recording shows what changed."""
    parts = []
    for key, value in recorded.items():
        if key == "messages" and value:
            inner = ",\n".join(f"    {_compact(message)}" for message in value)
            parts.append(f'  "{key}": [\n{inner}\n  ]')
        elif key == "views" and value:
            inner = ",\n".join(f"    {_compact(name)}: {_compact(view)}" for name, view in value.items())
            parts.append(f'  "{key}": {{\n{inner}\n  }}')
        else:
            parts.append(f'  "{key}": {_compact(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def load(path: Path) -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads(path.read_bytes())
    return recorded


def answers_of(recorded: Mapping[str, Any]) -> Answers:
    """The recording as `Answers`, with each view's messages in full."""
    pool = recorded.get("messages", [])
    return Answers(
        open_error=recorded.get("openError"),
        rewrote_at_open=recorded.get("rewroteAtOpen", False),
        header=header if isinstance(header := recorded.get("header"), dict) else None,
        entry_ids=tuple(recorded.get("entryIds", ())),
        views=tuple(
            View(
                name,
                view.get("leafId"),
                tuple(view.get("path", ())),
                tuple(pool[position] for position in view.get("messages", ())),
                view.get("settings", {}),
                view.get("error"),
            )
            for name, view in recorded.get("views", {}).items()
        ),
        roots=tuple(recorded.get("roots", ())),
        parents=recorded.get("parents", {}),
        tree_error=recorded.get("treeError"),
        labels=recorded.get("labels", {}),
        session_name=recorded.get("sessionName"),
    )


def _compact(value: Any) -> str:
    return json.dumps(value)


def _hash(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()
