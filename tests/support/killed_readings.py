"""Readings part by part that a kill ends in the middle of a part."""

import subprocess
import sys

from sessiond.hub.transfer.spool import Spool

_KILLED = """
import os, sys
from sessiond.agents.companions import Companions
from sessiond.hub.transfer import entry_files, file_parts, reading_progress, streaming
from sessiond.hub.transfer.spool import Spool
source, folder, token, size, count = sys.argv[1:]
file_parts.PART_BYTES, reading_progress.MIN_BYTES, reading_progress.STATES = int(size), 1, 0
left, add = int(count), entry_files.EntryFiles.add
def killed(self, *arguments):
    global left
    left -= 1
    add(self, *arguments)
    if left < 0:
        self.written()
        os._exit(9)
entry_files.EntryFiles.add = killed
streaming.read(source, None, Companions(), Spool(folder, token), cwd=None, title_space=True)
"""


def killed_after(source: str, spool: Spool, *, part_bytes: int, parts: int) -> int:
    """Read a source in a process that records its progress after each part, and end it after some parts.

    Returns the exit status of the process, which is 9 if it was ended.
    """
    arguments = [source, spool.folder, spool.token, str(part_bytes), str(parts)]
    return subprocess.run([sys.executable, "-c", _KILLED, *arguments], check=False).returncode
