"""Which session was forked from which: by id, by path, by the name of a file that is gone."""

import asyncio

from sessiond.hub.lineage import Lineage
from sessiond.protocol import types as t
from sessiond.store.errors import StorageFailed


def session(name: str, parent: str | None = None, *, path: str | None = None) -> t.SessionInfo:
    return t.SessionInfo(
        session_id=name, path=path or f"/sessions/2026-01-01T00-00-00-000Z_{name}.jsonl", cwd="/", title=None,
        tags=[], created_at="", updated_at="", message_count=0, entry_count=0, first_prompt=None, leaf_id=None,
        last_seq=0, size_bytes=0, parent_session_id=parent if parent and "/" not in parent else None,
        parent_path=parent if parent and "/" in parent else None, is_draft=False, read_only=False,
    )  # fmt: skip


class Sessions:
    """Sessions as a hub lists them, or a disk that refuses."""

    def __init__(self, *sessions: t.SessionInfo) -> None:
        self.there = list(sessions)
        self.write_block = False
        self.looks = 0

    async def __call__(self) -> list[t.SessionInfo]:
        self.looks += 1
        await asyncio.sleep(0)
        if self.write_block:
            raise StorageFailed("it is gone")
        return list(self.there)


async def test_a_parent_is_found_by_its_id_and_by_its_path() -> None:
    odd = session("parent-1", path="/elsewhere/named-otherwise.jsonl")
    lineage = Lineage(Sessions(odd, session("child-01", "/elsewhere/named-otherwise.jsonl")))
    assert await lineage.of("child-01", "/elsewhere/named-otherwise.jsonl") == ("parent-1", 0)
    assert await lineage.of("child-02", "parent-1") == ("parent-1", 0)
    assert await lineage.of("parent-1", None) == (None, 1)


async def test_the_name_of_a_file_that_is_gone_still_tells() -> None:
    lineage = Lineage(Sessions())
    assert await lineage.of("child-01", "/old/2026-01-01T00-00-00-000Z_parent-1.jsonl") == ("parent-1", 0)


async def test_a_path_that_tells_nothing_leads_to_nobody() -> None:
    lineage = Lineage(Sessions(session("child-01", "/old/notes.jsonl")))
    for path in ("/old/notes.jsonl", "/", "/_.jsonl", "/x_short.jsonl", "/a_" + "x" * 200 + ".jsonl"):
        assert await lineage.of("child-01", path) == (None, 0)


async def test_forks_are_counted_however_they_name_their_parent() -> None:
    parent = session("parent-1")
    forks = [session(f"child-0{number}", name) for number, name in enumerate(("parent-1", parent.path))]
    lineage = Lineage(Sessions(parent, *forks, session("other-01"), session("other-02", "other-01")))
    assert [(await lineage.of(name, None))[1] for name in ("parent-1", "other-01", "other-02")] == [2, 1, 0]


async def test_nobody_looks_again_within_a_second_unless_something_came_or_went() -> None:
    sessions = Sessions(session("parent-1"))
    lineage = Lineage(sessions)
    await asyncio.gather(*(lineage.of("parent-1", None) for _ in range(5)))
    assert sessions.looks == 1

    sessions.there.append(session("child-01", "parent-1"))
    lineage.forget()

    assert (await lineage.of("parent-1", None), sessions.looks) == ((None, 1), 2)


async def test_files_made_during_a_look_are_looked_for_again() -> None:
    sessions = Sessions(session("parent-1"))
    lineage = Lineage(sessions)
    looking = asyncio.create_task(lineage.of("parent-1", None))
    await asyncio.sleep(0)
    lineage.forget()
    await looking
    await lineage.of("parent-1", None)
    assert sessions.looks == 2


async def test_a_disk_that_refuses_leaves_what_was_known() -> None:
    sessions = Sessions(session("child-01", "parent-1"))
    lineage = Lineage(sessions)
    assert await lineage.of("parent-1", None) == (None, 1)
    sessions.write_block = True
    lineage.forget()
    assert await lineage.of("parent-1", None) == (None, 1)
