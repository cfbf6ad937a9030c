"""The project whose sessions a client reads by default, and the check that a session belongs to it."""

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from sessiond.mcp.errors import AmbiguousSessionError, OtherProjectError, PathAsIdError, UnknownSessionError

if TYPE_CHECKING:
    from sessiond.client.daemon import Daemon
    from sessiond.protocol import types as t

_ROOTS_SECONDS: Final = 3.0
_MAX_NAMED: Final = 6
_MAX_OF_ID: Final = 100


class CurrentProject:
    """The folder whose project is the current one.

    It is the given folder, else the first root of the client, else the working folder of this process.

    Args:
        folder: The folder that the user gave; None without one.
        working_folder: The working folder of this process.
        is_unlimited: Whether sessions of all projects are read without `all_projects`.
    """

    def __init__(self, folder: str | None, working_folder: str, *, is_unlimited: bool) -> None:
        self._folder = folder
        self._working_folder = working_folder
        self._is_unlimited = is_unlimited
        self.roots: asyncio.Future[list[str]] | None = None
        """The folders of the client, if it was asked for them."""

    async def folder(self) -> str:
        """Return the folder. A client that was asked for its roots gets a few seconds to answer."""
        if self._folder is not None:
            return self._folder
        if self.roots is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_ROOTS_SECONDS):
                    roots = await asyncio.shield(self.roots)
                if self._working_folder in roots or not roots:
                    return self._working_folder
                return roots[0]
        return self._working_folder

    async def searched(self, *, all_projects: bool) -> str | None:
        """Return the folder whose project is searched; None for all projects."""
        return None if all_projects or self._is_unlimited else await self.folder()

    async def session(self, daemon: "Daemon", id: str, *, all_projects: bool) -> "t.ListedSession":
        """Return the session that an id, or its first characters, names.

        Raises:
            ToolError: There is no such session, there are several, or it belongs to another project.
            RpcError: The daemon refused the request.
        """
        from sessiond.mcp.quoting import shown_id

        if "/" in id or id.endswith((".jsonl", ".jsonl.zst")):
            raise PathAsIdError(shown_id(id))
        found = await daemon.resolve(id, limit=_MAX_NAMED)
        if not found.sessions:
            raise UnknownSessionError(shown_id(id))
        if len(found.sessions) > 1 and not found.exact:
            raise AmbiguousSessionError(
                shown_id(id), ", ".join(shown_id(listed.session_id) for listed in found.sessions)
            )
        session = found.sessions[0]
        project = await self.searched(all_projects=all_projects)
        if project is not None and not await _belongs(daemon, session.session_id, project):
            raise OtherProjectError(shown_id(session.session_id))
        return session


async def _belongs(daemon: "Daemon", session_id: str, project: str) -> bool:
    listed = await daemon.list_sessions(
        project=project, query=session_id, include_drafts=True, limit=_MAX_OF_ID
    )
    return any(session.session_id == session_id for session in listed.sessions)
