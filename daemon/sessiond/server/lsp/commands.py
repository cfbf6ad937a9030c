"""`workspace/executeCommand`: branch, fork, label, open, export, compact, for editors without sessiond's methods.

Each command takes one object: `path` or `sessionId`, and `entryId`. Values that an editor cannot ask its user for have
defaults. With a `commandId`, a command that changes a session takes effect once.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
from lsprotocol import types
from msgspec import UNSET

from sessiond.hub.errors import IncompatibleParams
from sessiond.hub.session.description import info_of
from sessiond.hub.session.live import LiveSession
from sessiond.paths import make_private
from sessiond.protocol import methods as m, types as t
from sessiond.protocol.types.shared import CommandId
from sessiond.server.lsp import names
from sessiond.server.lsp.actions import default_label
from sessiond.server.lsp.documents import uri_of
from sessiond.server.lsp.editor import Editor
from sessiond.session.content import preview
from sessiond.session.tree import command_ids
from sessiond.session.tree.command_ids import CommandRecord
from sessiond.store.files import paths

LABEL_CHOICE_SECONDS: Final = 300.0
"""Limit of the time in which the user chooses a label."""
_EXTENSIONS: Final = {"markdown": "md", "html": "html", "nova": "json"}


class CommandArguments(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The arguments of a command. `uri` is only for `sessiond.open`, which then needs no other argument."""

    path: str | None = None
    session_id: str | None = None
    entry_id: str | None = None
    label: str | None = None
    title: str | None = None
    format: t.ExportFormat = "markdown"
    output: str | None = None
    uri: str | None = None
    command_id: CommandId | None = None


def register(editor: Editor) -> None:
    """Register the commands for one editor."""
    commands = _Commands(editor)
    for name, run in commands.all():
        _offer(editor, name, run)


def _offer(editor: Editor, name: str, run: Callable[[CommandArguments], Awaitable[Any]]) -> None:
    async def command(*arguments: Any) -> Any:
        # A command that has begun completes even if it is canceled, because it writes to a log.
        work = asyncio.get_running_loop().create_task(editor.translating_errors(_run(editor, arguments, run)))
        work.add_done_callback(lambda done: None if done.cancelled() else done.exception())
        return await asyncio.shield(work)

    editor.server.command(name)(command)


async def _run(
    editor: Editor, arguments: tuple[Any, ...], run: Callable[[CommandArguments], Awaitable[Any]]
) -> Any:
    try:
        about = msgspec.convert(arguments[0] if arguments else {}, CommandArguments)
    except msgspec.ValidationError as error:
        raise IncompatibleParams(f"the argument is an object: {error}") from None
    await (
        editor.client.dispatcher.order.until_written()
    )  # the command applies to the state after all earlier writes
    return await run(about)


class _Commands:
    def __init__(self, editor: Editor) -> None:
        self._editor = editor

    def all(self) -> list[tuple[str, Callable[[CommandArguments], Awaitable[Any]]]]:
        """Return all commands by name."""
        return [
            (names.BRANCH, self._branch), (names.FORK, self._fork), (names.LABEL, self._label),
            (names.OPEN, self._open), (names.EXPORT, self._export), (names.COMPACT, self._compact),
        ]  # fmt: skip

    async def _session(self, about: CommandArguments) -> LiveSession:
        return await self._editor.hub.sessions.named(about.session_id, about.path)

    async def _branch(self, about: CommandArguments) -> Any:
        live = await self._session(about)
        params = t.BranchParams(
            session_id=live.session_id, entry_id=about.entry_id, command_id=about.command_id
        )
        branched = await self._editor.ask(m.BRANCH, params)
        self._show_message(f"The next entry attaches to {about.entry_id or 'the beginning'}.")
        return msgspec.to_builtins(branched)

    async def _fork(self, about: CommandArguments) -> Any:
        editor, source = self._editor, await self._session(about)
        client, header = editor.client, source.tree.header
        cwd = None if header is not None and header.cwd.startswith("/") else str(Path(source.log.ref).parent)
        params = t.ForkParams(
            session_id=source.session_id, leaf_id=about.entry_id or UNSET, cwd=cwd, title=about.title,
            command_id=about.command_id,
        )  # fmt: skip
        # As `session/fork`, without a subscription: such an editor does not know sessiond's notifications.
        (live, _), is_repeated = await editor.hub.creation.fork(params, partial(self._session, about))
        live.awaits_holder = False
        if not is_repeated:
            client.server.notify_created_soon(live, client.origin(about.command_id))
        self._show(live.log.path, "The new session is")
        return msgspec.to_builtins(info_of(live))

    async def _label(self, about: CommandArguments) -> Any:
        live = await self._session(about)
        if about.entry_id is None:
            raise IncompatibleParams("`entryId` is required")
        text = _recorded_label(live, about.command_id) if about.label is None else about.label
        if text is None:
            row = live.row(about.entry_id)
            entry_text = preview.text_of(preview.decoded(live.read(row)))
            text = await self._choose(default_label(entry_text) or live.tree.type(row))
            if text is None:
                return None
        params = t.LabelParams(
            session_id=live.session_id, entry_id=about.entry_id, label=text, command_id=about.command_id
        )
        return msgspec.to_builtins(await self._editor.ask(m.LABEL, params))

    async def _choose(self, text: str) -> str | None:
        """Return the label that the user chooses. If the editor cannot ask, it is the first words of the entry.

        None if the user chooses none within `LABEL_CHOICE_SECONDS`.
        """
        editor = self._editor
        if editor.declares("window.show_message") is None:
            return text
        offered = [types.MessageActionItem(label) for label in dict.fromkeys((text, "todo", "done"))]
        params = types.ShowMessageRequestParams(types.MessageType.Info, "Label this entry:", offered)
        try:
            async with asyncio.timeout(LABEL_CHOICE_SECONDS):
                chosen = await editor.server.window_show_message_request_async(params)
        except TimeoutError:
            return None
        return None if chosen is None else chosen.title

    async def _open(self, about: CommandArguments) -> Any:
        if about.uri is not None:
            self._show_uri(about.uri, about.uri, "The document is", 0)
            return {"uri": about.uri}
        live = await self._session(about)
        line = 0 if about.entry_id is None else live.tree.line(live.row(about.entry_id))
        self._show(live.log.path, "The session is", line)
        return msgspec.to_builtins(info_of(live))

    async def _export(self, about: CommandArguments) -> Any:
        live = await self._session(about)
        params = t.ExportParams(
            session_id=live.session_id, format=about.format,
            leaf_id=about.entry_id or UNSET, path=about.output or self._place(live, about.format),
            overwrite=about.output is None,
        )  # fmt: skip
        exported = await self._editor.ask(m.EXPORT, params)
        self._show(exported.path, "The export is")
        return msgspec.to_builtins(exported)

    def _place(self, live: LiveSession, format: str) -> str:
        """Return the default path of an export. The folder belongs to the daemon, never to the user."""
        folder = Path(self._editor.client.server.home) / paths.EXPORTS
        make_private(str(folder))
        return str(folder / f"{live.session_id}.{_EXTENSIONS.get(format, 'jsonl')}")

    async def _compact(self, about: CommandArguments) -> Any:
        live = await self._session(about)
        compacted = await self._editor.ask(
            m.COMPACT, t.CompactParams(session_id=live.session_id, command_id=about.command_id)
        )
        self._show_message("The session is compacted.")
        return msgspec.to_builtins(compacted)

    def _show(self, path: str | None, outcome: str, line: int = 0) -> None:
        if path is None:
            self._show_message(f"{outcome} in memory only.")
        else:
            self._show_uri(uri_of(path), path, outcome, line)

    def _show_uri(self, uri: str, name: str, outcome: str, line: int) -> None:
        """Show a document, or a message with its location.

        This does not wait, because some editors process one message at a time.
        """
        if not self._editor.can("window.show_document.support"):
            self._show_message(f"{outcome} {name}")
            return
        place = types.Position(line, 0)
        selection = types.Range(place, place) if line else None
        params = types.ShowDocumentParams(uri, take_focus=True, selection=selection)
        shown = self._editor.server.protocol.send_request(types.WINDOW_SHOW_DOCUMENT, params)
        shown.add_done_callback(lambda done: None if done.cancelled() else done.exception())

    def _show_message(self, text: str) -> None:
        self._editor.server.window_show_message(types.ShowMessageParams(types.MessageType.Info, text))


def _recorded_label(live: LiveSession, command_id: str | None) -> str | None:
    """Return the label that an earlier request with this command has set, so that the user is not asked again."""
    if command_id is None:
        return None
    command = CommandRecord(id=command_id, method=m.LABEL.name, digest="", session_id=live.session_id)
    recorded = command_ids.find(live.tree, command, live.read)
    row = None if recorded is None else live.tree.any_row(recorded.ids[0])
    label = None if row is None else preview.decoded(live.read(row)).get("label")
    return label if isinstance(label, str) else None
