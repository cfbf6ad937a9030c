"""Copies text to the clipboard with a clipboard program; Textual also sends it to the terminal (OSC 52)."""

import asyncio
import contextlib
import shutil
from collections.abc import Mapping

MAX_CHARACTERS = 70_000
"""Maximum bytes for OSC 52; some terminals drop longer texts entirely."""

_PATIENCE = 2.0


def program(environ: Mapping[str, str]) -> list[str] | None:
    """Return the command that copies its standard input to the clipboard, if there is one."""
    candidates = [
        ("WAYLAND_DISPLAY", ["wl-copy"]),
        ("DISPLAY", ["xclip", "-selection", "clipboard"]),
        ("DISPLAY", ["xsel", "--input", "--clipboard"]),
        ("HOME", ["pbcopy"]),
        ("TMUX", ["tmux", "load-buffer", "-"]),
    ]
    for variable, command in candidates:
        if environ.get(variable) and shutil.which(command[0], path=environ.get("PATH")):
            return command
    return None


async def hand_over(command: list[str], text: str) -> bool:
    """Write a text to the standard input of a clipboard command. Returns whether the command succeeded."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(_PATIENCE):
            await process.communicate(text.encode("utf-8", "replace"))
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        return False
    return process.returncode == 0
