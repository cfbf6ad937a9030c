"""The module `cases` of the invented agent: the place of its sessions, and the texts of a line."""

from collections.abc import Iterator
from typing import Any

from support.agent_cases import strings

PLACE = "/home/ada/.wren/sessions/0199.jsonl"
WRITES_VERSION = True
MOVED = [({"WREN_HOME": "/srv/wren"}, "/srv/wren/sessions")]


def written(line: dict[str, Any]) -> Iterator[str]:
    if line.get("by") in ("person", "model"):
        yield from strings([line.get("say")])
