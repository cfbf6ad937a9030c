"""Determines which file leads a session that several files have: a copy, a moved folder, a restored backup, a stray.

The session has the entries of all of them. Its leaf, its folder and the path of its origin are those of the file that
leads: the newest one that has messages. All functions block.
"""

from dataclasses import dataclass

from sessiond.hub.transfer import database_sources
from sessiond.hub.transfer.source_state import FileStatus
from sessiond.session.dialects.import_builder import Imported
from sessiond.session.tree import lines
from sessiond.session.tree.tree import Tree


@dataclass(frozen=True, slots=True)
class FileRole:
    """The relation of a file to the session that has its entries.

    Attributes:
        leads: Whether the file determines the leaf and the folder.
        is_other: Whether the origin of the session names another file.
    """

    leads: bool = True
    is_other: bool = False

    @property
    def takes_over(self) -> bool:
        """Whether the file leads from now on, in place of another one."""
        return self.leads and self.is_other


def role_of(path: str, status: FileStatus, imported: Imported, tree: Tree) -> FileRole:
    """Return the role of a file in a session.

    Args:
        path: The file.
        status: Its status when it was read.
        imported: The result of reading it.
        tree: The session.
    """
    former = None if tree.origin is None else tree.origin.path
    if former is None or is_origin(path, tree):
        return FileRole()
    has_messages = imported.has_messages
    if has_messages != bool(tree.count_messages()):
        return FileRole(leads=has_messages, is_other=True)
    there = database_sources.status_of(former)
    return FileRole(leads=there is None or there.modified_ns < status.modified_ns, is_other=True)


def is_origin(path: str, tree: Tree) -> bool:
    """Return whether the origin of a session names no other file than this one."""
    return tree.origin is None or tree.origin.path in (None, lines.valid_text(path))
