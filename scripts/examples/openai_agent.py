"""A program on the OpenAI Agents SDK whose session is in sessiond: `python openai_agent.py SESSION PROMPT`.

It needs `pip install 'sessiond[openai-agents]'`. Run it twice with one SESSION: the second run knows the first.
`sessiond tree SESSION` shows the session while it is written. The next run reads what a person appends there.
"""

import asyncio
import sys

from agents import Agent, Runner, function_tool
from sessiond.adapters.openai_agents import SessiondSession


def look(place: str) -> str:
    """Return a description of a place."""
    return f"There is a heron in the {place}."


async def main(session_id: str, prompt: str) -> None:
    session = SessiondSession(session_id)
    agent = Agent(name="Watcher", instructions="You watch birds.", tools=[function_tool(look)])
    result = await Runner.run(agent, prompt, session=session)
    print(result.final_output)
    await session.aclose()


asyncio.run(main(*sys.argv[1:]))
