"""The extension through the API of VS Code, inside the extension host."""

from typing import TYPE_CHECKING

import pytest

from support.extension_host import OPTIONS, run_suite
from support.stories import Story, Teller
from support.workbench_server import a_server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.editors, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]


def test_the_suite_inside_the_extension_host_passes(browser: "Browser", teller: Teller, story: Story) -> None:
    with a_server(*OPTIONS) as server:
        status, report = run_suite(browser, server, teller, story)
        assert status == 0, f"{report}\n{server.logs()}"
    assert "FAILED" not in report
    assert report.count("ok: ") > 12, report
