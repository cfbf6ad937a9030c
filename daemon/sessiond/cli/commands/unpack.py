"""The command unpack: the plain file of a session whose file is packed, in its place or as a copy."""

from __future__ import annotations

import os
import sys

from sessiond import human
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.session_argument import session_id
from sessiond.client.blocking import connect
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessiond.cli.parse.arguments import ParsedArguments


def unpack(args: ParsedArguments) -> int:
    """Send `session/open` with `unpack`, or copy the lines of the session to the file that --output names."""
    named = args.value("output")
    output = None if named is None else os.path.abspath(named)  # noqa: PTH100 - pathlib would resolve links
    params: dict[str, object] = {"bind": False, "unpack": output is None}
    with connect() as daemon:
        params["sessionId"] = session_id(daemon, args)
        if args.flag("json") and output is None:
            print(daemon.call_text("session/open", params))
            return 0
        session = daemon.call("session/open", params)["session"]
        if session["path"] is None:
            raise UsageError(f"session {one_line(session['sessionId'])} is not in a file")
        if output is not None:
            _copy(session["path"], output)
    path = session["path"] if output is None else output
    print(one_line(path))
    if sys.stdout.isatty():
        print(f"{human.size(session['sizeBytes'])} in a plain file", file=sys.stderr)
    return 0


def _copy(path: str, output: str) -> None:
    """Write the lines of a session to a new file, readable only by the user and synced."""
    from sessiond.store.errors import StorageFailed
    from sessiond.store.files.packing import content_of  # no other command needs it

    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(path, flags)
        try:
            made = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(made, "wb") as file:
                for data in content_of(path, fd):
                    file.write(data)
                file.flush()
                os.fsync(made)
        finally:
            os.close(fd)
    except FileExistsError:
        raise UsageError(f"{one_line(output)} exists: name a new file") from None
    except StorageFailed as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{one_line(error.filename or output)}: {error.strerror}") from None
