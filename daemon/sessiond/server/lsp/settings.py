"""The options of an editor: from `initialize`, and later from its settings under `sessiond.lsp`."""

import contextlib
from typing import Any, Final

import msgspec
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from sessiond.protocol import types as t
from sessiond.server.lsp.editor import Editor
from sessiond.server.lsp.live import Live

SECTION: Final = "sessiond.lsp"


def register(editor: Editor, live: Live) -> None:
    """Apply the settings of one editor when they change."""

    async def changed(params: types.DidChangeConfigurationParams) -> None:
        settings = _section(params.settings)
        if settings is None and editor.can("workspace.configuration"):
            settings = await _request_settings(editor)
        options = _decode_options(settings)
        if options is not None and options != editor.options:
            editor.options = options
            live.options_changed()

    editor.server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)(changed)


def _section(settings: Any) -> Any:
    """Return the settings under `sessiond.lsp`, at either depth that editors use. None if there are none."""
    if not isinstance(settings, dict):
        return None
    ours = settings.get("sessiond", settings)
    return ours.get("lsp") if isinstance(ours, dict) else None


async def _request_settings(editor: Editor) -> Any:
    """Request the settings from an editor that sends them only on request."""
    request = types.ConfigurationParams([types.ConfigurationItem(section=SECTION)])
    with contextlib.suppress(JsonRpcException):
        for answer in await editor.server.workspace_configuration_async(request):
            return answer
    return None


def _decode_options(settings: Any) -> t.LspOptions | None:
    try:
        return None if settings is None else msgspec.convert(settings, t.LspOptions)
    except msgspec.ValidationError:
        return None  # user settings may have any type
