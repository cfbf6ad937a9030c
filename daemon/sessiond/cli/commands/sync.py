"""The command sync: starts the command that reaches the other machine, and synchronizes by `syncing`.

ssh needs most of the time of a sync that finds nothing new. So it is started first, and the modules are loaded
meanwhile.
"""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from sessiond.cli.exit_codes import UNAVAILABLE
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.render.style import style_for
from sessiond.lean_imports import import_without_openssl
from sessiond.sync.peer_process import PeerProcess, PeerUnavailableError, ssh_command
from sessiond.text import one_line

if TYPE_CHECKING:
    from sessiond.cli.parse.arguments import ParsedArguments

_HELP = "sessiond sync --help"


def sync(args: ParsedArguments) -> int:
    """Reach the other daemon and synchronize: see `sessiond.sync.run`."""
    command, name = _peer(args)
    if args.flag("watch") and args.flag("dry-run"):
        raise UsageError("--watch and --dry-run cannot both be given", _HELP)
    try:
        process = PeerProcess(command, name)
    except PeerUnavailableError as error:
        style = style_for(sys.stderr)
        print(f"{style('sessiond:', 'red', 'bold')} {one_line(str(error))}", file=sys.stderr)
        return UNAVAILABLE
    import_without_openssl()
    from sessiond.cli.commands.syncing import synchronize_through

    return synchronize_through(process, command, args)


def _peer(args: ParsedArguments) -> tuple[list[str], str]:
    """Return the command that reaches the other daemon, and the name of the other side."""
    host, via = args.value("HOST"), args.value("via")
    if (host is None) is (via is None):
        raise UsageError("sync takes either HOST or --via COMMAND", _HELP)
    if host is not None:
        if host.startswith("-") or not host.strip():
            raise UsageError(f"{host!r} is not a host", _HELP)
        return ssh_command(host), host
    try:
        command = shlex.split(via or "")
    except ValueError as error:
        raise UsageError(f"--via: {error}", _HELP) from None
    if not command:
        raise UsageError("--via needs a command", _HELP)
    return command, command[0].rpartition("/")[2]
