"""Rows of `session/tree`, built from an indented sketch."""

from typing import Any


def rows(sketch: str, *, path: str = "", labels: dict[str, str] | None = None) -> list[dict[str, Any]]:
    """The rows of a tree in preorder: each line is `<id> <role> <text>`, two blanks deeper than its parent.

    `path` names the ids on the path to the leaf. Defaults are left out, as on the wire.
    """
    found: list[dict[str, Any]] = []
    above: list[dict[str, Any]] = []
    for line in filter(None, map(str.rstrip, sketch.split("\n"))):
        depth = (len(line) - len(line.lstrip())) // 2
        id, role, *words = line.split()
        del above[depth:]
        row = {"id": id, "parentId": above[-1]["id"] if above else None, "type": "message", "role": role}
        row |= {
            "childCount": 0,
            "onPath": id in path.split(),
            "preview": " ".join(words),
            "lastSibling": True,
        }
        if labels and id in labels:
            row["label"] = labels[id]
        if above:
            above[-1]["childCount"] += 1
        for sibling in found:
            if sibling["parentId"] == row["parentId"]:
                sibling["lastSibling"] = False
        found.append(row)
        above.append(row)
    return [
        {name: value for name, value in row.items() if (name, value) != ("lastSibling", True)}
        for row in found
    ]
