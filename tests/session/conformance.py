"""What sessiond's core answers about a session file, beside what a recording says a real peer answered."""

import json  # noqa: TID251  (answers hold lone surrogates, which msgspec refuses)
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sessiond.session import steps
from sessiond.session.children import Children
from sessiond.session.context import Context, build_context
from sessiond.session.tree import NONE
from support.logs import Loaded

FOLDER = Path(__file__).parents[1] / "data" / "conformance"
PEERS = ("pi-1.5.2", "omp-18.3.4")
CASES = sorted(file.stem for file in FOLDER.glob("*.jsonl"))


class Unequal(NamedTuple):
    """A field in which the two answers differ, and ours in short."""

    field: str
    answer: str


def unequal(case: str, peer: str) -> list[Unequal]:
    """Where our answer about a file differs from the recorded one."""
    recorded = json.loads((FOLDER / f"{case}.{peer}.json").read_bytes())
    ours = Loaded((FOLDER / f"{case}.jsonl").read_bytes())
    opens = "openError" not in recorded and not recorded.get("hung", False)
    if not opens or ours.tree.damaged:
        answer = "damaged, read-only" if ours.tree.damaged else f"leaf {ours.tree.leaf_id}"
        return [Unequal("opens", answer)] if opens == ours.tree.damaged else []
    return [*_unequal_trees(recorded, ours), *_unequal_views(recorded, ours, peer)]


def _unequal_trees(recorded: Mapping[str, Any], ours: Loaded) -> Iterator[Unequal]:
    name = _names(recorded, ours)
    parents = _parents(ours)
    ids = [entry["id"] for entry in ours.entries()]
    answers: dict[str, tuple[Any, Any]] = {
        "entries": (recorded["entryIds"], [name.get(id, id) for id in ids]),
        "roots": (recorded["roots"], [name.get(id, id) for id, parent in parents.items() if parent is None]),
        "parents": (
            recorded["parents"],
            {name.get(id, id): name.get(parent, parent) for id, parent in parents.items()},
        ),
        "labels": (
            recorded["labels"],
            {id: label.text for id, label in ours.tree.labels.items() if ours.tree.row(id) is not None},
        ),
        "title": (recorded["sessionName"], ours.tree.title),
    }
    for field, (theirs, answer) in answers.items():
        if theirs != answer:
            yield Unequal(field, str(answer) if field != "parents" else _where_other(theirs, answer))


def _unequal_views(recorded: Mapping[str, Any], ours: Loaded, peer: str) -> Iterator[Unequal]:
    """One row a field: in how many views it differs, and our answer in the last of them."""
    name = _names(recorded, ours)
    row_of = {name.get(id, id): ours.row(id) for id in ours.ids(range(1, len(ours.tree))) if id is not None}
    found: dict[str, list[str]] = {}
    for view_name, view in recorded["views"].items():
        row = ours.tree.leaf if view_name == "current" else row_of.get(view.get("leafId"))
        if row is None:
            found.setdefault("view", []).append(f"{view_name}: there is no such entry")
            continue
        context = steps.run(build_context(ours.tree, row, ours.read))
        for field, answer in _unequal_view(
            view_name, view, context, ours, row, name, recorded["messages"], peer
        ):
            found.setdefault(field, []).append(f"{view_name}: {answer}")
    for field, answers in found.items():
        yield Unequal(field, answers[-1] if len(answers) == 1 else f"in {len(answers)} views, {answers[-1]}")


def _unequal_view(
    view_name: str, view: Mapping[str, Any], context: Context, ours: Loaded, row: int,
    name: Mapping[Any, Any], pool: list[Any], peer: str,
) -> Iterator[tuple[str, str]]:  # fmt: skip
    spoken = " ".join(context.entry_ids) or "nothing"
    if "error" in view:
        yield "error", spoken
        return
    if view_name == "current" and view["leafId"] != name.get(context.leaf_id, context.leaf_id):
        yield "leaf", str(context.leaf_id)
    path = [name.get(id, id) for id in ours.ids(ours.tree.path(row))]
    if view["path"] != path:
        yield "path", " ".join(map(str, path)) or "empty"
    messages = [json.loads(bytes(message)) for message in context.messages]
    if [pool[place] for place in view["messages"]] != messages:
        yield "messages", spoken
    settings = _settings(context) if peer.startswith("omp") else _settings_of_pi(context)
    if view["settings"] != settings:
        yield "settings", _where_other(view["settings"], settings)


def _parents(ours: Loaded) -> dict[Any, Any]:
    """The tree as it is drawn, in preorder."""
    tree, children = ours.tree, Children()
    steps.run(children.extend(tree))
    parents: dict[Any, Any] = {}
    to_visit: list[tuple[int, str | None]] = [(children.first(NONE), None)]
    while to_visit:
        row, parent = to_visit.pop()
        if row != NONE:
            to_visit += [(children.next(row), parent), (children.first(row), tree.id(row))]
            parents[tree.id(row)] = parent
    return parents


def _names(recorded: Mapping[str, Any], ours: Loaded) -> dict[Any, Any]:
    """Our ids -> the peer's, for files without ids, for which the peer made some up."""
    if not recorded.get("generatedIds"):
        return {}
    return dict(zip((entry["id"] for entry in ours.entries()), recorded["entryIds"], strict=False))


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
