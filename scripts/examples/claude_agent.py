"""A program on the Claude Agent SDK whose sessions are in sessiond: `python claude_agent.py PROMPT`.

It needs `pip install 'sessiond[claude-agent-sdk]'`. Run it twice: the second run continues the session of the first,
from the store. `sessiond tree` shows the session while it is written.
"""

import asyncio
import sys

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

from sessiond.adapters.claude_agent_sdk import SessiondSessionStore


async def main(prompt: str) -> None:
    store = SessiondSessionStore()
    options = ClaudeAgentOptions(
        session_store=store, session_store_flush="eager", continue_conversation=True, permission_mode="plan"
    )
    async for message in query(prompt=prompt, options=options):
        if isinstance(message, ResultMessage):
            print(message.result)
    await store.aclose()


asyncio.run(main(sys.argv[1]))
