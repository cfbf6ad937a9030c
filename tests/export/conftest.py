"""One browser for each file of tests that look at the page."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from support.browsers import a_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with a_browser() as found:
        yield found
