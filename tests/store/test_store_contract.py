"""The promises of every store, sentence by sentence of `store/base.py`."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sessiond.store.base import Durability, Store
from sessiond.store.errors import LogExists, LogNotFound, LogReadOnly, LogReplaced
from sessiond.store.records import Breadcrumb, Hold, Process
from support.any_store import STORES, store_of
from support.stores import CWD, HEADER, TIMESTAMP, append, content, file_store, new_log

LEVELS: list[Durability] = ["synced", "written"]


async def test_a_created_log_holds_its_lines(store: Store) -> None:
    log = await new_log(store, lines=HEADER + b"1\n")
    assert (content(log), log.size, log.session_id) == (HEADER + b"1\n", len(HEADER) + 2, "abc")
    assert log.read_only is None
    await log.close()


@pytest.mark.parametrize("draft", [True, False])
async def test_a_created_log_is_the_draft_or_session_it_was_meant_to_be(store: Store, draft: bool) -> None:
    log = await new_log(store, draft=draft)
    assert log.draft is draft
    await log.close()
    assert [stored.draft for stored in await store.list()] == [draft]


@pytest.mark.parametrize("first_is_draft", [True, False])
async def test_an_id_names_one_log_only(store: Store, first_is_draft: bool) -> None:
    log = await new_log(store, draft=first_is_draft)
    with pytest.raises(LogExists):
        await store.create(
            "abc",
            cwd="/elsewhere",
            timestamp="2027-01-01T00:00:00.000Z",
            lines=HEADER,
            draft=not first_is_draft,
        )
    await log.close()


async def test_an_added_log_is_opened_later_with_its_lines(store: Store) -> None:
    lines = HEADER + b"1\n"
    added = await store.add("abc", cwd=CWD, timestamp=TIMESTAMP, lines=lines, draft=True)
    with pytest.raises(LogExists):
        await store.add("abc", cwd=CWD, timestamp=TIMESTAMP, lines=lines, draft=False)
    log = await store.open_ref(added.ref)
    assert (content(log), log.draft, log.ref, log.path) == (lines, True, added.ref, added.path)
    await log.close()


async def test_a_file_becomes_a_log_and_is_refused_if_its_id_is_taken(store: Store, tmp_path: Path) -> None:
    lines = HEADER + b"1\n" * 100_000
    folder = Path(store.blobs.folder_for_files())
    folder.mkdir(parents=True, exist_ok=True)
    for number in (1, 2):
        (folder / f".{number}.tmp").write_bytes(lines)
    added = await store.add_file(
        "abc", cwd=CWD, timestamp=TIMESTAMP, path=str(folder / ".1.tmp"), draft=False
    )
    with pytest.raises(LogExists):
        await store.add_file("abc", cwd=CWD, timestamp=TIMESTAMP, path=str(folder / ".2.tmp"), draft=False)
    log = await store.open_ref(added.ref)
    assert (content(log), log.draft, log.ref, log.path) == (lines, False, added.ref, added.path)
    await append(log, b"2\n")
    assert content(log) == lines + b"2\n"
    await log.close()


async def test_of_two_who_create_the_same_id_at_once_one_is_refused(store: Store) -> None:
    outcomes = await asyncio.gather(new_log(store), new_log(store, draft=True), return_exceptions=True)
    assert sorted(isinstance(outcome, LogExists) for outcome in outcomes) == [False, True]


@pytest.mark.parametrize("draft", [True, False])
async def test_a_closed_log_opens_again_by_its_id_and_by_its_ref(store: Store, draft: bool) -> None:
    log = await new_log(store, draft=draft)
    ref = log.ref
    await append(log, b"1\n")
    await log.close()
    for again in (await store.open("abc"), await store.open_ref(ref)):
        assert (again.session_id, again.ref, again.draft) == ("abc", ref, draft)
        assert content(again) == HEADER + b"1\n"
        await again.close()


async def test_a_log_that_goes_to_the_trash_meanwhile_is_opened_or_not_found(store: Store) -> None:
    for number in range(50):
        log = await new_log(store, f"abc-{number}", draft=True)
        trashing = asyncio.ensure_future(store.trash(log, "test"))
        openings = [store.open(f"abc-{number}") for _ in range(4)]
        for outcome in await asyncio.gather(*openings, return_exceptions=True):
            if isinstance(outcome, BaseException):
                assert isinstance(outcome, LogNotFound)
            else:
                await outcome.close()
        await trashing


@pytest.mark.parametrize("unknown", ["nobody", "", ".", "..", "../abc", "a/b", "a\0b", "\ud800", "x" * 5000])
async def test_a_missing_session_is_not_found(store: Store, unknown: str) -> None:
    with pytest.raises(LogNotFound):
        await store.open(unknown)
    with pytest.raises(LogNotFound):
        await store.open_ref(unknown)
    with pytest.raises(LogNotFound):
        list(store.scan(unknown))


async def test_a_listing_tells_what_is_there_without_reading_it(store: Store) -> None:
    one = await new_log(store, "one")
    two = await new_log(store, "two", lines=HEADER + b"1\n", draft=True)
    listed = {stored.session_id: stored for stored in await store.list()}
    assert {name: (s.ref, s.draft, s.size) for name, s in listed.items()} == {
        "one": (one.ref, False, len(HEADER)),
        "two": (two.ref, True, len(HEADER) + 2),
    }
    assert all(stored.modified_ns > 0 for stored in listed.values())
    await one.close()
    await two.close()


async def test_the_stamp_of_a_log_changes_with_its_content(store: Store) -> None:
    log = await new_log(store)
    (before,) = await store.list()
    await append(log, b"1\n")
    (after,) = await store.list()
    assert before.stamp != after.stamp
    assert after.modified_ns >= before.modified_ns
    await log.close()


async def test_an_empty_store_lists_nothing(store: Store) -> None:
    assert await store.list() == []


async def test_read_gives_the_bytes_asked_for_and_no_more_than_there_are(store: Store) -> None:
    log = await new_log(store, lines=b"0123456789\n")
    assert [log.read(0, 3), log.read(3, 3), log.read(8, 99), log.read(99, 100)] == [b"012", b"", b"89\n", b""]
    await log.close()


async def test_scan_gives_everything_from_a_start_in_slices(store: Store) -> None:
    lines = b"x" * 699_999 + b"\n"
    log = await new_log(store, lines=lines)
    slices = list(log.scan(5))
    assert b"".join(slices) == lines[5:]
    assert max(map(len, slices)) <= 64 * 1024
    assert b"".join(store.scan(log.ref, 5)) == lines[5:]
    assert list(log.scan(len(lines))) == []
    await log.close()


async def test_scan_and_read_work_on_any_thread(store: Store) -> None:
    log = await new_log(store)
    assert await asyncio.to_thread(content, log) == HEADER
    assert await asyncio.to_thread(log.read, 0, 4) == HEADER[:4]
    assert b"".join(await asyncio.to_thread(list, store.scan(log.ref))) == HEADER
    await log.close()


@pytest.mark.parametrize("durability", LEVELS)
async def test_an_append_is_the_end_of_the_log_when_it_is_done(store: Store, durability: Durability) -> None:
    log = await new_log(store)
    assert await log.append(b"1\n", durability) is False
    assert (content(log), log.size) == (HEADER + b"1\n", len(HEADER) + 2)
    await log.close()


async def test_an_append_is_never_done_on_the_tick_that_made_it(store: Store) -> None:
    log = await new_log(store)
    future = log.append(b"1\n", "written")
    assert not future.done()
    await future
    await log.close()


async def test_a_batch_of_several_lines_stays_together(store: Store) -> None:
    log = await new_log(store)
    await append(log, b"1\n2\n", b"3\n4\n")
    assert content(log) == HEADER + b"1\n2\n3\n4\n"
    await log.close()


@pytest.mark.parametrize("data", [b"", b"1", b"1\n2"])
async def test_bytes_without_a_newline_at_the_end_are_no_batch(store: Store, data: bytes) -> None:
    log = await new_log(store)
    with pytest.raises(ValueError, match="newline"):
        log.append(data, "synced")
    assert content(log) == HEADER
    await log.close()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ticks=st.lists(
        st.lists(
            st.tuples(st.sampled_from(LEVELS), st.integers(0, 300) | st.sampled_from([262_144, 300_000])),
            max_size=6,
        ),
        max_size=6,
    )
)
@pytest.mark.parametrize("kind", STORES)
def test_any_mix_of_appends_is_kept_and_told_in_the_order_of_the_calls(
    ticks: list[list[tuple[Durability, int]]], kind: str, request: pytest.FixtureRequest
) -> None:
    async def scenario(store: Store) -> None:
        log = await new_log(store)
        told: list[int] = []
        lines: list[bytes] = []
        futures: list[asyncio.Future[bool]] = []
        for tick in ticks:
            for durability, size in tick:
                lines.append(b"%d %s\n" % (len(lines), b"x" * size))
                future = log.append(lines[-1], durability)
                future.add_done_callback(_teller(told, len(futures)))
                futures.append(future)
            await asyncio.sleep(0)
        assert not any(await asyncio.gather(*futures))
        await asyncio.sleep(0)  # from Python 3.12 gather does not wait for the tick that calls the callbacks
        assert told == list(range(len(futures)))
        assert content(log) == HEADER + b"".join(lines)
        await log.close()

    folders: pytest.TempPathFactory = request.getfixturevalue("tmp_path_factory")

    async def main() -> None:
        async with store_of(kind, request, folders.mktemp("home")) as store:
            await scenario(store)

    asyncio.run(main())


def _teller(told: list[int], number: int) -> Callable[[asyncio.Future[bool]], None]:
    return lambda _: told.append(number)


async def test_lines_join_the_batch_that_was_queued_last_until_it_is_written(store: Store) -> None:
    log = await new_log(store)
    first, second = log.append(b"1\n", "written"), log.append(b"2\n", "synced")
    assert not log.extend(first, b"no\n")
    assert log.extend(second, b"3\n")
    assert log.extend(second, b"4\n")
    assert [await first, await second] == [False, False]
    assert not log.extend(second, b"no\n")
    assert content(log) == HEADER + b"1\n2\n3\n4\n"
    assert log.size == len(content(log))
    await log.close()


async def test_a_canceled_append_is_kept_all_the_same(store: Store) -> None:
    log = await new_log(store)
    first, second = log.append(b"1\n", "synced"), log.append(b"2\n", "synced")
    first.cancel()
    await second
    assert content(log) == HEADER + b"1\n2\n"
    await log.close()


async def test_flush_waits_for_what_is_queued_and_tells_whether_there_was_anything(store: Store) -> None:
    log = await new_log(store)
    assert await log.flush() is False
    future = log.append(b"1\n", "synced")
    assert await log.flush() is True
    assert future.done()
    assert await log.flush() is False
    await log.close()


async def test_an_untouched_log_has_no_foreign_bytes(store: Store) -> None:
    log = await new_log(store)
    assert log.foreign_bytes() == 0
    log.accept(log.size)
    with pytest.raises(ValueError, match="not"):
        log.accept(log.size + 1)
    with pytest.raises(ValueError, match="not"):
        log.accept(log.size - 1)
    await log.close()


async def test_a_last_line_without_newline_gets_one(store: Store) -> None:
    log = await new_log(store, lines=HEADER + b"whole")
    await log.complete_tail()
    assert (content(log), log.size) == (HEADER + b"whole\n", len(HEADER) + 6)
    await log.complete_tail()
    assert content(log) == HEADER + b"whole\n"
    await log.close()


async def test_an_empty_log_needs_no_newline(store: Store) -> None:
    log = await new_log(store, lines=b"")
    await log.complete_tail()
    assert content(log) == b""
    await log.close()


async def test_a_torn_tail_is_kept_beside_the_log_and_cut_away(store: Store) -> None:
    log = await new_log(store, lines=HEADER + b'{"torn')
    where = await log.quarantine_tail(len(HEADER), 1)
    assert where == f"{log.ref}.torn-1"
    assert b"".join(store.scan(where)) == b'{"torn'
    assert (content(log), log.size) == (HEADER, len(HEADER))
    await append(log, b"1\n")
    assert content(log) == HEADER + b"1\n"
    await log.close()


async def test_a_second_torn_tail_of_the_same_seq_does_not_replace_the_first(store: Store) -> None:
    log = await new_log(store, lines=HEADER + b"one")
    first = await log.quarantine_tail(len(HEADER), 1)
    await log.close()
    log = await store.open("abc")
    await append(log, b"two\n")
    second = await log.quarantine_tail(len(HEADER), 1)
    assert [b"".join(store.scan(where)) for where in (first, second)] == [b"one", b"two\n"]
    await log.close()


@pytest.mark.parametrize("start", [-1, len(HEADER), len(HEADER) + 1])
async def test_a_tail_that_is_not_in_the_log_is_not_cut(store: Store, start: int) -> None:
    log = await new_log(store)
    with pytest.raises(ValueError, match="tail"):
        await log.quarantine_tail(start, 1)
    assert content(log) == HEADER
    await log.close()


async def test_a_rewritten_log_keeps_its_original_beside_it(store: Store) -> None:
    log = await new_log(store, lines=b"old\n")
    await log.rewrite(b"new lines\n", 1)
    assert (content(log), log.size) == (b"new lines\n", 10)
    assert b"".join(store.scan(f"{log.ref}.v1.bak")) == b"old\n"
    assert await append(log, b"1\n") == [False]
    assert content(log) == b"new lines\n1\n"
    await log.close()


async def test_a_second_rewrite_does_not_replace_the_first_original(store: Store) -> None:
    log = await new_log(store, lines=b"one\n")
    await log.rewrite(b"two\n", 1)
    await log.rewrite(b"three\n", 1)
    kept = [b"".join(store.scan(f"{log.ref}.v1.bak{number}")) for number in ("", ".2")]
    assert (kept, content(log)) == ([b"one\n", b"two\n"], b"three\n")
    await log.close()


async def test_files_beside_a_log_are_no_logs(store: Store) -> None:
    log = await new_log(store, lines=b"one\ntorn")
    await log.quarantine_tail(4, 1)
    await log.rewrite(b"two\n", 1)
    assert [stored.ref for stored in await store.list()] == [log.ref]
    await log.close()


async def test_a_promoted_draft_is_a_session_and_stays_open(store: Store) -> None:
    log = await new_log(store, draft=True)
    appended = log.append(b"1\n", "written")
    await log.promote()
    assert (log.draft, appended.done()) == (False, True)
    await append(log, b"2\n")
    await log.promote()
    assert content(log) == HEADER + b"1\n2\n"
    assert [(s.ref, s.draft) for s in await store.list()] == [(log.ref, False)]
    await log.close()
    again = await store.open("abc")
    assert (again.draft, content(again)) == (False, HEADER + b"1\n2\n")
    await again.close()


@pytest.mark.parametrize("draft", [True, False])
async def test_a_moved_log_stays_open_and_what_it_was(store: Store, draft: bool) -> None:
    log = await new_log(store, draft=draft)
    appended = log.append(b"1\n", "written")
    await log.move("/work/elsewhere")
    assert (log.draft, appended.done()) == (draft, True)
    await append(log, b"2\n")
    await log.move("/work/elsewhere")
    assert [(s.ref, s.draft) for s in await store.list()] == [(log.ref, draft)]
    await log.promote()
    assert content(log) == HEADER + b"1\n2\n"
    assert [(s.ref, s.draft) for s in await store.list()] == [(log.ref, False)]
    await log.close()


async def test_close_writes_what_is_queued_and_refuses_what_comes_later(store: Store) -> None:
    log = await new_log(store)
    before = log.append(b"1\n", "synced")
    await log.close()
    await log.close()
    assert before.result() is False
    assert log.read_only is not None
    with pytest.raises(LogReadOnly):
        await log.append(b"2\n", "synced")
    again = await store.open("abc")
    assert content(again) == HEADER + b"1\n"
    await again.close()


async def test_a_trashed_log_is_gone_but_readable_where_it_went(store: Store) -> None:
    log = await new_log(store)
    await append(log, b"1\n")
    where = (await store.trash(log, "a person asked for it")).ref
    assert log.read_only is not None
    assert b"".join(store.scan(where)) == HEADER + b"1\n"
    assert await store.list() == []
    with pytest.raises(LogNotFound):
        await store.open("abc")


async def test_the_trash_keeps_every_log_of_the_same_name(store: Store) -> None:
    places = []
    for number in range(3):
        log = await new_log(store, lines=b"%d\n" % number)
        places.append((await store.trash(log, "again")).ref)
    assert [b"".join(store.scan(place)) for place in places] == [b"0\n", b"1\n", b"2\n"]


async def test_a_terminal_has_in_each_folder_the_breadcrumb_it_was_given_last_there(store: Store) -> None:
    assert not await store.read_breadcrumbs("tmux-%5")
    await store.write_breadcrumb("tmux-%5", Breadcrumb(CWD, "/sessions/one.jsonl"))
    await store.write_breadcrumb("pts-3", Breadcrumb("/other", "/sessions/two.jsonl", "two"))
    assert await store.read_breadcrumbs("tmux-%5") == [Breadcrumb(CWD, "/sessions/one.jsonl")]
    other, again = (
        Breadcrumb("/other", "/sessions/four.jsonl"),
        Breadcrumb(CWD, "/sessions/three.jsonl", "three"),
    )
    await store.write_breadcrumb("tmux-%5", other)
    await store.write_breadcrumb("tmux-%5", again)
    assert await store.read_breadcrumbs("tmux-%5") == [again, other]
    assert await store.read_breadcrumbs("pts-3") == [Breadcrumb("/other", "/sessions/two.jsonl", "two")]


async def test_breadcrumbs_of_a_terminal_can_be_removed(store: Store) -> None:
    for terminal in ("one", "two"):
        await store.write_breadcrumb(terminal, Breadcrumb(CWD, "/sessions/one.jsonl"))
    await store.remove_breadcrumbs("one")
    await store.remove_breadcrumbs("never there")
    assert not await store.read_breadcrumbs("one")
    assert await store.read_breadcrumbs("two")


async def test_a_hold_is_there_until_it_is_removed(store: Store) -> None:
    first = Hold("tmux:%5@1", "tmux", Process(7, 81234, "boot"), {CWD: "one"})
    second = Hold("tmux:%5@1", "tmux", Process(7, 81234, "boot"), {CWD: "one", "/other": "two"})
    other = Hold("pts-3", "tty", Process(8, 5), {CWD: "three"})
    for hold in (first, other, second):
        await store.write_hold(hold)
    assert {hold.terminal_id: hold for hold in await store.read_holds()} == {
        "tmux:%5@1": second,
        "pts-3": other,
    }
    await store.remove_hold("tmux:%5@1")
    await store.remove_hold("never there")
    assert await store.read_holds() == [other]


async def test_a_store_can_be_closed(store: Store) -> None:
    log = await store.create("abc", cwd=CWD, timestamp=TIMESTAMP, lines=HEADER, draft=False)
    await log.close()
    await store.close()


async def test_bytes_are_overwritten_in_place_only_when_the_expected_ones_stand_there(store: Store) -> None:
    log = await new_log(store, lines=HEADER + b"1\n")
    log_id = log.log_id
    await log.overwrite(len(HEADER), b"1", b"2")
    assert log.log_id == log_id
    await append(log, b"3\n")
    assert content(log) == HEADER + b"2\n3\n"
    assert not log.is_touched
    with pytest.raises(LogReplaced):
        await log.overwrite(len(HEADER), b"1", b"4")
    await log.close()


async def test_a_log_stays_the_same_log_when_its_title_was_overwritten(tmp_path: Path) -> None:
    async with file_store(tmp_path) as files:
        log = await new_log(files, lines=HEADER + b"1\n")
        log_id = log.log_id
        await log.overwrite(0, HEADER[:1], HEADER[:1])
        await log.overwrite(len(HEADER), b"1", b"2")
        await append(log, b"3\n")
        await log.close()
        again = await files.open("abc")
        assert (again.log_id, content(again)) == (log_id, HEADER + b"2\n3\n")
        await again.close()
