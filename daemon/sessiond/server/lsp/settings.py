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
        said = _section(params.settings)
        if said is None and editor.can("workspace.configuration"):
            said = await _asked(editor)
        wishes = _wishes(said)
        if wishes is not None and wishes != editor.wishes:
            editor.wishes = wishes
            live.wishes_changed()

    editor.server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)(changed)


def _section(settings: Any) -> Any:
    """Return the settings under `sessiond.lsp`, at either depth that editors use. None if there are none."""
    if not isinstance(settings, dict):
        return None
    ours = settings.get("sessiond", settings)
    return ours.get("lsp") if isinstance(ours, dict) else None


async def _asked(editor: Editor) -> Any:
    """Request the settings from an editor that sends them only on request."""
    asked = types.ConfigurationParams([types.ConfigurationItem(section=SECTION)])
    with contextlib.suppress(JsonRpcException):
        for answer in await editor.server.workspace_configuration_async(asked):
            return answer
    return None


def _wishes(said: Any) -> t.LspOptions | None:
    try:
        return None if said is None else msgspec.convert(said, t.LspOptions)
    except msgspec.ValidationError:
        return None  # user settings may have any type
