"""Every recorded answer of a real peer, in one shape.

`cases()` returns one case for each pair of file and peer: those of tests/data/conformance, then others if there
are any. The others are in SESSIOND_SAMPLES, or by default in shared/samples beside the project:
`inputs/NAME.jsonl` with `NAME.PEER.json`, and `pi-golden/PEER/NAME.jsonl` with `NAME.expected.json`.
"""

import json  # noqa: TID251  (answers hold lone surrogates, which msgspec refuses)
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from support import recording
from support.answers import Answers, View
from support.peers import PROJECT, Peer

OURS = PROJECT / "tests" / "data" / "conformance"


@dataclass(frozen=True)
class GoldenCase:
    """The answer of one peer about one file. `str(case)` is a name for a test."""

    origin: Literal["conformance", "inputs", "pi-golden"]
    name: str
    peer: Peer
    file: Path
    answers: Answers
    hung: bool = False
    """The peer did not answer, so `answers` is empty."""
    append: Mapping[str, Any] | None = None
    """The file after the peer appended to it (see support.recording); only for files of this project."""

    def __str__(self) -> str:
        return f"{self.origin}/{self.name}:{self.peer}"

    @property
    def generated_ids(self) -> bool:
        """The file has no ids (v1), and the peer generated them: compare ids by position in `entry_ids`."""
        content = self.file.read_bytes()
        return recording.ids_are_made_up(self.answers.entry_ids, content)


def cases() -> list[GoldenCase]:
    return [*_ours(), *_inputs(samples()), *_pi_golden(samples())]


def samples() -> Path:
    return Path(os.environ.get("SESSIOND_SAMPLES") or PROJECT.parent / "shared" / "samples")


def deep_chain(length: int) -> bytes:
    """A session file whose entries are one chain, questions and answers in turn, ids from `m00000` on."""
    lines = [
        {
            "type": "session",
            "version": 3,
            "id": "5e55104d-0000-4000-8000-00000000dee9",
            "timestamp": "2026-03-01T08:00:00.000Z",
            "cwd": "/home/dev/clock",
        }
    ]
    for at in range(length):
        asked = {"role": "user", "content": f"tick {at}"}
        said = {"role": "assistant", "content": [{"type": "text", "text": f"tock {at}"}]}
        lines.append(
            {
                "type": "message",
                "id": f"m{at:05}",
                "parentId": f"m{at - 1:05}" if at else None,
                "timestamp": "2026-03-01T08:00:01.000Z",
                "message": said if at % 2 else asked,
            }
        )
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def _ours() -> Iterator[GoldenCase]:
    for file in sorted(OURS.glob("*.jsonl")):
        for path in sorted(OURS.glob(f"{file.stem}.*.json")):
            recorded = recording.load(path)
            yield GoldenCase(
                "conformance",
                file.stem,
                Peer(recorded["peer"], recorded["version"]),
                file,
                recording.answers_of(recorded),
                hung=recorded.get("hung", False),
                append=recorded.get("append"),
            )


def _inputs(folder: Path) -> Iterator[GoldenCase]:
    for file in sorted(folder.glob("inputs/*.jsonl")):
        for path in sorted(file.parent.glob(f"{file.stem}.*.json")):
            peer = _peer(path.name.removeprefix(f"{file.stem}.").removesuffix(".json"))
            recorded = json.loads(path.read_bytes())
            answers = _answers(recorded.get("snapshot", {}), recorded)
            yield GoldenCase("inputs", file.stem, peer, file, answers)


def _pi_golden(folder: Path) -> Iterator[GoldenCase]:
    for path in sorted(folder.glob("pi-golden/*/*.expected.json")):
        peer, name = _peer(path.parent.name), path.name.removesuffix(".expected.json")
        recorded = json.loads(path.read_bytes())
        file, source = path.with_name(f"{name}.jsonl"), path.with_name(f"{name}.source.jsonl")
        if file.exists():
            yield GoldenCase("pi-golden", name, peer, file, _answers(recorded, {}))
        if source.exists():
            # The peer had moved its leaf in memory only, so its view is different after it opens the file.
            before = recorded["before"]
            before["leafs"]["in memory"] = before["leafs"].pop("current")
            yield GoldenCase("pi-golden", f"{name}.source", peer, source, _answers(before, {}))


def _answers(snapshot: Mapping[str, Any], around: Mapping[str, Any]) -> Answers:
    tree = snapshot.get("tree", {})
    return Answers(
        open_error=around.get("openError"),
        rewrote_at_open=around.get("openRewroteFile", False),
        header=snapshot.get("header"),
        entry_ids=tuple(snapshot.get("entryIds", ())),
        views=tuple(
            _view(name, view)
            for name, view in snapshot.get("leafs", {}).items()
            if view.get("leafId") in (None, *snapshot["entryIds"])  # else the question would concern no entry
        ),
        roots=tuple(tree.get("roots", ())),
        parents={node["id"]: node["treeParent"] for node in tree.get("nodesBreadthFirst", ())},
        labels=snapshot.get("labels", {}),
        session_name=snapshot.get("sessionName"),
    )


def _view(name: str, view: Mapping[str, Any]) -> View:
    if "error" in view:
        return View(name, view.get("leafId"), error=view["error"])
    settings = {key: value for key, value in view["context"].items() if key != "messages"}
    return View(name, view.get("leafId"), tuple(view["branch"]), tuple(view["context"]["messages"]), settings)


def _peer(name: str) -> Peer:
    program, _, version = name.partition("-")
    return Peer("pi" if program == "pi" else "omp", version)
