"""A session that runs in another process: its lines pass unchanged over the socket of that process."""

import contextlib
from typing import Any, Final

from msgspec import UNSET, Raw

from sessiond.acp import jsonrpc
from sessiond.acp.errors import LineTooLong, RunnerEnded
from sessiond.acp.jsonrpc import Envelope, UnreadableLine
from sessiond.acp.running_session import AcpClient
from sessiond.acp.streams import LinePeer

_ATTACH_ID: Final = "attach"


class AttachedSession:
    """One session of another process, for the editor of this one.

    Attributes:
        id: The id of the session.
        cwd: Its folder, as the editor named it.
        asked: The keys of the ids of requests from the other process that are not answered.
    """

    def __init__(self, session_id: str, cwd: str | None, peer: LinePeer, editor: AcpClient) -> None:
        self.id = session_id
        self.cwd = cwd
        self.asked: set[bytes] = set()
        self._peer = peer
        self._editor = editor
        self._sent: dict[bytes, Raw] = {}

    async def attach(self, policy: str, role: str | None, capabilities: Any) -> dict[str, Raw] | None:
        """Attach, and pass on the earlier messages that are shown.

        Args:
            policy: The part of the earlier messages that is shown: `full`, `pending_only` or `none`.
            role: `observer`, or anything else for a controller.
            capabilities: The capabilities of the editor.

        Returns:
            The result; None if the process accepts no clients any more.
        """
        params = {
            "sessionId": self.id,
            "historyPolicy": policy,
            "role": role,
            "clientCapabilities": capabilities,
        }
        self._peer.send(jsonrpc.request(_ATTACH_ID, "session/attach", params))
        with contextlib.suppress(UnreadableLine):  # a killed process leaves the start of a line
            while (line := await self._peer.read()) is not None:
                envelope = jsonrpc.decode(line)
                if envelope.method is UNSET and envelope.result is not UNSET:
                    return jsonrpc.members(envelope.result)
                self._to_editor(envelope, line)
                await self._editor.peer.drained()
        return None

    async def run(self) -> None:
        """Pass lines to the editor until the other process ends the connection."""
        try:
            while (line := await self._peer.read()) is not None:
                self._to_editor(jsonrpc.decode(line), line)
                await self._editor.peer.drained()
        except (LineTooLong, UnreadableLine):
            pass  # a process that was killed leaves the start of a line
        finally:
            self._peer.close()
            ended = str(RunnerEnded(self.id))
            for own in self._sent.values():
                self._editor.peer.send(jsonrpc.failure(own, jsonrpc.INTERNAL_ERROR, ended))

    def take(self, envelope: Envelope, line: bytes) -> None:
        """Pass a line of the editor."""
        if envelope.id is not UNSET:
            if envelope.method is UNSET:
                self.asked.discard(jsonrpc.key(envelope.id))
            else:
                self._sent[jsonrpc.key(envelope.id)] = envelope.id
        self._peer.send(line)

    def close(self) -> None:
        """Detach."""
        self._peer.close()

    def _to_editor(self, envelope: Envelope, line: bytes) -> None:
        if envelope.id is not UNSET:
            if envelope.method is UNSET:
                self._sent.pop(jsonrpc.key(envelope.id), None)
            else:
                self.asked.add(jsonrpc.key(envelope.id))
        self._editor.peer.send(line)
