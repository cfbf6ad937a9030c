"""acplint grades `sessiond acp`.

acplint 0.1.0 knows an older ACP: it sends the version of the protocol as a text and wants a text back, and it reads
updates by names in camel case. The faults that follow are named here, and no others are accepted. The categories that
are left out contain checks of updates, and wait several seconds for each request that an agent may send.
"""

import json  # noqa: TID251 - as another program writes it
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from sessiond.paths import Locations
from support.acp_editors import scripted_agent
from support.homes import TESTS, environment, sessiond
from support.patience import BOUND

CATEGORIES = (
    "initialization",
    "authentication",
    "session_lifecycle",
    "session_modes",
    "config_options",
    "cancel",
)
OWN_FAULTS = {"initialize_v1", "protocol_version_returned"}
"""Both want the version of the protocol as a text."""


@pytest.mark.slow  # it starts the agent several times
@pytest.mark.parametrize("can", ["", "load,list,resume,fork,close"])
def test_acplint_finds_no_fault_but_its_own(can: str, home: Locations, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    agent = [*sessiond("acp", "--agent", "scripted", "--"), *scripted_agent("--can", can)]
    words = [str(Path(sys.executable).with_name("acplint")), "--agent", agent[0]]
    words += [f"--agent-args={shlex.join(agent[1:])}", "--cwd", str(TESTS), "--timeout", "30"]
    words += ["--output", "json", "--output-file", str(report), "--categories", *CATEGORIES]
    # Its own faults are an exit status, too.
    subprocess.run(
        words, cwd=TESTS, env=environment(home), check=False, stdout=subprocess.DEVNULL, timeout=2 * BOUND
    )
    results = json.loads(report.read_text(encoding="utf-8"))["results"]
    assert len(results) > 15
    assert {result["name"] for result in results if result["status"] == "FAIL"} == OWN_FAULTS
