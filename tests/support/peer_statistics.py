"""Records the statistics of the real pi and oh-my-pi: tests/data/peers/statistics.json.

It has the answers of both for each session file of tests/data/peers. scripts/record-peers makes it.
"""

import json  # noqa: TID251 - as scripts/record-peers writes it
import shutil
import tempfile
from pathlib import Path
from typing import Any

from support.peers import BOTH, PROGRAMS, PROJECT, Peer, perform, run_program

FOLDER = PROJECT / "tests" / "data" / "peers"
RECORDED = FOLDER / "statistics.json"


def files() -> list[Path]:
    return sorted(FOLDER.glob("*.jsonl"))


def ask(peer: Peer, file: Path) -> dict[str, Any]:
    """Return the counts of a peer for a copy of a file."""
    with tempfile.TemporaryDirectory(prefix="peer-copy-") as folder:
        copy = Path(folder) / file.name
        shutil.copyfile(file, copy)
        if peer.name == "pi":
            counted: dict[str, Any] = json.loads(
                run_program(peer, PROGRAMS / "pi-statistics.mjs", {"file": str(copy)})
            )
        else:
            [counted] = perform(peer, copy, [["getUsageStatistics"]])
    return counted


def record() -> str:
    """Make the recording again."""
    found = {
        file.name: {peer.name: ask(peer, file) for peer in BOTH if can_read(peer, file)} for file in files()
    }
    return json.dumps(found, indent=2) + "\n"


def can_read(peer: Peer, file: Path) -> bool:
    """pi refuses files that begin with oh-my-pi's title slot."""
    return peer.name == "omp" or not file.read_bytes().startswith(b'{"type":"title"')


def recorded() -> dict[str, dict[str, dict[str, Any]]]:
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found
