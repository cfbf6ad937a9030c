"""`workspace/didChangeWatchedFiles`: asks editors that watch files to report changes of session files."""

import contextlib

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from sessiond.server.lsp.documents import path_of
from sessiond.server.lsp.editor import Editor
from sessiond.server.lsp.live import Live


def register(editor: Editor, live: Live) -> None:
    """Register the file watch of one editor after `initialized`, and handle its notifications."""

    async def initialized(_params: types.InitializedParams) -> None:
        if editor.can("workspace.did_change_watched_files.dynamic_registration"):
            options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher("**/*.jsonl")])
            watch = types.Registration("sessiond-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            with contextlib.suppress(JsonRpcException):  # the editor may refuse the registration
                await editor.server.client_register_capability_async(types.RegistrationParams([watch]))

    async def changed(params: types.DidChangeWatchedFilesParams) -> None:
        paths = {path_of(change.uri) for change in params.changes}
        live.written({path for path in paths if path is not None})

    editor.server.feature(types.INITIALIZED)(initialized)
    editor.server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)(changed)
