"""A command whose caller has closed standard streams: what is opened next must not take their place."""

import subprocess
import sys

import pytest

from support.homes import a_home, environment


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_reason_to_fail(closed: str) -> None:
    with a_home() as locations:
        shell = f'exec "$0" -m sessiond new --cwd /w --id atlas-one {closed}'
        done = subprocess.run(
            ["/bin/sh", "-c", shell, sys.executable], env=environment(locations), capture_output=True, timeout=60,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0
        assert done.stdout.decode().strip() in ("atlas-one", "")
