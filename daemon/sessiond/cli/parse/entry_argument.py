"""Names of entries: ids, the first characters of an id, labels, or @ for the leaf. Also applies --command-id.

A whole id costs no extra request: it is sent unchanged. Only if the daemon finds no such entry, which changes nothing,
the tree is searched and the request is sent again.
"""

from __future__ import annotations

import itertools

from sessiond.cli.parse.arguments import UsageError
from sessiond.client.blocking import BlockingDaemon
from sessiond.client.wire import RpcError
from sessiond.error_text import TemplatedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, TypeVar

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.client.blocking import OnNotification

    T = TypeVar("T")

LEAF = "@"
SHORTEST = 3
"""Minimum characters of an abbreviated id."""

_FIELDS = (
    "leafId",
    "leftId",
    "rightId",
    "entryId",
    "parentId",
    "expectedLeafId",
    "rootId",
    "aroundId",
    "entryIds",
)
"""Params that name entries."""
_LONGEST = 64  # maximum characters of an id; a label may have more
_PAGE = 5_000
_MAX_NAMED = 8


class AmbiguousEntryError(UsageError):
    """Raised when several entries match a name; `then` has the lines that distinguish them."""

    sentence = "entry name {name!r} is ambiguous"

    def __init__(self, name: str, candidates: list[str]) -> None:
        TemplatedError.__init__(self, name=name)
        self.problem = str(self)
        self.then = "\n".join(candidates)


class _Commands:
    """The methods to which a user's command id applies, and the id for each of several requests."""

    def __init__(self, methods: Sequence[str], chosen: str) -> None:
        self.methods = methods
        self.ids = itertools.chain([chosen], (f"{chosen}-{number}" for number in itertools.count(2)))


def _commands(args: ParsedArguments) -> _Commands | None:
    chosen = args.value("command-id")
    return None if chosen is None else _Commands(args.write_methods, chosen)


class ByName(BlockingDaemon):
    """A daemon connection that accepts names of entries instead of their ids. Calls may raise `AmbiguousEntryError`."""

    def __init__(self, dial: Callable[[], socket], args: ParsedArguments | None = None) -> None:
        super().__init__(dial)
        self._commands = None if args is None else _commands(args)
        self.resolved_ids: dict[str, str] = {}
        """The ids of the names that were looked up."""

    def call(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        on_notification: OnNotification | None = None,
    ) -> Any:
        """Send a request as `BlockingDaemon.call` does, with names of entries replaced by ids where necessary."""
        send = super().call
        return self._with_ids(
            lambda named: send(method, named, on_notification=on_notification),
            self._as_command(method, params or {}),
        )

    def call_text(self, method: str, params: dict[str, Any] | None = None) -> str:
        """Send a request as `BlockingDaemon.call_text` does, with names of entries replaced by ids where necessary."""
        send = super().call_text
        return self._with_ids(lambda named: send(method, named), self._as_command(method, params or {}))

    def _as_command(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the params with the user's command id, if it applies to the method."""
        if self._commands is None or method not in self._commands.methods:
            return params
        return {**params, "commandId": next(self._commands.ids)}

    def _with_ids(self, send: Callable[[dict[str, Any]], T], params: dict[str, Any]) -> T:
        for name in [name for name in _names(params) if name == LEAF or len(name) > _LONGEST]:
            params = self._with_id(params, name) or params
        while True:
            try:
                return send(params)
            except RpcError as error:
                wrong = error.details.get("entryId") if error.kind == "entryNotFound" else None
                if wrong not in _names(params) or (named := self._with_id(params, wrong)) is None:
                    raise
                params = named

    def _with_id(self, params: dict[str, Any], name: str) -> dict[str, Any] | None:
        """Return the params with the id instead of a name; None when no entry has the name."""
        session = {"sessionId": params["sessionId"]}
        if name == LEAF:
            found: str | None = super().call("session/info", session)["session"]["leafId"]
        else:
            found = chosen(name, list(self._rows(session)))
        if found is None or found == name:
            return None
        self.resolved_ids[name] = found
        return {
            field: _replaced(value, name, found) if field in _FIELDS else value
            for field, value in params.items()
        }

    def _rows(self, session: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield every entry of the session."""
        params = {**session, "filter": "all", "limit": _PAGE}
        while True:
            page = super().call("session/tree", params)
            yield from page["nodes"]
            if not page.get("nextCursor"):
                return
            params["cursor"] = page["nextCursor"]


def connect(args: ParsedArguments | None = None, *, autostart: bool = True) -> ByName:
    """Connect as `client.blocking.connect` does; with `args`, --command-id is applied.

    Raises `DaemonConnectionError`.
    """
    from sessiond.client.dial import connect as dial
    from sessiond.paths import find_locations

    locations = find_locations()
    return ByName(lambda: dial(locations, autostart=autostart), args)


def chosen(name: str, rows: list[dict[str, Any]]) -> str | None:
    """Return the id of the only entry with this label or id prefix; None if there is none.

    Raises `AmbiguousEntryError`.
    """
    found = [row for row in rows if row["label"] == name]
    if not found and len(name) >= SHORTEST:
        found = [row for row in rows if row["id"].startswith(name)]
    if len(found) > 1:
        raise AmbiguousEntryError(name, _candidate_lines(found))
    return found[0]["id"] if found else None


def _candidate_lines(rows: list[dict[str, Any]]) -> list[str]:
    from sessiond.cli.render.columns import aligned
    from sessiond.cli.render.style import Style
    from sessiond.text import fit, one_line

    shown = [[one_line(row["id"]), one_line(row.get("role") or row["type"]),
              fit(one_line(row.get("preview") or ""), 60)] for row in rows[:_MAX_NAMED]]  # fmt: skip
    more = [f"and {len(rows) - _MAX_NAMED:,} more"] if len(rows) > _MAX_NAMED else []
    return [*aligned(shown, Style()), *more]


def _names(params: dict[str, Any]) -> list[str]:
    args = [params.get(field) for field in _FIELDS]
    return [
        name for arg in args for name in (arg if isinstance(arg, list) else [arg]) if isinstance(name, str)
    ]


def _replaced(value: Any, name: str, found: str) -> Any:
    if isinstance(value, list):
        return [found if item == name else item for item in value]
    return found if value == name else value
