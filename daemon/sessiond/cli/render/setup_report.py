"""Reports of setup for people and as JSON: the agents that it found, the planned changes, the changes made."""

from __future__ import annotations

import sys

from sessiond.cli.render.columns import aligned
from sessiond.cli.render.style import style_for
from sessiond.human import count, folder as short_path, size
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from sessiond.paths import Locations
    from sessiond.setup.changes import ChangeOutcome, FileChange
    from sessiond.setup.survey import FoundAgent

_UNDONE = {
    "restored": "is as it was, byte for byte",
    "removed": "was removed; setup had created it",
    "cleaned": "has the edits of others, and nothing of sessiond",
    "absent": "has nothing of sessiond",
}


def show_found(found: Sequence[FoundAgent], locations: Locations) -> None:
    """Print the agents with the number and size of their session files, and where sessiond stores what."""
    if not found:
        print("No agent was found on this machine.\n")
    else:
        style = style_for(sys.stdout)
        rows = [
            (
                f"  {agent.agent.title}",
                count(agent.files, "database" if agent.agent.storage == "database" else "session"),
                size(agent.size),
                ", ".join(map(_short, agent.folders or agent.agent.folders({}))) if agent.folders else "",
            )
            for agent in found
        ]
        print("Found:", *aligned(rows, style), "", sep="\n")
    print("Nothing is written into sessions of agents. sessiond keeps its own copies:")
    print(f"  {_short(locations.data)}\n")


def show_plan(wanted: Sequence[FileChange], expected: Sequence[ChangeOutcome], copies: str) -> None:
    """Print what setup would do to each file."""
    if expected and all(outcome.state == "unchanged" for outcome in expected):
        print("Everything is set up already. Nothing to do.")
        return
    signs = {"changed": "+", "unchanged": "=", "failed": "!"}
    rows = [
        (f"  {signs[outcome.state]} {_short(change.path)}", change.title)
        for change, outcome in zip(wanted, expected, strict=True)
    ]
    print("To do (+), there already (=), not possible (!):", *aligned(rows, style_for(sys.stdout)), sep="\n")
    for outcome in expected:
        _show_failure(outcome)
    print(
        f"\nCopies of the files as they are now go to {_short(copies)}. To take it back: sessiond setup --undo"
    )


def show_done(wanted: Sequence[FileChange], outcomes: Sequence[ChangeOutcome]) -> None:
    """Print what setup did, and what is left for the user."""
    print()
    for change, outcome in zip(wanted, outcomes, strict=True):
        if outcome.state == "changed":
            copy = f"; before: {_short(outcome.copy)}" if outcome.copy else ""
            print(f"{_short(outcome.path)} changed{copy}")
            if change.note:
                print(f"  {change.note}")
        _show_failure(outcome)


def show_undone(outcomes: Sequence[ChangeOutcome]) -> None:
    """Print what an undo did to each file."""
    if not outcomes:
        print("Setup has added nothing here.")
    for outcome in outcomes:
        if outcome.state != "failed":
            copy = f"; as it was until now: {_short(outcome.copy)}" if outcome.copy else ""
            print(f"{_short(outcome.path)} {_UNDONE[outcome.state]}{copy}")
        _show_failure(outcome)


def as_json(
    found: Sequence[FoundAgent],
    wanted: Sequence[FileChange],
    outcomes: Sequence[ChangeOutcome],
    *,
    done: bool,
) -> dict[str, Any]:
    """Return the report for scripts. `done` is false if the states are only what would happen."""
    agents = [
        {
            "agent": agent.agent.name,
            "folders": list(agent.folders),
            "fileCount": agent.files,
            "sizeBytes": agent.size,
        }
        for agent in found
    ]
    files = [
        {"title": change.title, **outcome_json(outcome), **({"note": change.note} if change.note else {})}
        for change, outcome in zip(wanted, outcomes, strict=True)
    ]
    return {"done": done, "agents": agents, "files": files}


def outcome_json(outcome: ChangeOutcome) -> dict[str, str]:
    """Return the outcome of one file for scripts."""
    more = {"reason": outcome.reason, "copy": outcome.copy}
    return {
        "path": outcome.path,
        "state": outcome.state,
        **{name: value for name, value in more.items() if value},
    }


def _show_failure(outcome: ChangeOutcome) -> None:
    if outcome.state == "failed":
        print(f"{_short(outcome.path)} was left as it is: {one_line(outcome.reason)}.", file=sys.stderr)
        print("  Correct the file, then run the command again.", file=sys.stderr)


def _short(path: str) -> str:
    import os

    return one_line(short_path(path, os.environ.get("HOME", "")))
