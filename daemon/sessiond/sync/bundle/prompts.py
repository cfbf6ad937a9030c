"""The history of prompts in a backup: a member with a prompt in each line, the last typed first."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final

import msgspec

from sessiond.client.daemon import Daemon
from sessiond.protocol import methods as m, types as t

NAME: Final = "prompts.jsonl"
_PAGE: Final = 500
_MAX_BYTES: Final = 4 * 1024 * 1024

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(t.PromptCopy).decode


async def read_prompts(here: Daemon) -> tuple[bytes, int]:
    """Return the history of a daemon as lines, and the number of prompts."""
    lines = [_encode(prompt) async for prompt in _all(here)]
    return b"".join(line + b"\n" for line in lines), len(lines)


async def restore_prompts(here: Daemon, data: bytes, *, is_dry_run: bool) -> int:
    """Add the prompts of a backup that a daemon lacks. Return their number. A line that is no prompt is left out."""
    present = {_key(prompt) async for prompt in _all(here)}
    lacking = [prompt for prompt in _decoded(data) if _key(prompt) not in present]
    if is_dry_run:
        return len(lacking)
    added = 0
    for page in _pages(lacking[::-1]):
        added += (await here.call(m.HISTORY_IMPORT, t.HistoryImportParams(prompts=page))).added_count
    return added


async def _all(here: Daemon) -> AsyncIterator[t.PromptCopy]:
    cursor: str | None = None
    while True:
        page = await here.call(m.HISTORY_LIST, t.HistoryListParams(cursor=cursor, limit=_PAGE))
        for prompt in page.prompts:
            yield t.PromptCopy(
                prompt=prompt.prompt, created_at=prompt.created_at, cwd=prompt.cwd, session_id=prompt.session_id,
                entry_id=prompt.entry_id,
            )  # fmt: skip
        if (cursor := page.next_cursor) is None:
            return


def _decoded(data: bytes) -> Iterator[t.PromptCopy]:
    for line in data.splitlines():
        try:
            yield _decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue


def _pages(prompts: Sequence[t.PromptCopy]) -> Iterator[list[t.PromptCopy]]:
    page: list[t.PromptCopy] = []
    size = 0
    for prompt in prompts:
        if page and (len(page) == _PAGE or size > _MAX_BYTES):
            yield page
            page, size = [], 0
        page.append(prompt)
        size += len(prompt.prompt)
    if page:
        yield page


def _key(prompt: t.PromptCopy) -> tuple[str, str, str | None, str | None]:
    return prompt.prompt, prompt.created_at, prompt.cwd, prompt.session_id
