"""Compares the answer of sessiond's core about a session file with the recorded answer of a real peer."""

import json  # noqa: TID251  (answers hold lone surrogates, which msgspec refuses)
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sessiond.session.context.context import Context, build_context
from sessiond.session.tree import steps
from sessiond.session.tree.chains import Chains
from sessiond.session.tree.tree import NONE
from support.answers import Answers, View
from support.golden import GoldenCase
from support.logs import Loaded


class Unequal(NamedTuple):
    """A field in which the two answers differ, and ours in short."""

    field: str
    answer: str


def unequal(case: GoldenCase) -> list[Unequal]:
    """Where our answer about a file differs from the recorded one."""
    theirs, ours = case.answers, Loaded(case.file.read_bytes())
    opens = theirs.open_error is None and not case.hung
    if not opens or ours.tree.damaged:
        answer = "damaged, read-only" if ours.tree.damaged else f"leaf {ours.tree.leaf_id}"
        return [Unequal("opens", answer)] if opens == ours.tree.damaged else []
    ids = [entry["id"] for entry in ours.entries()]
    names = dict(zip(ids, theirs.entry_ids, strict=False)) if case.generated_ids else {}
    return [*_unequal_trees(theirs, ours, names), *_unequal_views(case, ours, names)]


def _unequal_trees(theirs: Answers, ours: Loaded, names: Mapping[Any, Any]) -> Iterator[Unequal]:
    parents = {names.get(id, id): names.get(parent, parent) for id, parent in _parents(ours).items()}
    labels = {id: label.text for id, label in ours.tree.labels.items() if ours.tree.row(id) is not None}
    ids = [names.get(entry["id"], entry["id"]) for entry in ours.entries()]
    answers: dict[str, tuple[Any, Any]] = {
        "entries": (list(theirs.entry_ids), ids),
        "roots": (list(theirs.roots), [id for id, parent in parents.items() if parent is None]),
        "labels": (theirs.labels, labels),
        "title": (theirs.session_name, ours.tree.title),
    }
    for field, (their_answer, answer) in answers.items():
        if their_answer != answer:
            yield Unequal(field, str(answer))
    if theirs.parents != parents:
        yield Unequal("parents", _where_other(theirs.parents, parents))


def _unequal_views(case: GoldenCase, ours: Loaded, names: Mapping[Any, Any]) -> Iterator[Unequal]:
    """One row a field: in how many views it differs, and our answer in the last of them."""
    entries = [id for id in ours.ids(range(1, len(ours.tree))) if id is not None]
    row_of: dict[Any, int] = {names.get(id, id): ours.row(id) for id in entries}
    found: dict[str, list[str]] = {}
    for view in case.answers.views:
        row = ours.tree.leaf if view.name == "current" else row_of.get(view.leaf_id)
        if view.leaf_id is None and view.name == "null_leaf":
            row = NONE
        if row is None:
            found.setdefault("view", []).append(f"{view.name}: there is no such entry")
            continue
        for field, answer in _unequal_view(view, ours, row, names, case.peer.name):
            found.setdefault(field, []).append(f"{view.name}: {answer}")
    for field, answers in found.items():
        yield Unequal(field, answers[-1] if len(answers) == 1 else f"in {len(answers)} views, {answers[-1]}")


def _unequal_view(
    view: View, ours: Loaded, row: int, names: Mapping[Any, Any], peer: str
) -> Iterator[tuple[str, str]]:
    context = steps.run(build_context(ours.tree, row, ours.read))
    spoken = " ".join(context.entry_ids[-8:]) or "nothing"
    if view.error is not None:
        yield "error", spoken
        return
    if view.name == "current" and view.leaf_id != names.get(context.leaf_id, context.leaf_id):
        yield "leaf", str(context.leaf_id)
    path = [names.get(id, id) for id in ours.ids(ours.tree.path(row))] if row != NONE else []
    if list(view.path) != path:
        yield "path", " ".join(map(str, path)) or "empty"
    if list(view.messages) != [json.loads(bytes(message)) for message in context.messages]:
        yield "messages", spoken
    settings = _settings(context) if peer == "omp" else _settings_of_pi(context)
    if view.settings != settings:
        yield "settings", _where_other(view.settings, settings)


def _parents(ours: Loaded) -> dict[Any, Any]:
    """The tree as it is drawn, in preorder."""
    tree, chains = ours.tree, Chains()
    steps.run(chains.extend(tree))
    parents: dict[Any, Any] = {}
    to_visit: list[tuple[int, str | None]] = []
    to_visit += [(row, None) for row in chains.children(NONE)][::-1]
    while to_visit:
        row, parent = to_visit.pop()
        parents[tree.id(row)] = parent
        to_visit += [(child, tree.id(row)) for child in chains.children(row)][::-1]
    return parents


def _settings(context: Context) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "thinkingLevel": context.thinking_level,
        "models": context.models,
        "mode": context.mode,
        "injectedTtsrRules": context.injected_ttsr_rules,
    }
    if context.configured_thinking_level is not None:
        settings["configuredThinkingLevel"] = context.configured_thinking_level
    for field, raw in (("modeData", context.mode_data), ("serviceTier", context.service_tier)):
        if raw is not None:
            settings[field] = json.loads(bytes(raw))
    return settings


def _settings_of_pi(context: Context) -> dict[str, Any]:
    default = context.models.get("default")
    provider, _, model_id = (default or "").partition("/")
    model = {"provider": provider, "modelId": model_id} if default is not None else None
    return {"thinkingLevel": context.thinking_level, "model": model}


def _where_other(theirs: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    """Of our answer, the fields in which theirs differs."""
    return str({field: value for field, value in answer.items() if theirs.get(field, ...) != value})
