"""The counts here are those of the real pi and oh-my-pi (decision 0017)."""

from typing import Any

import pytest

from sessiond.session.state.statistics import Tally, tally_tree
from sessiond.session.tree import steps
from support import peer_statistics
from support.logs import Loaded

RECORDED = peer_statistics.recorded()
WHOLE = {  # who knows every place where tokens are told in a file
    "pi-1.6.0.jsonl": ("pi", "omp"), "omp-18.3.4.jsonl": ("omp",), "usage-pi.jsonl": ("pi",),
    "usage-omp.jsonl": ("omp",),
}  # fmt: skip
CASES = [(file, peer) for file, peers in WHOLE.items() for peer in peers]


def tally(file: str) -> Tally:
    session = Loaded((peer_statistics.FOLDER / file).read_bytes())
    found = Tally()
    steps.run(tally_tree(found, session.tree, session.read))
    return found


def tokens_of(counted: dict[str, Any]) -> dict[str, int]:
    """Tokens as either peer tells them."""
    told = counted.get("tokens", counted)
    return {name: told[name] for name in ("input", "output", "cacheRead", "cacheWrite")} | {
        "total": told.get("total", told.get("totalTokens"))
    }


def our_tokens(found: Tally) -> dict[str, int]:
    tokens = found.tokens
    return {
        "input": tokens.input, "output": tokens.output, "cacheRead": tokens.cache_read,
        "cacheWrite": tokens.cache_write, "total": tokens.total,
    }  # fmt: skip


def test_every_session_of_the_peers_was_counted_by_who_knows_it() -> None:
    assert {file.name for file in peer_statistics.files()} == RECORDED.keys() == WHOLE.keys()


@pytest.mark.parametrize(("file", "peer"), CASES)
def test_tokens_and_cost_are_what_the_peer_counts(file: str, peer: str) -> None:
    found, counted = tally(file), RECORDED[file][peer]
    assert our_tokens(found) == tokens_of(counted)
    assert found.cost.total == pytest.approx(counted["cost"])


@pytest.mark.parametrize("file", [file for file in WHOLE if "pi" in RECORDED[file]])
def test_messages_and_tool_calls_are_what_pi_counts(file: str) -> None:
    found, counted = tally(file), RECORDED[file]["pi"]
    roles = {"user": "userMessages", "assistant": "assistantMessages", "toolResult": "toolResults"}
    assert {counted_as: found.messages[role] for role, counted_as in roles.items()} == {
        name: counted[name] for name in roles.values()
    }
    assert sum(found.messages.values()) == counted["totalMessages"]
    assert found.tool_calls == sum(found.tools.values()) == counted["toolCalls"]


@pytest.mark.parametrize("file", ["pi-1.6.0.jsonl", "usage-pi.jsonl"])
def test_shares_of_models_are_those_of_pi(file: str) -> None:
    shares = {
        model or "Tools/summaries": (pytest.approx(share.cost.total), share.tokens.total)
        for model, share in tally(file).models.items()
    }
    assert {
        model["key"]: (model["cost"], model["tokens"]) for model in RECORDED[file]["pi"]["models"]
    } == shares
