"""Options and conditions that concern every test."""

import os
import signal
from collections.abc import Generator, Iterator
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings

from support.postgres import Server, programs, running_server

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


# A busy machine takes its time over an example, and a check that lands or does not must say the same twice.
settings.register_profile(
    "sessiond", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("sessiond")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """A PostgreSQL server that the tests of this process share. Each takes a database of its own."""
    if programs() is None:
        pytest.skip("there is no PostgreSQL server (Debian: apt-get install postgresql)")
    with running_server() as server:
        yield server


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skips", action="store_true", help="a skipped test or module is a failure")


def pytest_configure(config: pytest.Config) -> None:
    # Compiling the rules that find secrets takes seconds: all daemons under test share what one has compiled.
    os.environ.setdefault("KF_RULE_CACHE_DIR", str(config.rootpath / ".cache/secret-rules"))
    # A shell has its jobs in the background ignore interrupts, and a process under test would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Some agents take ten seconds to start, and a busy machine makes that a minute.
    for item in items:
        if item.get_closest_marker("agents") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(600))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _unskipped((yield), item.config)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _unskipped((yield), collector.config)


def _unskipped(report: Report, config: pytest.Config) -> Report:
    # An expected failure is reported as skipped, too, but it ran; xfail_strict watches over those.
    if report.skipped and not hasattr(report, "wasxfail") and config.getoption("--no-skips"):
        report.outcome = "failed"
        report.longrepr = f"Skipped, but with --no-skips nothing may be left out: {report.longrepr}"
    return report
