"""`textDocument/didOpen`, `didChange`, `didSave`, `didClose`: the texts of an editor, handled without pygls.

pygls would hold a copy of every text forever, and decode each through namedtuples. A text that is too large to be held
in memory is not decoded here.
"""

import contextlib
from collections.abc import Callable
from typing import Final, Generic, TypeVar

import msgspec
from lsprotocol import types
from msgspec import Raw

from sessiond.server.lsp.documents import path_of
from sessiond.server.lsp.editor import Editor
from sessiond.server.lsp.texts import MAX_TEXT_BYTES, Change, OpenText, encoded
from sessiond.session.tree import lines
from sessiond.text import one_line

_S = TypeVar("_S")

_TOO_LARGE: Final = (
    f"it is changed, and a text of more than {MAX_TEXT_BYTES >> 20} MiB is read from its file only."
)


class _Named(msgspec.Struct):
    uri: str


class _Item(msgspec.Struct):
    uri: str
    text: Raw


class _Open(msgspec.Struct, rename="camel"):
    text_document: _Item


class _Changes(msgspec.Struct, rename="camel"):
    text_document: _Named
    content_changes: list[Change]


class _DocumentParams(msgspec.Struct, rename="camel"):
    text_document: _Named


class _Message(msgspec.Struct, Generic[_S]):
    params: _S


_decode_open = msgspec.json.Decoder(_Message[_Open])
_decode_changes = msgspec.json.Decoder(_Message[_Changes])
_decode_document = msgspec.json.Decoder(_Message[_DocumentParams])


class Syncing:
    """Applies the editor's notifications about its texts. `changed` is called with the URI of each changed text."""

    def __init__(self, editor: Editor, changed: Callable[[str], None]) -> None:
        self._editor = editor
        self._texts = editor.documents.texts
        self._changed = changed
        self._handlers: dict[str, Callable[[bytes], None]] = {
            "textDocument/didOpen": self._open,
            "textDocument/didChange": self._change,
            "textDocument/didSave": self._save,
            "textDocument/didClose": self._close,
        }

    def take(self, method: str | None, body: bytes) -> bool:
        """Handle a message if it is about a text, and return whether it is. An invalid one is ignored."""
        handler = self._handlers.get(method or "")
        if handler is None:
            return False
        with contextlib.suppress(msgspec.DecodeError, RecursionError, lines.NotAnEntry):
            handler(body)  # a notification has no response
        return True

    def _open(self, body: bytes) -> None:
        item = _params(body, _decode_open).text_document
        data = (
            encoded(msgspec.json.decode(item.text, type=str))
            if memoryview(item.text).nbytes <= MAX_TEXT_BYTES
            else None
        )
        self._texts[item.uri] = OpenText(data)
        self._changed(item.uri)

    def _change(self, body: bytes) -> None:
        params = _params(body, _decode_changes)
        # The message that opened an unknown text was skipped, because it was too large (`rpc.large_texts`).
        text = self._texts.setdefault(params.text_document.uri, OpenText(None))
        text.change(params.content_changes, self._editor.documents.encoding)
        if text.data is None and text.changed and not text.is_explained:
            text.is_explained = True
            self._explain(params.text_document.uri)
        self._changed(params.text_document.uri)

    def _explain(self, uri: str) -> None:
        """Tell the user why results end with the first change of a text that is too large to be held here."""
        name = (path_of(uri) or uri).rpartition("/")[2]
        message = f"sessiond shows nothing for {one_line(name)} until it is saved: {_TOO_LARGE}"
        self._editor.server.window_show_message(types.ShowMessageParams(types.MessageType.Info, message))

    def _save(self, body: bytes) -> None:
        uri = _params(body, _decode_document).text_document.uri
        if uri in self._texts:
            self._texts[uri].changed = False
            self._changed(uri)

    def _close(self, body: bytes) -> None:
        uri = _params(body, _decode_document).text_document.uri
        self._editor.documents.forget(uri)
        self._changed(uri)


def _params(body: bytes, message: msgspec.json.Decoder[_Message[_S]]) -> _S:
    """Return the params of a message. Lone surrogates, which msgspec rejects, are replaced first."""
    try:
        return message.decode(body).params
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError):
        return message.decode(lines.well_formed(body)).params
