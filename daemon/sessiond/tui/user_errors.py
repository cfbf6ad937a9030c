"""The expected errors. The browser shows their message at the foot of the screen."""

from textual.app import SuspendNotSupported

from sessiond.client.wire import RpcError
from sessiond.tui.following import AWAY
from sessiond.tui.outside import NothingToOpenWith


class NoEntry(Exception):
    """Raised by an action on an entry when the view has no rows."""

    def __init__(self) -> None:
        super().__init__("There is no entry here.")


USER_ERRORS = (*AWAY, RpcError, NoEntry, NothingToOpenWith, SuspendNotSupported, OSError)
