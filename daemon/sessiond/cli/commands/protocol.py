"""The commands rpc, schema and terminal, for the protocol itself."""

from __future__ import annotations

import sys

from sessiond.cli.exit_codes import FAILURE, SUCCESS
from sessiond.cli.parse import stdin
from sessiond.cli.parse.arguments import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments

_HANDSHAKES = ("initialize", "server/hello")


def rpc(args: ParsedArguments) -> int:
    """Call any method with unchanged params, and print the result as it was sent."""
    from sessiond.client.blocking import connect

    method = args.required("METHOD")
    params = _params(args.value("PARAMS") or "{}")
    # A status request or a stop does not start a daemon.
    autostart = not method.startswith("server/")
    with connect(autostart=autostart, hello=None if method in _HANDSHAKES else _hello()) as daemon:
        print(daemon.call_unchanged(method, params))
    return 0


def schema(args: ParsedArguments) -> int:
    """Print the JSON Schema of every method and notification."""
    import msgspec

    from sessiond.protocol.schema import whole_schema

    text = msgspec.json.format(msgspec.json.encode(whole_schema()), indent=2)
    print(text.decode())
    return 0


def terminal(args: ParsedArguments) -> int:
    """Print the identity of this command's terminal. Sends no request."""
    from sessiond.client.terminal import here

    found = here()
    if args.flag("json"):
        import json  # noqa: TID251 - the thin client has no msgspec

        print(json.dumps(found, ensure_ascii=False))
    elif found is not None:
        print(found["id"])
    else:
        print("This process has no terminal. To name one: SESSIOND_TERMINAL=NAME", file=sys.stderr)
    return FAILURE if found is None else SUCCESS


def _hello() -> dict[str, Any] | None:
    """Return params of `server/hello` with the terminal; None without one."""
    from sessiond import __version__
    from sessiond.client.terminal import here

    if (found := here()) is None:
        return None
    return {
        "clientInfo": {"name": "sessiond rpc", "version": __version__},
        "terminal": found,
    }


def _params(text: str) -> dict[str, Any]:
    import json  # noqa: TID251 - the thin client has no msgspec

    if text == "-":
        text = stdin.whole()
    try:
        params = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"PARAMS is not JSON ({error})") from error
    if not isinstance(params, dict):
        raise UsageError("PARAMS is not a JSON object")
    return params
