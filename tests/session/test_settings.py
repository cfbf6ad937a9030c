"""Models, thinking level, mode, rules and service tier at a leaf (decision 0015)."""

import json  # noqa: TID251  (a line is written that msgspec refuses)
from typing import Any

import pytest

from sessiond.session.context.context import build_context, extend_context
from sessiond.session.listing.lifecycle import lifecycle_and_model
from sessiond.session.tree import steps
from sessiond.session.tree.tree import NONE
from support.logs import Line, assistant, compaction, entry, header, loaded, user


def said_by(provider: str, model: str) -> Line:
    return assistant("a", provider=provider, model=model)


def model(**fields: Any) -> Line:
    return entry("model_change", **fields)


@pytest.mark.parametrize(
    ("changes", "models"),
    [
        ([], {}),
        ([model(model="anthropic/x")], {"default": "anthropic/x"}),
        ([model(provider="openai", modelId="y")], {"default": "openai/y"}),
        ([model(model="anthropic/x", provider="openai", modelId="y")], {"default": "anthropic/x"}),
        ([model(model="a/x"), model(model="b/y")], {"default": "b/y"}),
        ([model(model="a/x", role="smol"), model(model="b/y", role="slow")], {"smol": "a/x", "slow": "b/y"}),
        ([model(model=5), model(provider="openai")], {}),
        ([model(model="x")], {"default": "x"}),
        ([model(modelId="x")], {"default": "x"}),
        ([assistant("a", model="m", provider=None)], {"default": "m"}),
        ([said_by("p", "m")], {"default": "p/m"}),
        ([said_by("p", "m"), said_by("q", "n"), user("q")], {"default": "q/n"}),
        ([said_by("p", "m"), assistant("a")], {"default": "p/m"}),
        ([model(model="a/x"), said_by("p", "m")], {"default": "a/x"}),
        ([said_by("p", "m"), model(model="a/x")], {"default": "a/x"}),
        ([model(model="a/x", role="smol"), said_by("p", "m")], {"smol": "a/x", "default": "p/m"}),
    ],
)
def test_models_are_by_role_and_an_answer_never_overrides_a_choice(
    changes: list[Line], models: dict[str, str]
) -> None:
    assert loaded(header(), user("q"), *changes).context().models == models


OF_PI = {"provider": "pi", "modelId": "x"}
OF_OMP = {"model": "omp/x"}
OF_BOTH = {"model": "both/x", "provider": "both", "modelId": "x"}


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ([model(**OF_PI), said_by("p", "m")], "p/m"),
        ([said_by("p", "m"), model(**OF_PI)], "pi/x"),
        ([model(**OF_PI), said_by("p", "m"), model(**OF_PI), user("q")], "pi/x"),
        ([model(**OF_PI), said_by("p", "m"), said_by("q", "n")], "q/n"),
        ([model(**OF_OMP), said_by("p", "m")], "omp/x"),
        ([model(**OF_OMP), model(**OF_PI), said_by("p", "m")], "p/m"),
        ([model(**OF_PI), model(**OF_OMP), said_by("p", "m")], "omp/x"),
        ([model(**OF_BOTH), said_by("p", "m")], "both/x"),
        ([model(**OF_PI), model(**OF_BOTH), said_by("p", "m")], "p/m"),
        ([model(**OF_PI), model(**OF_BOTH)], "both/x"),
        ([model(**OF_OMP), model(**OF_BOTH), said_by("p", "m")], "both/x"),
        ([model(role="smol", **OF_OMP), said_by("p", "m")], "p/m"),
    ],
)
def test_the_default_model_follows_the_rule_of_the_program_that_wrote_the_change(
    changes: list[Line], name: str
) -> None:
    session = loaded(header(), user("q"), *changes)
    assert session.context().models["default"] == name
    assert lifecycle_and_model(session.tree, session.read)[1] == name


def test_in_a_file_with_a_title_slot_an_answer_never_overrides_a_change_in_the_form_of_pi() -> None:
    slot = b'{"type":"title","v":1,"title":"x"}\n'
    session = loaded(slot, header(), user("q"), model(**OF_PI), said_by("p", "m"))
    assert session.context().models == {"default": "pi/x"}
    assert lifecycle_and_model(session.tree, session.read)[1] == "pi/x"


def test_a_context_that_grew_from_an_empty_one_has_the_model_of_the_first_answer() -> None:
    session = loaded(header(), user("q"), said_by("p", "m"))
    empty = steps.run(build_context(session.tree, NONE, session.read))
    first = steps.run(extend_context(session.tree, empty, NONE, session.tree.row("e2") or 0, session.read))
    assert first is not None
    assert first.models == {"default": "p/m"}


@pytest.mark.parametrize(
    ("fields", "level", "configured"),
    [
        ({"thinkingLevel": "high"}, "high", "high"),
        ({"thinkingLevel": "low", "configured": "auto"}, "low", "auto"),
        ({"thinkingLevel": None}, "off", None),
        ({"thinkingLevel": 3}, "off", None),
        ({}, "off", None),
    ],
)
def test_the_last_thinking_level_counts(fields: dict[str, Any], level: str, configured: str | None) -> None:
    before = entry("thinking_level_change", thinkingLevel="medium")
    found = loaded(header(), before, entry("thinking_level_change", **fields)).context()
    assert (found.thinking_level, found.configured_thinking_level) == (level, configured)


def test_the_last_mode_counts_with_its_data() -> None:
    plan = entry("mode_change", mode="plan", data={"planFile": "p.md"})
    found = loaded(header(), entry("mode_change", mode="x"), plan).context()
    assert found.mode == "plan"
    assert found.mode_data is not None
    assert json.loads(bytes(found.mode_data)) == {"planFile": "p.md"}
    ended = loaded(header(), plan, entry("mode_change", mode="none", data=None)).context()
    assert (ended.mode, ended.mode_data) == ("none", None)


def test_rules_come_once_in_the_order_of_their_first_injection() -> None:
    rules = [["b", "a", "b"], ["c", "a", 5], None]
    entries = [entry("ttsr_injection", injectedRules=some) for some in rules]
    assert loaded(header(), *entries).context().injected_ttsr_rules == ["b", "a", "c"]


def test_the_last_service_tier_counts() -> None:
    tier = entry("service_tier_change", serviceTier={"openai": "priority"})
    found = loaded(header(), tier).context().service_tier
    assert found is not None
    assert json.loads(bytes(found)) == {"openai": "priority"}
    assert (
        loaded(header(), tier, entry("service_tier_change", serviceTier=None)).context().service_tier is None
    )


def test_settings_count_from_before_a_compaction_but_not_from_another_branch() -> None:
    session = loaded(
        header(), user("q"), entry("thinking_level_change", thinkingLevel="high"), compaction("s", None),
        user("on"), entry("thinking_level_change", thinkingLevel="low", parent="e1"), user("aside"),
    )  # fmt: skip
    assert session.context("e4").thinking_level == "high"
    assert session.context().thinking_level == "low"


def test_a_change_with_a_lone_surrogate_is_read() -> None:
    found = loaded(header(), entry("mode_change", mode="m\ud83d")).context()
    assert found.mode == "m\ufffd"
