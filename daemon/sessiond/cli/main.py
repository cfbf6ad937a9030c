"""The entry point: finds the command, imports only what it needs, and turns exceptions into exit codes."""

from __future__ import annotations

import gc
import os
import sys
from io import FileIO, TextIOWrapper

from sessiond.cli.exit_codes import BROKEN_PIPE, INTERRUPTED, SUCCESS
from sessiond.cli.parse.arguments import HelpRequested, UsageError, parse
from sessiond.cli.parse.choices import check
from sessiond.cli.render import ascii_output
from sessiond.cli.table.index import ALIASES, find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sessiond.cli.parse.arguments import ParsedArguments

_LONG_RUNNING = ("serve", "attach", "watch", "view", "sync", "mcp")


def main() -> int:
    """Run the command line as a process. Returns only from commands in `_LONG_RUNNING`; others exit the process."""
    _open_closed_streams()
    words = sys.argv[1:]
    if words[:1] and words[0] in _LONG_RUNNING:
        return run(words)
    if len(words) == 2 and words[0] == "hook" and not words[1].startswith("-"):
        # An agent waits for it: without the table of commands, it takes a third less.
        from sessiond.cli.commands.hook import run as run_hook

        os._exit(run_hook(words[1]))
    # A command takes 25 ms; garbage collection and the interpreter's shutdown would take a sixth of that.
    gc.disable()
    code = run(words)
    sys.stderr.flush()
    os._exit(code)


def _open_closed_streams() -> None:
    """Open /dev/null for those of the descriptors 0, 1 and 2 that the caller has closed.

    Otherwise the next file or socket would get such a number, and a socket would be standard output.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # opens the lowest free descriptor, which is this one
    if sys.stdin is None:
        sys.stdin = TextIOWrapper(FileIO(0, closefd=False), "utf-8")
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, TextIOWrapper(FileIO(descriptor, "w", closefd=False), "utf-8", "replace"))


def run(words: Sequence[str]) -> int:
    """Run one command and return its exit code (see `cli/exit_codes.py`). Its output is written when this returns."""
    # A transcript may have characters that the terminal's encoding lacks; they are printed as question marks.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
            if ascii_output.is_wanted():
                ascii_output.use(stream)
    if sys.stdout.isatty() or sys.stderr.isatty():
        from sessiond.cli.render.terminal_guard import guarded

        sys.stdout, sys.stderr = guarded(sys.stdout), guarded(sys.stderr)
    try:
        code = _dispatch(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe. Python must not write the rest of the buffer when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 - the one place that turns exceptions into messages
        from sessiond.cli.errors import report

        return report(error)
    return code


def _dispatch(words: Sequence[str]) -> int:
    pages = words[:1] != ["--no-pager"]
    if not pages:
        words = words[1:]
    if not words or words[0] == "-h":
        from sessiond.cli.help.pages import overview

        return overview()
    if words[0] in ("-V", "--version"):
        from sessiond import __version__

        print(f"sessiond {__version__}")
        return SUCCESS
    if words[0] in ("--help", "help"):
        return _show_help([word for word in words[1:] if word != "--no-pager"])
    name, rest = ALIASES.get(words[0], words[0]), words[1:]
    declared = find(name)
    if declared is None:
        from sessiond.cli.help.suggestions import did_you_mean

        raise UsageError(f"there is no command {name!r}", did_you_mean(name))
    try:
        args = parse(name, declared, rest)
    except HelpRequested:
        return _show_help([name])
    if args.options:
        check(args)
    if ascii_output.is_wanted() and ascii_output.is_data(name, as_json=args.flag("json")):
        ascii_output.use_for_data(sys.stdout, name)
    command = _load(declared.function)
    if pages and declared.paged and not args.flag("no-pager") and sys.stdout.isatty():
        from sessiond.cli.render.pager import in_a_pager

        return in_a_pager(lambda: command(args))
    return command(args)


def _show_help(words: Sequence[str]) -> int:
    from sessiond.cli.help.pages import everything
    from sessiond.cli.render.pager import in_a_pager

    return in_a_pager(lambda: everything(words)) if sys.stdout.isatty() else everything(words)


def _load(name: str) -> Callable[[ParsedArguments], int]:
    module, _, function = name.partition(":")
    module = f"sessiond.cli.commands.{module}"
    __import__(module)  # importing `importlib` takes longer than some of these modules
    command: Callable[[ParsedArguments], int] = getattr(sys.modules[module], function)
    return command
