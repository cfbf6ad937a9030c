"""An agent in one file: `python agent.py [FOLDER]`. Its model is made up; everything else is real.

It keeps its messages in a session, retries one failed request, and fills its small context until that is
compacted automatically. Run it twice: the second run goes on with the session of the first.
"""

import asyncio
import sys
from typing import Any

from sessiond.client import AgentSession, SummaryRequest, connect

WINDOW = 3_000  # tokens; the window of a real model is sixty times as large


class ModelFailed(Exception):
    """Raised when the model stops in the middle of an answer."""


class Model:
    """Replaces a provider's API: accepts the same messages, and answers in the same form."""

    def __init__(self) -> None:
        self.failures = 1

    def answer(self, context: list[dict[str, Any]]) -> dict[str, Any]:
        if self.failures:
            self.failures -= 1
            raise ModelFailed("overloaded")
        used = len(str(context)) // 4
        return {
            "role": "assistant",
            "model": "made-up-1",
            "content": [{"type": "text", "text": f"I have read {len(context)} messages. " + "Hm. " * 500}],
            "usage": {"input_tokens": used, "output_tokens": 500},
        }


async def summarize(request: SummaryRequest) -> str:
    """Called by the daemon; a real agent would send `request.prompt` to its model."""
    request.report("reading", percentage=50)
    return f"{len(request.entry_ids)} entries about reading messages."


async def ask(session: AgentSession, model: Model, text: str) -> None:
    """Send one prompt, and repeat it until the model answers."""
    await session.append({"role": "user", "content": text})
    for _ in range(3):
        try:
            async with session.turn():
                await session.append({"role": "user", "content": "(the files that are open)"})
                context = await session.context("anthropic")
                answer = model.answer(context.messages)
                await session.append(answer, format="anthropic")
                print(f"{text}  {len(context.messages)} messages, {context.tokens:,} tokens")
                return
        except ModelFailed as failure:
            print(f"{text}  failed ({failure}); what it has left is a branch of its own")


async def main(folder: str | None) -> None:
    async with connect(name="example-agent", summarize=summarize) as daemon:
        session = await AgentSession.resume(daemon, folder)
        await session.compact_above(WINDOW, reserve_tokens=1_000, keep_recent_tokens=800)
        model = Model()
        for number in range(1, 7):
            await ask(session, model, f"Question {number}.")
        stats = await daemon.stats(session.id)
        print(
            f"Compacted {stats.path_stats.compaction_count} times; nothing is lost: sessiond tree {session.id[:8]}"
        )


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else None))
