"""Updates an editor after changes: pushes diagnostics, and requests that it refresh its views.

Updates are delayed and combined, because a text changes ten times a second while its user types.
"""

import asyncio
from collections.abc import Set
from typing import Final

from lsprotocol import types

from sessiond.hub.session.live import LiveSession
from sessiond.server.lsp.diagnostics import diagnostics
from sessiond.server.lsp.documents import path_of
from sessiond.server.lsp.editor import Editor

DELAY_SECONDS: Final = 0.15

_REFRESHES: Final = (
    ("workspace.code_lens.refresh_support", types.WORKSPACE_CODE_LENS_REFRESH),
    ("workspace.inlay_hint.refresh_support", types.WORKSPACE_INLAY_HINT_REFRESH),
    ("workspace.diagnostics.refresh_support", types.WORKSPACE_DIAGNOSTIC_REFRESH),
    ("workspace.folding_range.refresh_support", types.WORKSPACE_FOLDING_RANGE_REFRESH),
)


class Live:
    """Notifies one editor of changes in the files that it has open."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._dirty: dict[str, None] = {}
        self._refreshes = False
        self._timer: asyncio.TimerHandle | None = None
        self._update: asyncio.Task[None] | None = None
        self._published: set[str] = set()
        """URIs for which problems were published."""

    def text_changed(self, uri: str) -> None:
        """The editor has opened, changed or closed a text."""
        self._soon(uri)

    def options_changed(self) -> None:
        """The options of the editor have changed."""
        self._refreshes = True
        for uri in self._editor.documents.texts:
            self._soon(uri)

    def grew(self, live: LiveSession, first: int) -> None:
        """Lines were added to a session. Called for each batch. See `hub.session.observers.GrowthObserver`."""
        if self._editor.documents.texts and live.log.path is not None:
            self.written({live.log.path})

    def written(self, paths: Set[str]) -> None:
        """Files were written, moved or removed."""
        for uri in self._editor.documents.texts:
            if path_of(uri) in paths:
                self._refreshes = True
                self._soon(uri)

    def close(self) -> None:
        """Stop the updates, because the editor has disconnected."""
        if self._timer is not None:
            self._timer.cancel()
        if self._update is not None:
            self._update.cancel()

    def _soon(self, uri: str) -> None:
        self._dirty[uri] = None
        if self._timer is None and self._update is None:
            self._timer = asyncio.get_running_loop().call_later(DELAY_SECONDS, self._begin)

    def _begin(self) -> None:
        self._timer = None
        self._update = asyncio.get_running_loop().create_task(self._send_updates())
        self._update.add_done_callback(self._updated)

    def _updated(self, task: asyncio.Task[None]) -> None:
        self._update = None
        if not task.cancelled():
            task.exception()  # the next change starts another update
        if self._dirty and not self._editor.client.connection.closing:
            self._timer = asyncio.get_running_loop().call_later(DELAY_SECONDS, self._begin)

    async def _send_updates(self) -> None:
        dirty, self._dirty = self._dirty, {}
        refreshes, self._refreshes = self._refreshes, False
        # An editor that supports pull diagnostics would show them twice.
        if self._editor.declares("text_document.diagnostic") is None:
            for uri in dirty:
                await self._publish(uri)
        for capability, method in _REFRESHES if refreshes else ():
            if self._editor.can(capability):
                request = self._editor.server.protocol.send_request(method, None)
                request.add_done_callback(lambda done: None if done.cancelled() else done.exception())

    async def _publish(self, uri: str) -> None:
        is_open = uri in self._editor.documents.texts
        found = await diagnostics(self._editor, uri) if is_open else []
        if not found and uri not in self._published:
            return
        self._published.add(uri)
        if not found:
            self._published.discard(uri)
        self._editor.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found))
