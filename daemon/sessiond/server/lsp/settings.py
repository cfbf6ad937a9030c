"""What an editor wants to see: from `initialize`, and later from its own settings under `sessiond.lsp`."""

from typing import Any

import msgspec
from lsprotocol import types

from sessiond.protocol import types as t
from sessiond.server.lsp.documents import path_of
from sessiond.server.lsp.editor import Editor
from sessiond.server.lsp.live import Live

SECTION = "sessiond.lsp"


def register(editor: Editor, live: Live) -> None:
    """Take in the settings of one editor, now and when they change."""

    async def changed(params: types.DidChangeConfigurationParams) -> None:
        said = _section(params.settings)
        if said is None and editor.can("workspace.configuration"):
            said = await _asked()
        if said is not None:
            _take(said)

    async def _asked() -> Any:
        asked = types.ConfigurationParams([types.ConfigurationItem(section=SECTION)])
        [answer] = await editor.server.workspace_configuration_async(asked)
        return answer

    def _take(said: Any) -> None:
        try:
            wishes = msgspec.convert(said, t.LspOptions)
        except msgspec.ValidationError:
            return  # another program's settings may be anything
        if wishes != editor.wishes:
            editor.wishes = wishes
            live.wishes_changed()

    async def watched(params: types.DidChangeWatchedFilesParams) -> None:
        live.written({path for change in params.changes if (path := path_of(change.uri)) is not None})

    async def initialized(params: types.InitializedParams) -> None:
        if editor.can("workspace.did_change_watched_files.dynamic_registration"):
            options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher("**/*.jsonl")])
            watch = types.Registration("sessiond-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            await editor.server.client_register_capability_async(types.RegistrationParams([watch]))

    editor.server.feature(types.INITIALIZED)(initialized)
    editor.server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)(changed)
    editor.server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)(watched)


def _section(settings: Any) -> Any:
    """What stands under `sessiond.lsp`, however an editor sends it; None for nothing."""
    if not isinstance(settings, dict):
        return None
    ours = settings.get("sessiond", settings)
    return ours.get("lsp") if isinstance(ours, dict) else None
