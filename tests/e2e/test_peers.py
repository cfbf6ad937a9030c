"""The real pi and oh-my-pi, as installed, are the ones that were recorded: they still answer the same.

Needs scripts/install-peers. Without it these tests fail and say so; `-m "not interop"` leaves them out.
"""

import shutil
from pathlib import Path
from typing import Any, Literal

import pytest

from support import golden, peer_compaction, peers, recording
from support.answers import Answers, View

pytestmark = pytest.mark.interop

# The peers answer these after gigabytes and minutes, or never: the recordings speak for themselves.
ENDLESS = ("self-parent", "cycle-of-two", "cycle-off-the-path", "duplicate-id-makes-a-cycle")
CASES = [
    case for case in golden.cases() if case.name not in ENDLESS or (case.peer.name == "omp" and not case.hung)
]

ASKED_ABOUT_COMPACTION = [
    question for question in peer_compaction.questions() if question.case.startswith("compaction/")
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_installed_peer_answers_as_it_was_recorded(case: golden.GoldenCase, tmp_path: Path) -> None:
    copy = tmp_path / case.file.name
    shutil.copyfile(case.file, copy)

    reply = peers.ask(case.peer, copy, at=_leafs(case), ids=recording.FIRST_ID)

    assert _comparable(peers.read_reply(reply), case) == _comparable(case.answers, case)


@pytest.mark.parametrize("peer", peers.BOTH, ids=str)
def test_the_kept_session_of_a_peer_is_what_the_peer_writes(peer: peers.Peer) -> None:
    folder = peers.PROJECT / "tests/data/peers"
    program = folder / ("write-session.mjs" if peer.name == "pi" else "write-session.ts")

    assert peers.run_program(peer, program, None) == (folder / f"{peer}.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize("question", ASKED_ABOUT_COMPACTION, ids=str)
def test_pi_makes_a_session_shorter_as_it_was_recorded(question: peer_compaction.Question) -> None:
    assert peer_compaction.ask(question) == peer_compaction.recorded()[question.case]


@pytest.mark.parametrize("peer", peers.BOTH, ids=str)
def test_a_chain_of_five_thousand_is_walked_to_its_end(peer: peers.Peer, tmp_path: Path) -> None:
    file = tmp_path / "deep.jsonl"
    file.write_bytes(golden.deep_chain(5_000))

    current = peers.answers(peer, file).current

    assert len(current.path) == len(current.messages) == 5_000


def _leafs(case: golden.GoldenCase) -> list[str | None] | Literal["everywhere"]:
    if case.origin == "conformance" or case.generated_ids:
        return "everywhere"
    return ["current" if view.name == "current" else view.leaf_id for view in case.answers.views]


def _comparable(answers: Answers, case: golden.GoldenCase) -> dict[str, Any]:
    """All that does not hang on when and where the peer ran, nor on the ids it makes up for a v1 file."""
    position: dict[Any, Any] = {}
    if case.generated_ids:
        position = {id: at for at, id in enumerate(answers.entry_ids)}

    def named(id: Any) -> Any:
        return position.get(id, id)

    def view(seen: View) -> tuple[Any, ...]:
        return [*map(named, seen.path)], seen.messages, seen.settings, seen.error

    return {
        "opens": answers.open_error is None,
        "rewrote": answers.rewrote_at_open,
        "entries": [*map(named, answers.entry_ids)],
        "leaf": [named(seen.leaf_id) for seen in answers.views if seen.name == "current"],
        "views": {named(seen.leaf_id): view(seen) for seen in answers.views},
        "roots": [*map(named, answers.roots)],
        "parents": {named(id): named(parent) for id, parent in answers.parents.items()},
        "labels": answers.labels,
        "name": answers.session_name,
    }
