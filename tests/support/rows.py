"""Rows of `session/tree` in the layout `path`, built from a sketch."""

from typing import Any


def rows(sketch: str, *, path: str = "", labels: dict[str, str] | None = None) -> list[dict[str, Any]]:
    """The rows: each line is `<gutter>/<id> <role> <text>`, or `<id> <role> <text>` without a gutter.

    Blanks in a gutter are written as dots. `<id>:<number>` folds that many rows. `path` names the ids on the path to
    the leaf.
    """
    found: list[dict[str, Any]] = []
    for line in filter(None, map(str.strip, sketch.split("\n"))):
        id, role, *words = line.split(" ")
        gutter, _slash, id = id.rpartition("/")
        id, _, hidden = id.partition(":")
        row = {
            "id": id,
            "type": "message",
            "role": role,
            "onPath": id in path.split(),
            "preview": " ".join(words),
        }
        row |= {"gutter": gutter.replace(".", " "), "hiddenCount": int(hidden or 0)}
        if labels and id in labels:
            row["label"] = labels[id]
        found.append(row)
    return found
