"""Determines whether the agent's file or a client has set the leaf of a followed session.

The log shows it: entries of the file and lines that an import wrote are known by their ids, and clients name their
commands. So the answer is the same after a restart.
"""

from collections.abc import Container
from typing import Final

from sessiond.session.content import fields
from sessiond.session.dialects.import_builder import Imported
from sessiond.session.tree import lines
from sessiond.session.tree.codes import KIND
from sessiond.session.tree.entries import COMMAND_FIELD
from sessiond.session.tree.steps import Read
from sessiond.session.tree.tree import Tree

OF_IMPORT: Final = "leaf-"
"""The beginning of the ids of `leaf` lines of imports. Version 0.2.0 wrote some without it: see `_FIRST`."""
RESTORED: Final = (
    "an earlier version of sessiond moved the leaf to an earlier message; it is where the file has it again"
)
_LEAF: Final = KIND["leaf"]
_FIRST: Final = 3
"""The first entries of a file, to which version 0.2.0 moved the leaf after a long line, or to a compaction."""


def is_of_agent(tree: Tree, read: Read, imported: Imported) -> bool:
    """Return whether the leaf of a session was set by its source.

    Args:
        tree: The session.
        read: Returns its entries by row.
        imported: The result of reading the whole source.
    """
    of_file = {entry.id for entry in imported.entries}
    spoken = imported.entries[1 : imported.conversation_count + 1]
    said = {entry.id for entry in spoken}
    early = {entry.id for entry in spoken[:_FIRST]} | {
        entry.id for entry in spoken if entry.type == "compaction"
    }
    before: str | None = None  # the leaf before entries that do not belong to the conversation
    was_agents = is_agents = follows_file = True
    added: set[str] = set()
    for row in range(len(tree)):
        name = tree.id(row)
        if name is None:
            continue
        if tree.kind(row) == _LEAF:
            line = read([row])[0]
            target = _target(line)
            if target == before:
                is_agents = was_agents
            elif COMMAND_FIELD.encode() in line:
                is_agents = False
            else:
                is_agents = name.startswith(OF_IMPORT) or (follows_file and _is_one_of(target, added, early))
            before, was_agents, follows_file = target, is_agents, False
            added.clear()
            continue
        is_agents = follows_file = name in of_file
        if name in said or (not is_agents and tree.role(row)):
            before, was_agents = name, is_agents
            added.add(name)
    return is_agents


def is_above(tree: Tree, entry_id: str | None, below: str | None) -> bool:
    """Return whether an entry is an ancestor of another one."""
    row, end = (None if name is None else tree.row(name) for name in (entry_id, below))
    return row is not None and end is not None and row != end and row in tree.path(end)


def _is_one_of(target: str | None, *places: Container[str]) -> bool:
    return any(target in place for place in places)


def _target(line: bytes) -> str | None:
    try:
        return fields.text(lines.loads(line).get("targetId"))
    except lines.NotAnEntry:
        return None
