"""The history of prompts: add, recent, search."""

from sessiond.client.methods.base import Methods
from sessiond.protocol import methods as m, types as t


class HistoryMethods(Methods):
    """What is asked of the prompts that a person typed, over all sessions."""

    async def add_prompt(
        self, prompt: str, *, cwd: str | None = None, command_id: str | None = None
    ) -> t.HistoryAddResult:
        return await self.call(
            m.HISTORY_ADD, t.HistoryAddParams(prompt=prompt, cwd=cwd, command_id=command_id)
        )

    async def recent_prompts(
        self, *, cwd: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> t.HistoryResult:
        params = t.HistoryRecentParams(cwd=cwd, cursor=cursor, limit=limit)
        return await self.call(m.HISTORY_RECENT, params)

    async def search_prompts(
        self, query: str, *, cwd: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> t.HistoryResult:
        params = t.HistorySearchParams(query=query, cwd=cwd, cursor=cursor, limit=limit)
        return await self.call(m.HISTORY_SEARCH, params)
