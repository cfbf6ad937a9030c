"""The commands of `workspace/executeCommand`, and what they are told of the entry they are about."""

from typing import Any, Final

from sessiond.server.lsp.documents import Document

BRANCH: Final = "sessiond.branch"
FORK: Final = "sessiond.fork"
LABEL: Final = "sessiond.label"
OPEN: Final = "sessiond.open"
EXPORT: Final = "sessiond.export"
COMPACT: Final = "sessiond.compact"


def arguments(document: Document, row: int | None, **more: Any) -> dict[str, Any]:
    """What a command is told: the session by its file, and an entry."""
    about: dict[str, Any] = {"path": document.path}
    if row is not None:
        about["entryId"] = document.tree.id(row)
    return about | more
