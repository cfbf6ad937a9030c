"""`workspace/didChangeWatchedFiles`: an editor that watches files is asked to tell of session files anywhere."""

import contextlib

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from sessiond.server.lsp.documents import path_of
from sessiond.server.lsp.editor import Editor
from sessiond.server.lsp.live import Live


def register(editor: Editor, live: Live) -> None:
    """Ask one editor, once it can be asked, and take in what it tells."""

    async def initialized(_params: types.InitializedParams) -> None:
        if editor.can("workspace.did_change_watched_files.dynamic_registration"):
            options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher("**/*.jsonl")])
            watch = types.Registration("sessiond-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            with contextlib.suppress(JsonRpcException):  # it may have said more than it can
                await editor.server.client_register_capability_async(types.RegistrationParams([watch]))

    async def changed(params: types.DidChangeWatchedFilesParams) -> None:
        paths = {path_of(change.uri) for change in params.changes}
        live.written({path for path in paths if path is not None})

    editor.server.feature(types.INITIALIZED)(initialized)
    editor.server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)(changed)
