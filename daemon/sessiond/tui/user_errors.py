"""The expected errors. The browser shows their message at the foot of the screen."""

from textual.app import SuspendNotSupported

from sessiond.client.wire import RpcError
from sessiond.error_text import TemplatedError
from sessiond.tui.following import AWAY
from sessiond.tui.outside import NoEditorError


class NoEntryError(TemplatedError):
    """Raised by an action on an entry when the view has no rows."""

    sentence = "The view has no entries."


USER_ERRORS = (*AWAY, RpcError, NoEntryError, NoEditorError, SuspendNotSupported, OSError)
