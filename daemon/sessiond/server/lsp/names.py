"""The names of the commands of `workspace/executeCommand`, and their arguments."""

from typing import Any, Final

from sessiond.server.lsp.documents import Document

BRANCH: Final = "sessiond.branch"
FORK: Final = "sessiond.fork"
LABEL: Final = "sessiond.label"
OPEN: Final = "sessiond.open"
EXPORT: Final = "sessiond.export"
COMPACT: Final = "sessiond.compact"


def arguments(document: Document, row: int | None, **more: Any) -> dict[str, Any]:
    """Return the arguments of a command: the session's file, an entry, and `more`."""
    about: dict[str, Any] = {"path": document.path}
    if row is not None:
        about["entryId"] = document.tree.id(row)
    return about | more
