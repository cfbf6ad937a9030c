"""Commands for the protocol itself: rpc, schema."""

from __future__ import annotations

from sessiond.cli import stdin
from sessiond.cli.arguments import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.cli.arguments import Given


def rpc(given: Given) -> int:
    """Any method, with params as they are given; prints the result as it was sent."""
    from sessiond.client.blocking import connect

    method = given.needed("METHOD")
    params = _params(given.text("PARAMS") or "{}")
    # To ask a daemon how it is, or to stop it, is no reason to start one.
    with connect(autostart=not method.startswith("server/")) as daemon:
        print(daemon.call_text(method, params))
    return 0


def schema(given: Given) -> int:
    """The JSON Schema of every method and notification."""
    import msgspec

    from sessiond.protocol.schema import schema as whole

    text = msgspec.json.format(msgspec.json.encode(whole()), indent=2)
    print(text.decode())
    return 0


def _params(text: str) -> dict[str, Any]:
    import json  # noqa: TID251 - the thin client has no msgspec

    if text == "-":
        text = stdin.whole()
    try:
        params = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Usage(f"PARAMS is not JSON ({error})") from error
    if not isinstance(params, dict):
        raise Usage("PARAMS is not a JSON object")
    return params
