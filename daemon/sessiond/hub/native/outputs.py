"""Puts whole outputs of tools back where an agent that resumes a session looks for them (decision 0070).

The results in the session name the files. A file is written only at the place that its result names, if this is one
that the agent's row allows, and only if nothing is there. No symbolic link below the agent's folder is followed.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Sequence
from typing import NamedTuple

from sessiond.agents.agent import Agent
from sessiond.agents.attachments import FilePlace
from sessiond.hub.session.blobs import SessionBlobs
from sessiond.hub.session.live import LiveSession
from sessiond.hub.transfer.attachments import places_in
from sessiond.session.content import attachments, fields, preview
from sessiond.session.content.attachments import Attachment
from sessiond.session.tree import steps

log = logging.getLogger(__name__)


class _Output(NamedTuple):
    """The text of a result, and the file with its whole output."""

    text: str
    file: Attachment


async def put_back(live: LiveSession, leaf: int, agent: Agent, path: str) -> int:
    """Write the missing outputs that the path to an entry names. Returns their number.

    Args:
        live: The session.
        leaf: The row of the last entry.
        agent: The agent that resumes the session.
        path: The file of the session of the agent.
    """
    tree = live.tree
    if not tree.attachments:
        return 0
    on_path = set(await live.drive(steps.path(tree, leaf)))
    outputs: list[_Output] = []
    for target, rows in tree.attachments.items():
        row = tree.row(target)
        if row not in on_path:
            continue
        message = fields.mapping(preview.decoded(live.read_rows([row])[0]).get("message"))
        file = attachments.attachment_of(preview.decoded(live.read_rows(rows[-1:])[0]))
        if file is not None and file.kind == "toolOutput":
            outputs.append(_Output(preview.text_of_content(message.get("content")), file))
    return await asyncio.to_thread(_write_missing, outputs, agent.dialect or "", path, live.blobs)


def _write_missing(outputs: Sequence[_Output], dialect: str, path: str, blobs: SessionBlobs) -> int:
    count = 0
    for text, file in outputs:
        for place in places_in(dialect, path, text):
            name = file.name.rpartition("/")[2]
            if place.names[-1] != name or place.path not in text or os.path.lexists(place.path):
                continue
            data = blobs.find(file.digest) if file.digest else (file.head or "").encode()
            if data is None:
                continue
            try:
                _create(place, data)
            except OSError as error:
                log.warning("the output %s cannot be put back: %s", place.path, error)
            else:
                log.info("the output %s was put back for a resume", place.path)
                count += 1
    return count


def _create(place: FilePlace, data: bytes) -> None:
    """Create a file, durable on return, with access for its owner only. Raises `FileExistsError` if there is one."""
    with contextlib.ExitStack() as opened:
        folder = os.open(place.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        opened.callback(os.close, folder)
        for name in place.names[:-1]:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=folder)
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            folder = os.open(name, flags, dir_fd=folder)
            opened.callback(os.close, folder)
        made = f".sessiond-{os.urandom(6).hex()}.tmp"
        file = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            with os.fdopen(file, "wb") as writing:
                writing.write(data)
                writing.flush()
                os.fsync(writing.fileno())
            os.link(made, place.names[-1], src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            os.unlink(made, dir_fd=folder)
        os.fsync(folder)
