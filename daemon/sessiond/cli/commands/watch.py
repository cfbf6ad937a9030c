"""The command watch: prints entries as they arrive, each once and in order, across restarts of the daemon."""

from __future__ import annotations

import json  # noqa: TID251 - the thin client has no msgspec
import sys
import time
from contextlib import suppress

from sessiond import human
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.session_argument import session_id
from sessiond.cli.render.content_text import in_short, is_for_models_only, speaker
from sessiond.cli.render.style import Style, style_for
from sessiond.client.backoff import pauses
from sessiond.client.blocking import BlockingDaemon, connect
from sessiond.client.daemon_socket import DaemonConnectionError, VersionMismatchError
from sessiond.client.wire import DisconnectedError
from sessiond.text import fit, one_line, pad, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments

_AWAY = (
    DisconnectedError,
    DaemonConnectionError,
)  # the second when a request reconnects to a daemon that is ending
_COLORS = {"user": "cyan", "assistant": "green", "toolResult": "blue"}


def watch(args: ParsedArguments) -> int:
    """Send `session/subscribe`, then print notifications without end."""
    last, since = args.number("last"), args.number("since")
    if last is not None and since is not None:
        raise UsageError("--last and --since cannot both be given")
    show = _as_json if args.flag("json") else _as_lines(style_for(sys.stdout))
    daemon = connect()
    try:
        session = session_id(daemon, args)
        info = daemon.call("session/info", {"sessionId": session})["session"]
        known: int = info["lastSeq"] if last is None else max(info["lastSeq"] - last, 0)
        follower = NotificationPrinter(
            info["sessionId"], info["logId"], known if since is None else since, show
        )
        print(f"Watching {one_line(info['sessionId'])}. Ctrl-C ends it.", file=sys.stderr)
        with suppress(*_AWAY):
            follower.subscribe(daemon)
            follower.show(daemon)
        while True:
            daemon.close()
            print("The daemon is gone. Waiting for the next one.", file=sys.stderr)
            daemon = _once_back(follower)
            with suppress(*_AWAY):
                follower.show(daemon)
    finally:
        daemon.close()


class NotificationPrinter:
    """Prints the notifications of one session; `known` is the last printed line of the log `log_id`."""

    def __init__(
        self, session: str, log_id: str, known: int, show: Callable[[str, dict[str, Any]], None]
    ) -> None:
        self.session = session
        self.log_id = log_id
        self.known = known
        self._replayed_up_to = 0
        self._print = show

    def subscribe(self, daemon: BlockingDaemon) -> None:
        """Subscribe after the last printed line. Raises `DisconnectedError`, `DaemonConnectionError`."""
        gap = daemon.call("session/subscribe", {"sessionId": self.session, "after": self._position()})
        if gap["logId"] != self.log_id:
            print("The session has a new log, which is shown from its first line.", file=sys.stderr)
            self.log_id, self.known = gap["logId"], 0
        self._replayed_up_to = gap["toSeq"]
        if gap["mode"] == "snapshot":
            self._read_up_to(daemon, gap["toSeq"])

    def show(self, daemon: BlockingDaemon) -> None:
        """Print notifications after `subscribe`. Returns when the connection ends, or raises `DisconnectedError`."""
        for method, params in daemon.notifications():
            about = params.get("sessionId") or params.get("session", {}).get("sessionId")
            if about != self.session:
                continue
            if method == "session/lagged":
                self.subscribe(daemon)
            elif method == "session/appended":
                self._take(params)
            else:
                self._shown(method, params)

    def _read_up_to(self, daemon: BlockingDaemon, seq: int) -> None:
        """Read entries that are too many for a replay. Live notifications are buffered in `daemon` meanwhile."""
        while self.known < seq:
            params = {"sessionId": self.session, "after": self._position(), "limit": 500}
            page = daemon.call("session/entries", params)
            if not (items := page["items"]):
                return
            about = {"sessionId": self.session, "fromSeq": items[0]["seq"], "toSeq": items[-1]["seq"]}
            self._take({**about, "replay": True, **page})

    def _position(self) -> dict[str, Any]:
        return {"logId": self.log_id, "seq": self.known}

    def _take(self, params: dict[str, Any]) -> None:
        if not params.get("replay") and params["toSeq"] <= self._replayed_up_to:
            return  # the replay contains this live entry too; here it would be out of order
        new = [item for item in params["items"] if item["seq"] > self.known]
        if new:
            self.log_id, self.known = params["logId"], new[-1]["seq"]
            self._shown("session/appended", params | {"items": new, "fromSeq": new[0]["seq"]})

    def _shown(self, method: str, params: dict[str, Any]) -> None:
        self._print(method, params)
        sys.stdout.flush()


def _once_back(follower: NotificationPrinter) -> BlockingDaemon:
    """Connect to the next daemon and subscribe. Starts none, since the user may have stopped it."""
    for pause in pauses():
        try:
            daemon = connect(autostart=False)
            try:
                follower.subscribe(daemon)
            except BaseException:
                daemon.close()
                raise
        except VersionMismatchError:
            raise
        except _AWAY:
            time.sleep(pause)
        else:
            return daemon
    raise AssertionError("the pauses have no end")


def _as_json(method: str, params: dict[str, Any]) -> None:
    print(json.dumps({"method": method, "params": params}, ensure_ascii=False, separators=(",", ":")))


def _as_lines(style: Style) -> Callable[[str, dict[str, Any]], None]:
    def show(method: str, params: dict[str, Any]) -> None:
        if method == "session/appended":
            for item in params["items"]:
                entry = item["entry"]
                if is_for_models_only(entry):
                    continue
                print(_line(entry, style))
        elif news := _news(method, params):
            print(style(f"          {news}", "dim"))

    return show


def _line(entry: dict[str, Any], style: Style) -> str:
    author = speaker(entry)
    clock = human.clock(str(entry.get("timestamp", "")))
    name = one_line(str(entry.get("id", "")))
    start = f"{clock}  {name}  {pad(author, 9)}  "
    text = in_short(entry)
    if style.columns is not None:
        text = fit(text, max(style.columns - width(start), 0), style.ellipsis)
    author = style(pad(author, 9), _COLORS.get(author, "dim"))
    return f"{style(clock, 'dim')}  {style(name, 'dim')}  {author}  {text}".rstrip()


def _news(method: str, params: dict[str, Any]) -> str:
    match method:
        case "session/leafMoved":
            leaf = params.get("leafId")
            return (
                f"the leaf moved to {one_line(leaf)}" if leaf else "the leaf moved to before the first entry"
            )
        case "session/changed":
            if "isDraft" in params.get("changed", []):
                return "the draft became a session"
            return f"changed: {human.listed(params.get('changed', []))}"
        case "session/deleted":
            return "the session was deleted"
        case _:
            return ""
