"""The client of the official MCP library, in each of its modes, is content with `sessiond mcp`."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from support.commands import Shell, a_shell
from support.homes import sessiond

if TYPE_CHECKING:
    from mcp import Client

Mode = Literal["legacy", "auto", "2026-07-28"]
MODES: tuple[Mode, ...] = ("legacy", "auto", "2026-07-28")


def client_of(shell: Shell, mode: Mode) -> "Client":
    from mcp import Client, StdioServerParameters  # they take a second

    program, *arguments = sessiond("mcp", "--allow-write")
    server = StdioServerParameters(command=program, args=arguments, cwd=shell.folder, env=shell.environment())
    return Client(server, mode=mode)


def text_of(content: object) -> str:
    from mcp.types import TextContent

    assert isinstance(content, TextContent)
    text: str = content.text
    return text


@pytest.mark.parametrize("mode", MODES)
async def test_it_lists_and_calls_tools_and_reads_resources_and_the_prompt(
    mode: Mode, tmp_path: Path
) -> None:
    from mcp.types import TextResourceContents

    with a_shell(tmp_path) as shell:
        session = shell("new", "--title", "Fix the pump").lines[0]
        shell("append", session, "--user", "why?", "--assistant", "The valve leaks", "--model", "acme/one")
        async with client_of(shell, mode) as client:
            tools = (await client.list_tools()).tools
            assert "recall" in [tool.name for tool in tools]
            assert all(tool.annotations is not None for tool in tools)
            found = await client.call_tool("recall", {"question": "what about the valve?"})
            assert not found.is_error
            assert "> The valve leaks" in text_of(found.content[0])
            refused = await client.call_tool("read_session", {"session_id": "/etc/passwd"})
            assert refused.is_error
            uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
            assert uris == [f"sessiond://session/{session}"]
            [content] = (await client.read_resource(uris[0])).contents
            assert isinstance(content, TextResourceContents)
            assert "> Fix the pump" in content.text
            assert len((await client.list_resource_templates()).resource_templates) == 2
            [prompt] = (await client.list_prompts()).prompts
            [message] = (await client.get_prompt(prompt.name, {"agent": "codex"})).messages
            assert "codex" in text_of(message.content)
