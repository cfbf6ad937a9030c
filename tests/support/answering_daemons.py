"""A daemon with the answers of a test, for a command that runs in the process of the test."""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from sessiond.client import blocking
from support.homes import a_home
from support.wrong_listeners import Listener, answering


@contextlib.contextmanager
def a_daemon_that_answers(results: Mapping[str, Callable[[Any], Any]]) -> Iterator[None]:
    """The daemon that commands find. It answers a request for one of these methods with a function of its params."""
    with a_home() as locations, mock.patch.dict(os.environ, {"SESSIOND_HOME": str(locations.home)}):
        listener = Listener(answering(results), Path(locations.socket))
        try:
            yield
        finally:
            listener.close()
            blocking.received.clear()  # a process runs one command
