"""Resumes a session in an agent: in the session of the agent that it was read from, or in a new one (decision 0037)."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
from msgspec import UNSET

from sessiond.agents.agent import Agent
from sessiond.agents.table import AGENTS
from sessiond.agents.writing import NATIVE_WRITERS
from sessiond.hub.errors import ChildNotStarted, IncompatibleParams, refuse_unless_absolute
from sessiond.hub.execution.child_process import run_on_pieces
from sessiond.hub.native import originals
from sessiond.hub.native.originals import Original
from sessiond.hub.native.outputs import put_back
from sessiond.hub.native.writing import NativeWork, NativeWritten, write_native
from sessiond.hub.session.blobs import SessionBlobs
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.log_reader import Moment
from sessiond.hub.transfer.lines_with_blobs import LinePiece, in_pieces
from sessiond.protocol import types as t
from sessiond.session.dialects.exported import ExportedSession
from sessiond.session.tree import lines, steps
from sessiond.session.tree.origin import HERE, OriginStep
from sessiond.session.tree.steps import ROWS_A_STEP, Steps

log = logging.getLogger(__name__)

SMALL_BYTES: Final = 512 * 1024
"""Limit of the bytes of a path that is written in a thread. A larger path is written in a child process."""
VersionOf: TypeAlias = Callable[[Agent, Mapping[str, str]], str | None]
MAX_LISTED: Final = 1_000
"""Limit of the losses of a result."""


class AgentResume:
    """Resumes the sessions of one store in agents.

    Args:
        documents: The folder for files that agents import.
        version_of: Returns the newest version of an agent that wrote sessions here; None if it is not known.
    """

    def __init__(self, documents: str, version_of: VersionOf) -> None:
        self._documents = documents
        self._version_of = version_of

    async def run(self, live: LiveSession, moment: Moment, params: t.ResumeParams) -> t.ResumeResult:
        """Find or write the session of an agent, and return the command that resumes it.

        Args:
            live: The session.
            moment: The state of the session to resume.
            params: The request.

        Raises:
            EntryNotFound: The requested leaf does not exist.
            IncompatibleParams: No agent is known, the agent cannot be written for, or the folder does not exist.
            OSError: A file cannot be written.
        """
        origin = originals.origin_of(live)
        name = params.agent or (None if origin is None else origin.agent)
        if name is None:
            raise IncompatibleParams("the session came from no agent; `agent` names the one to resume it in")
        if name not in AGENTS:
            raise IncompatibleParams(f"there is no agent {name!r:.80}; the agents are {', '.join(AGENTS)}")
        leaf = moment.leaf if params.leaf_id is UNSET else live.row_at(params.leaf_id)
        counts = await live.drive(steps.count_messages(live.tree, leaf))
        found = await self._found(live, moment, params, origin, name)
        if origin is not None and origin.agent == name:
            await put_back(live, leaf, AGENTS[name], found.path)
        return msgspec.structs.replace(found, message_count=counts.all, off_path_count=counts.off_path)

    async def _found(
        self, live: LiveSession, moment: Moment, params: t.ResumeParams, origin: Original | None, name: str
    ) -> t.ResumeResult:
        """Return the command that resumes the session in the agent `name`."""
        environ = _environ(params.env)
        cwd = await asyncio.to_thread(_folder, live, params)
        is_same = (
            origin is not None and origin.agent == name and params.leaf_id is UNSET and params.cwd is None
        )
        if is_same and origin is not None:
            path = await asyncio.to_thread(originals.find, origin, cwd, environ)
            command = AGENTS[name].resume_command(origin.native_id)
            if path is not None and command:
                return _result(origin, command, cwd, environ, path)
        if name not in NATIVE_WRITERS:
            raise IncompatibleParams(f"no session can be written for {AGENTS[name].title}")
        written = await self._written(live, moment, params, name, cwd, environ)
        command = AGENTS[name].resume_command(written.native_id)
        return _result(Original(name, written.native_id, None), command, cwd, environ, written.path, written)

    async def _written(
        self, live: LiveSession, moment: Moment, params: t.ResumeParams, agent: str, cwd: str,
        environ: Mapping[str, str],
    ) -> NativeWritten:  # fmt: skip
        row = moment.leaf if params.leaf_id is UNSET else live.row_at(params.leaf_id)
        found = await live.drive(_path_lines(live, row))
        header, origin = live.tree.header, live.tree.origin
        step = OriginStep(HERE if origin is None else origin.agent, live.session_id)
        lineage = (*(() if origin is None else origin.lineage), step)
        session = ExportedSession(
            session_id=live.session_id, timestamp="" if header is None else header.timestamp, cwd=cwd,
            title=moment.title, tags=moment.tags, parent_session=None, entries=[],
            leaf=moment.leaf_id if params.leaf_id is UNSET else params.leaf_id,
            agent=None if origin is None else origin.agent, lineage=lineage,
        )  # fmt: skip
        version = await asyncio.to_thread(self._version_of, AGENTS[agent], environ)
        work = NativeWork(session, agent, environ, self._documents, version)
        batches = (found[number : number + ROWS_A_STEP] for number in range(0, len(found), ROWS_A_STEP))
        if sum(map(len, found)) > SMALL_BYTES:
            try:
                return await run_on_pieces(write_native, _pieces(batches, live.blobs), work)
            except ChildNotStarted as error:
                log.warning("a resume slows down other requests: %s", error)
        return await asyncio.to_thread(lambda: write_native(in_pieces(found, live.blobs.find), work))


def _environ(given: Mapping[str, str] | None) -> dict[str, str]:
    """Return the variables that say where agents keep their sessions, of the client or else of this process."""
    names = {
        "HOME",
        "TMPDIR",
        "XDG_CONFIG_HOME",
        *(variable for agent in AGENTS.values() for variable in agent.variables),
    }
    source = os.environ if given is None else given
    return {name: source[name] for name in sorted(names) if source.get(name)}


def _folder(live: LiveSession, params: t.ResumeParams) -> str:
    """Return the real path of the folder to resume in, as agents see it. Raises `IncompatibleParams`."""
    header = live.tree.header
    named = params.cwd or ("" if header is None else header.cwd)
    refuse_unless_absolute(named, "cwd")
    if not Path(named).is_dir():
        raise IncompatibleParams(f"the folder {named!r:.200} does not exist; `cwd` names another one")
    return os.path.realpath(named)


def _path_lines(live: LiveSession, row: int) -> Steps[list[bytes]]:
    rows = yield from steps.path(live.tree, row)
    found: list[bytes] = []
    for batch in steps.batches(live.tree, rows):
        found += live.read_rows(batch)
        yield
    return found


async def _pieces(
    batches: Iterable[Sequence[bytes]], blobs: SessionBlobs
) -> AsyncIterator[Iterator[LinePiece]]:
    for batch in batches:
        yield in_pieces(batch, blobs.find)


def _result(
    native: Original, command: list[str], cwd: str, environ: Mapping[str, str], path: str,
    written: NativeWritten | None = None,
) -> t.ResumeResult:  # fmt: skip
    agent = AGENTS[native.agent]
    own = {name: environ[name] for name in agent.variables if name in environ}
    lost = {} if written is None else written.lost
    importing: list[str] | None = None
    if written is not None and written.must_be_imported and agent.import_command is not None:
        importing = agent.import_command(written.path)
    return t.ResumeResult(
        argv=command, cwd=lines.valid_text(cwd), env={"PWD": lines.valid_text(cwd), **own}, agent=agent.name,
        native_session_id=native.native_id, path=lines.valid_text(path),
        losses=[
            t.Loss(name=lines.valid_text(name), count=count)
            for name, count in islice(sorted(lost.items()), MAX_LISTED)
        ],
        import_argv=importing,
    )  # fmt: skip
