"""The messages that give a new daemon the state of an editor: open documents, folders and settings."""

from __future__ import annotations

from typing import Final

from sessiond.client.message_parts import document_uri
from sessiond.rpc.message import Head

_LATEST_ONLY: Final = ("workspace/didChangeConfiguration", "$/setTrace")
"""Notifications in which the last one replaces all earlier ones."""


class EditorState:
    """Records notifications of an editor, and returns those that a new daemon must receive."""

    def __init__(self) -> None:
        self._initialized: bytes | None = None
        self._latest: dict[str, bytes] = {}
        self._folders: list[bytes] = []
        self._documents: dict[str, list[bytes]] = {}

    def record(self, method: str, head: Head, body: bytes) -> None:
        """Record a notification that was sent to the daemon."""
        if method == "initialized":
            self._initialized = body
        elif method in _LATEST_ONLY:
            self._latest[method] = body
        elif method == "workspace/didChangeWorkspaceFolders":
            self._folders.append(body)
        elif method.startswith("textDocument/"):
            self._record_document(method, head, body)

    def messages(self) -> list[bytes]:
        """Return the messages for a new daemon, in the order in which it must receive them."""
        messages = [] if self._initialized is None else [self._initialized]
        messages += [*self._latest.values(), *self._folders]
        for document in self._documents.values():
            messages += document
        return messages

    def _record_document(self, method: str, head: Head, body: bytes) -> None:
        uri = document_uri(head)
        if uri is None:
            return
        if method == "textDocument/didOpen":
            self._documents[uri] = [body]
        elif method == "textDocument/didChange" and uri in self._documents:
            self._documents[uri].append(body)
        elif method == "textDocument/didClose":
            self._documents.pop(uri, None)
