"""The working state along a path (decision 0022), and that a branch and a fork have that of their point."""

import itertools
import json  # noqa: TID251 - lines are written as another program may write them
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from sessiond.session.state.updates import (
    Decided,
    Point,
    RecordedArtifact,
    RecordedLimits,
    Update,
    apply_entry,
    state_at,
)
from sessiond.session.state.working_state import BranchState, PruningLimits, RecordedDecision, context_lines
from sessiond.session.tree import steps
from sessiond.session.tree.fork import fork_lines
from sessiond.session.tree.tree import NONE
from support.logs import Line, Loaded, assistant, entry, header, label, leaf, loaded, log, time_of, user


def state_line(data: Any, **fields: Any) -> Line:
    return entry("custom", customType="sessiond.state", data=data, **fields)


def updated(**parts: Any) -> Line:
    return state_line(json.loads(msgspec.json.encode(Update(**parts))))


def tagged(*tags: str, **fields: Any) -> Line:
    return entry("custom", customType="sessiond.tags", data={"tags": list(tags)}, **fields)


def at(session: Loaded, row: int | None = None, known: Point | None = None) -> Point:
    row = session.tree.leaf if row is None else row
    return steps.run(state_at(session.tree, row, session.read, known))


def state_of(*lines: Line | bytes) -> BranchState:
    return at(loaded(header(), *lines)).state


def decided(count: int) -> list[Line]:
    return [updated(decision=Decided(decision=f"d{number}")) for number in range(1, count + 1)]


def test_a_session_without_updates_has_an_empty_state() -> None:
    assert state_of(user("hi")) == BranchState()


def test_before_the_first_entry_stand_only_the_tags_of_the_header() -> None:
    session = loaded(header(tags=["bug"]), updated(tokens=5))
    assert at(session, NONE).state == BranchState(tags=("bug",))


def test_one_line_holds_all_parts_of_an_update() -> None:
    line = updated(
        decision=Decided(decision="Use a buffer", rationale="It is simpler"),
        artifact=RecordedArtifact(name="parser", path="/src/parser.py"),
        tokens=300, turns=2, plan="Fix it", model="anthropic/claude", agent_name="scout",
    )  # fmt: skip
    assert state_of(line) == BranchState(
        plan="Fix it", decisions=[RecordedDecision("Use a buffer", "It is simpler", time_of(1))],
        artifacts={"parser": "/src/parser.py"}, tokens_used=300, turn_count=2, decision_count=1,
        total_tokens=300, task_count=1, model="anthropic/claude", agent_name="scout", updated_at=time_of(1),
    )  # fmt: skip


def test_numbers_add_up_and_the_rest_replaces() -> None:
    state = state_of(
        updated(tokens=100, turns=1, plan="one", artifact=RecordedArtifact(name="a", path="/1")),
        updated(tokens=20, turns=3, plan="two", artifact=RecordedArtifact(name="a", path="/2")),
    )
    assert (state.tokens_used, state.turn_count, state.task_count) == (120, 4, 2)
    assert (state.plan, state.artifacts) == ("two", {"a": "/2"})


def test_an_empty_plan_takes_the_plan_away() -> None:
    assert state_of(updated(plan="one"), updated(plan="")).plan is None


def test_a_decision_may_bring_the_time_it_was_made() -> None:
    (decision,) = state_of(updated(decision=Decided(decision="d", timestamp="2025-01-01T00:00:00"))).decisions
    assert decision.timestamp == "2025-01-01T00:00:00"


def test_an_eleventh_decision_takes_the_place_of_the_first() -> None:
    state = state_of(*decided(11))
    assert [decision.decision for decision in state.decisions] == [f"d{number}" for number in range(2, 12)]
    assert (state.decision_count, state.pruned) == (11, False)


@pytest.mark.parametrize(("tokens", "prunes"), [(150_000, False), (150_001, True)])
def test_tokens_prune_above_the_limit_not_at_it(tokens: int, prunes: bool) -> None:
    state = state_of(updated(tokens=tokens))
    assert state.should_prune(PruningLimits()) is prunes


@pytest.mark.parametrize(("decisions", "prunes"), [(3, False), (4, True)])
def test_decisions_prune_above_the_limit_not_at_it(decisions: int, prunes: bool) -> None:
    assert state_of(*decided(decisions)).should_prune(PruningLimits(max_decisions=3)) is prunes


def test_a_pruned_state_is_not_pruned_by_itself_again() -> None:
    state = state_of(updated(tokens=200_000), updated(prune_above=RecordedLimits()), updated(tokens=200_000))
    assert (state.pruned, state.should_prune(PruningLimits())) == (True, False)


def test_pruning_keeps_the_newest_decisions_and_resets_their_count() -> None:
    state = state_of(*decided(5), updated(compress=RecordedLimits(max_decisions=2)))
    assert [decision.decision for decision in state.decisions] == ["d4", "d5"]
    assert (state.decision_count, state.pruned, state.last_pruned_at) == (0, True, time_of(6))


@pytest.mark.parametrize(("tokens", "left"), [(150_000, {"a": "/a"}), (150_001, {})])
def test_pruning_lets_go_of_artifacts_only_above_the_limit_of_tokens(
    tokens: int, left: dict[str, str]
) -> None:
    made = updated(artifact=RecordedArtifact(name="a", path="/a"), tokens=tokens)
    assert state_of(made, updated(compress=RecordedLimits())).artifacts == left


def test_a_state_that_is_below_the_limits_is_pruned_only_when_that_is_asked_for() -> None:
    assert not state_of(*decided(2), updated(prune_above=RecordedLimits())).pruned
    assert state_of(*decided(2), updated(compress=RecordedLimits())).pruned


def test_updates_on_another_branch_do_not_count() -> None:
    session = loaded(
        header(), user("q"), updated(tokens=5), updated(tokens=50), leaf("e2"), updated(tokens=7, turns=1)
    )
    assert at(session, session.row("e2")).state.tokens_used == 5
    assert at(session, session.row("e3")).state.tokens_used == 55
    moved = loaded(
        header(), user("q"), updated(tokens=5), updated(tokens=50), leaf("e2"),
        state_line({"tokens": 7}, parent="e2"),
    )  # fmt: skip
    assert at(moved).state.tokens_used == 12


def test_tags_are_the_last_word_on_the_path_or_those_of_the_header() -> None:
    session = loaded(header(tags=["a"]), user("q"), tagged("b"), user("aside", parent="e1"))
    assert at(session, session.row("e1")).state.tags == ("a",)
    assert at(session, session.row("e2")).state.tags == ("b",)
    assert at(session).state.tags == ("a",)
    assert session.tree.tags == ("b",)  # what lists of sessions go by


def test_the_model_is_that_of_an_update_or_else_the_default_of_the_path() -> None:
    change = entry("model_change", model="openai/gpt", role="default")
    session = loaded(header(), change, updated(model="anthropic/claude"), change, assistant("hi"))
    assert [at(session, session.row(name)).model for name in ("e1", "e2", "e4")] == [
        "openai/gpt", "anthropic/claude", "anthropic/claude",
    ]  # fmt: skip
    assert at(loaded(header(), user("hi"))).model is None


def test_the_context_of_a_state_is_a_few_lines() -> None:
    state = state_of(*decided(2), updated(turns=3, plan="Go on"))
    assert context_lines("session-1", state, "anthropic/claude") == [
        "Session ID: session-1", "Model: anthropic/claude", "Turns: 3", "Plan: Go on",
        "Recent decision: d2",
    ]  # fmt: skip
    assert context_lines("session-1", BranchState(), None) == ["Session ID: session-1", "Turns: 0"]


# --- lines of others ---------------------------------------------------------------------------------------

_PARTS = ("decision", "artifact", "tokens", "turns", "plan", "model", "agentName", "compress", "pruneAbove")
_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(
        st.sampled_from((*_PARTS, "rationale", "name", "path", "maxDecisions", "maxTokens", "timestamp")),
        inner, max_size=3,
    ),
    max_leaves=6,
)  # fmt: skip


@given(data=st.dictionaries(st.sampled_from(_PARTS), _anything) | _anything, timestamp=_anything)
def test_no_line_makes_it_fail_and_the_rest_can_be_told(data: Any, timestamp: Any) -> None:
    state = state_of(state_line(data, timestamp=timestamp), state_line({"tokens": 1}), tagged("a"))
    assert state.tokens_used >= 1
    msgspec.json.encode(state)


@pytest.mark.parametrize(
    "odd",
    [
        b'"tokens":1e999', b'"tokens":99999999999999999999', b'"turns":"many"', b'"model":7',
        b'"decision":{"decision":7}', b'"decision":{}', b'"artifact":{"name":"a"}', b'"agentName":""',
        b'"compress":{"maxDecisions":0}', b'"compress":true', b'"pruneAbove":[]', b'"unknown":{}',
    ],
    ids=lambda odd: odd[:30].decode(),
)  # fmt: skip
def test_of_a_line_with_something_odd_the_rest_is_used(odd: bytes) -> None:
    state = BranchState()
    line = b'{"type":"custom","customType":"sessiond.state","timestamp":"t","data":{%b,"plan":"p"}}'
    apply_entry(state, line % odd)
    assert state == BranchState(plan="p", updated_at="t")


@pytest.mark.parametrize(
    "data", [b"null", b"[]", b'"text"', b"{}", b'{"tokens":true}', b"[" * 5000 + b"]" * 5000]
)
def test_a_line_that_says_nothing_is_no_update(data: bytes) -> None:
    state = BranchState()
    apply_entry(state, b'{"type":"custom","customType":"sessiond.state","timestamp":"t","data":%b}' % data)
    assert state == BranchState()


def test_half_a_surrogate_pair_in_a_text_loses_nothing_else() -> None:
    state = BranchState()
    apply_entry(state, b'{"customType":"sessiond.state","data":{"plan":"\\ud83d!","tokens":3}}')
    assert (state.plan, state.tokens_used) == ("\ufffd!", 3)


# --- properties --------------------------------------------------------------------------------------------

_words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=4)
_above = st.builds(RecordedLimits, max_decisions=st.integers(1, 10), max_tokens=st.integers(0, 100))
_updates = st.builds(
    Update,
    decision=st.none() | st.builds(Decided, decision=_words, rationale=_words),
    artifact=st.none() | st.builds(RecordedArtifact, name=_words, path=_words),
    tokens=st.none() | st.integers(-5, 80),
    turns=st.none() | st.integers(-1, 3),
    plan=st.none() | st.text(max_size=3),
    model=st.none() | _words,
    agent_name=st.none() | _words,
    compress=st.none() | _above,
    prune_above=st.none() | _above,
)


class Nova:
    """NOVA's session state as its documentation describes it, told a second time to compare with."""

    def __init__(self) -> None:
        self.said: dict[str, Any] = {"plan": None, "model": None, "agent": None, "pruned": False, "at": None}
        self.decisions: list[tuple[str, str, str]] = []
        self.artifacts: dict[str, str] = {}
        self.tokens = self.turns = self.decision_count = self.total_tokens = self.tasks = 0

    def update(self, update: Update, now: str) -> None:
        if update.decision:
            self.decisions.append((update.decision.decision, update.decision.rationale, now))
            self.decision_count += 1
            if len(self.decisions) > 10:
                self.decisions = self.decisions[len(self.decisions) - 10 :]
        if update.artifact:
            self.artifacts[update.artifact.name] = update.artifact.path
        if update.tokens is not None and update.tokens > 0:
            self.tokens, self.total_tokens = self.tokens + update.tokens, self.total_tokens + update.tokens
        if update.turns is not None:
            self.turns, self.tasks = self.turns + max(update.turns, 0), self.tasks + 1
        if update.plan is not None:
            self.said["plan"] = update.plan or None
        for name, word in (("model", update.model), ("agent", update.agent_name)):
            self.said[name] = word or self.said[name]
        if update.compress:
            self.compress(update.compress, now)
        if update.prune_above and self.should_prune(update.prune_above):
            self.compress(update.prune_above, now)

    def should_prune(self, above: RecordedLimits) -> bool:
        too_many = len(self.decisions) > above.max_decisions or self.tokens > above.max_tokens
        return too_many and not self.said["pruned"]

    def compress(self, above: RecordedLimits, now: str) -> None:
        while len(self.decisions) > above.max_decisions:
            self.decisions.pop(0)
        if self.tokens > above.max_tokens:
            self.artifacts = {}
        self.decision_count = 0
        self.said |= {"pruned": True, "at": now}

    def as_state(self, updated_at: str | None) -> BranchState:
        return BranchState(
            plan=self.said["plan"], decisions=[RecordedDecision(*decision) for decision in self.decisions],
            artifacts=self.artifacts, tokens_used=self.tokens, turn_count=self.turns,
            decision_count=self.decision_count, total_tokens=self.total_tokens, task_count=self.tasks,
            model=self.said["model"], agent_name=self.said["agent"], pruned=self.said["pruned"],
            last_pruned_at=self.said["at"], updated_at=updated_at,
        )  # fmt: skip


@given(st.lists(_updates, max_size=40))
def test_lines_fold_to_what_nova_would_have(updates: list[Update]) -> None:
    nova, last = Nova(), None
    lines = [state_line(json.loads(msgspec.json.encode(update))) for update in updates]
    for second, update in enumerate(updates, 1):
        nova.update(update, time_of(second))
        last = time_of(second) if update != Update() else last
    assert state_of(*lines) == nova.as_state(last)


_lines = st.one_of(
    st.builds(lambda update: state_line(json.loads(msgspec.json.encode(update))), _updates),
    st.builds(lambda tags: tagged(*tags), st.lists(st.sampled_from("abc"), max_size=2)),
    st.just(user("q")),
    st.just(assistant("a", provider="openai", model="gpt")),
    st.just(entry("model_change", provider="anthropic", modelId="claude")),
    st.just(entry("custom", customType="another", data={"tokens": 9})),
)


@st.composite
def _trees(draw: st.DrawFn) -> Loaded:
    """Sessions with branches, labels and moves of the leaf; half of them with tags in their header."""
    lines: list[Line] = [header(tags=["first"]) if draw(st.booleans()) else header()]
    for number, line in enumerate(draw(st.lists(_lines, min_size=1, max_size=14)), 1):
        above = (
            draw(st.sampled_from([f"x{number}" for number in range(1, number)] + [None]))
            if number > 1
            else None
        )
        lines.append(line | {"id": f"x{number}", "parentId": above})
        if draw(st.integers(0, 5)) == 0:
            lines.append(label(f"x{number}", "here", id=f"l{number}", parent=f"x{number}"))
        if draw(st.integers(0, 5)) == 0:
            lines.append(leaf(f"x{number}", id=f"m{number}"))
    return Loaded(log(*lines))


def forked(session: Loaded, row: int) -> Loaded:
    """As the hub forks: the header carries the tags of the source's header."""
    source = session.tree.header
    new = msgspec.structs.replace(source, id="a-new-session", timestamp="later") if source else None
    numbers = itertools.count(1)
    lines = fork_lines(
        session.tree, row, session.read, header=msgspec.json.encode(new), new_id=lambda: f"n{next(numbers)}"
    )
    return Loaded(b"".join(steps.run(lines)))


@settings(max_examples=60)
@given(_trees(), st.data())
def test_a_fork_has_the_state_of_its_point(session: Loaded, data: st.DataObject) -> None:
    row = data.draw(st.integers(1, len(session.tree) - 1))
    point, fork = at(session, row), at(forked(session, row))
    assert (fork.state, fork.model) == (point.state, point.model)


@settings(max_examples=60)
@given(_trees(), st.data())
def test_going_on_from_any_known_point_leads_to_the_same_state(session: Loaded, data: st.DataObject) -> None:
    rows = st.sampled_from([NONE, *range(1, len(session.tree))])
    known = at(session, data.draw(rows))
    before, row = known.state.copy(), data.draw(rows)
    assert at(session, row, known) == at(session, row)
    assert known.state == before


def test_tags_of_a_fork_are_those_of_its_point_for_lists_too() -> None:
    session = loaded(header(tags=["a"]), user("q"), tagged("b"), user("r"))
    assert forked(session, session.row("e1")).tree.tags == ("a",)
    assert forked(session, session.row("e3")).tree.tags == ("b",)


def test_on_a_long_path_only_lines_of_ours_and_of_settings_are_read() -> None:
    others = [entry("custom", customType="another", data={}) for _ in range(3_000)]
    session = loaded(header(), updated(tokens=1, model="m"), *others, updated(tokens=1), assistant("a"))
    assert at(session).state.tokens_used == 2
    assert session.lines_read < 10


def test_a_long_path_is_folded_in_steps() -> None:
    session = loaded(header(), *(updated(tokens=1) for _ in range(5_000)))
    folding = state_at(session.tree, session.tree.leaf, session.read)
    assert len(list(folding)) > 30
