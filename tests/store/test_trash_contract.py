"""The promises of every store about its trash: listed, restored byte for byte, never over anything."""

import pytest

from sessiond.store.base import Store
from sessiond.store.errors import LogExists, LogNotFound
from sessiond.store.records import TrashNote
from support.stores import HEADER, append, content, new_log


async def test_the_trash_tells_of_each_log_what_why_by_whom_and_where_it_was(store: Store) -> None:
    assert list(await store.trashed()) == []
    log = await new_log(store, draft=True)
    ref = log.ref
    about = TrashNote(by="nvim", session_id="abc-head", cwd="/work/pi", title="Plans")
    where = (await store.trash(log, "a person asked for it", about)).ref
    [found] = await store.trashed()
    assert (found.ref, found.session_id, found.origin, found.draft) == (where, "abc-head", ref, True)
    assert (found.size, found.reason, found.leftovers) == (len(HEADER), "a person asked for it", ())
    assert (found.about.by, found.about.cwd, found.about.title) == ("nvim", "/work/pi", "Plans")
    assert found.trashed_at.endswith("Z")


async def test_the_trash_lists_last_what_went_there_first(store: Store) -> None:
    places = [(await store.trash(await new_log(store, f"log-{number}"), "test")).ref for number in range(3)]
    found = [trashed.ref for trashed in await store.trashed()]
    assert sorted(found) == sorted(places)
    assert [trashed.trashed_at for trashed in await store.trashed()] == sorted(
        (trashed.trashed_at for trashed in await store.trashed()), reverse=True
    )


@pytest.mark.parametrize("draft", [True, False])
async def test_a_restored_log_is_what_it_was_where_it_was(store: Store, draft: bool) -> None:
    log = await new_log(store, draft=draft)
    await append(log, b"1\n")
    ref = log.ref
    where = (await store.trash(log, "test")).ref
    assert await store.restore(where) == ref
    again = await store.open_ref(ref)
    assert (content(again), again.draft, again.session_id) == (HEADER + b"1\n", draft, "abc")
    await append(again, b"2\n")
    await again.close()
    assert list(await store.trashed()) == []
    assert [stored.ref for stored in await store.list()] == [ref]
    with pytest.raises(LogNotFound):
        list(store.scan(where))


async def test_a_restored_session_can_be_trashed_and_restored_again(store: Store) -> None:
    log = await new_log(store)
    for _ in range(3):
        where = (await store.trash(log, "test")).ref
        log = await store.open_ref(await store.restore(where))
        assert content(log) == HEADER
    await log.close()


async def test_nothing_is_restored_over_a_log_that_took_the_place(store: Store) -> None:
    where = (await store.trash(await new_log(store, lines=b"old\n"), "test")).ref
    log = await new_log(store, lines=b"new\n")
    with pytest.raises(LogExists):
        await store.restore(where)
    assert (content(log), b"".join(store.scan(where))) == (b"new\n", b"old\n")
    assert [trashed.ref for trashed in await store.trashed()] == [where]
    await log.close()


@pytest.mark.parametrize("ref", ["nothing", "", "/etc/passwd", "a\0b", "../abc", "\ud800"])
async def test_a_session_that_is_not_in_the_trash_cannot_be_restored(store: Store, ref: str) -> None:
    log = await new_log(store)
    for name in (ref, log.ref):
        with pytest.raises(LogNotFound):
            await store.restore(name)
    await log.close()


async def test_files_that_a_log_left_behind_are_named_in_the_trash(store: Store) -> None:
    log = await new_log(store, lines=b"one\ntorn")
    torn = await log.quarantine_tail(4, 1)
    await log.rewrite(b"two\n", 1)
    ref = log.ref
    where = (await store.trash(log, "test")).ref
    [found] = await store.trashed()
    assert sorted(found.leftovers) == sorted([torn, f"{ref}.v1.bak"])
    await store.restore(where)
    assert [b"".join(store.scan(text)) for text in (torn, f"{ref}.v1.bak")] == [b"torn", b"one\n"]


async def test_a_purged_session_is_gone_with_all_its_leftovers_and_nothing_else(store: Store) -> None:
    other = await new_log(store, "other", lines=b"one\ntorn")
    kept = await other.quarantine_tail(4, 1)
    log = await new_log(store, lines=b"one\ntorn")
    torn = await log.quarantine_tail(4, 1)
    await log.rewrite(b"two\n", 1)
    bak = f"{log.ref}.v1.bak"
    where, other_where = (await store.trash(log, "test")).ref, (await store.trash(other, "test")).ref
    await store.purge(where)
    for ref in (where, torn, bak):
        with pytest.raises(LogNotFound):
            list(store.scan(ref))
    assert [trashed.ref for trashed in await store.trashed()] == [other_where]
    assert b"".join(store.scan(kept)) == b"torn"
    for call in (store.purge, store.restore):
        with pytest.raises(LogNotFound):
            await call(where)


async def test_a_purge_spares_what_lies_beside_a_log_that_took_the_place(store: Store) -> None:
    where = (await store.trash(await new_log(store, lines=b"one\ntorn"), "test")).ref
    log = await new_log(store, lines=b"two\ntorn")
    torn = await log.quarantine_tail(4, 1)
    await store.purge(where)
    assert (content(log), b"".join(store.scan(torn))) == (b"two\n", b"torn")
    await log.close()


async def test_a_log_that_is_not_in_the_trash_is_not_purged(store: Store) -> None:
    log = await new_log(store)
    with pytest.raises(LogNotFound):
        await store.purge(log.ref)
    assert content(log) == HEADER
    await log.close()
