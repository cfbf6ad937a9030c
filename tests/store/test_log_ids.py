"""The id of a log: it stays while the log only grows, and changes when another program took anything away."""

import asyncio
import os
import shutil
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from sessiond.store.base import Log
from sessiond.store.errors import LogReplaced
from sessiond.store.files import log_ids
from sessiond.store.files.store import FileStore
from support.stores import HEADER, append, content, file_of, file_store, killed, new_log


async def id_after(home: Path) -> str:
    """The id of the log that lies in a home, as a new store finds it."""
    async with file_store(home) as store:
        log = await store.open("abc")
        try:
            return log.log_id
        finally:
            await log.close()


async def closed_log(home: Path, *lines: bytes) -> tuple[str, Path]:
    """The id and the file of a log with these lines, which is closed again."""
    async with file_store(home) as store:
        log = await new_log(store)
        await append(log, *lines)
        await log.close()
        return log.log_id, file_of(log)


async def test_an_id_outlives_restarts_appends_and_growth_by_others(tmp_path: Path) -> None:
    first, path = await closed_log(tmp_path, b"one\n", b"two\n")
    assert await id_after(tmp_path) == first
    with path.open("ab") as file:
        file.write(b"three\n")
    assert await id_after(tmp_path) == first
    os.utime(path)
    assert await id_after(tmp_path) == first


async def test_an_id_outlives_a_rename_a_copy_in_its_place_and_a_promotion(tmp_path: Path) -> None:
    first, path = await closed_log(tmp_path, b"one\n")
    elsewhere = path.parent.with_name("--elsewhere--")
    path.parent.rename(elsewhere)
    assert await id_after(tmp_path) == first
    path = elsewhere / path.name
    shutil.copy(path, path.with_suffix(".new"))
    path.with_suffix(".new").rename(path)
    assert await id_after(tmp_path) == first


async def test_a_move_keeps_the_id_and_a_migration_does_not(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        log = await new_log(store)
        await append(log, b"one\n")
        first = log.log_id
        await log.move("/work/other")
        await log.rewrite(b"another header\none\n", 3, same_log=True)
        assert log.log_id == first
        await log.close()
    async with file_store(tmp_path) as store:
        log = await store.open("abc")
        assert log.log_id == first
        await log.rewrite(b"migrated\n", 2)
        second = log.log_id
        assert second != first
        await log.close()
    assert await id_after(tmp_path) == second


async def test_a_file_of_as_many_other_lines_is_another_log(tmp_path: Path) -> None:
    first, path = await closed_log(tmp_path, b"one\n", b"two\n")
    status = path.stat()
    path.write_bytes(path.read_bytes().replace(b"one", b"ONE"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    second = await id_after(tmp_path)
    assert second != first
    assert await id_after(tmp_path) == second


async def test_a_log_that_was_cut_short_and_has_grown_again_is_another_log(tmp_path: Path) -> None:
    first, path = await closed_log(tmp_path, b"one\n", b"two\n")
    path.write_bytes(HEADER + b"one\n" + b"other\n")
    assert await id_after(tmp_path) != first


async def test_two_sessions_never_share_an_id(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        logs = [await new_log(store, f"session-{number}") for number in range(20)]
        assert len({log.log_id for log in logs}) == 20
        for log in logs:
            await log.close()


async def test_after_a_power_cut_no_record_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = await closed_log(tmp_path, b"one\n")
    store = FileStore(tmp_path / "data", tmp_path / "state")
    log = await store.open("abc")
    assert log.log_id == first
    killed(tmp_path)
    assert await id_after(tmp_path) == first  # the process died, and nothing else
    store = FileStore(tmp_path / "data", tmp_path / "state")
    await store.open("abc")
    killed(tmp_path)
    boot_id = tmp_path / "boot_id"
    monkeypatch.setattr(log_ids, "BOOT_ID", str(boot_id))
    boot_id.write_text(f"{uuid.uuid4()}\n", encoding="ascii")
    second = await id_after(tmp_path)
    assert second != first
    boot_id.write_text(f"{uuid.uuid4()}\n", encoding="ascii")
    assert await id_after(tmp_path) == second  # that daemon had ended well


async def test_records_that_cannot_be_kept_cost_no_log(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / log_ids.NAME).mkdir()
    first, _ = await closed_log(tmp_path, b"one\n")
    assert await id_after(tmp_path) != first


@pytest.mark.parametrize("damage", [b"", b"x" * 5_000])
async def test_damaged_records_count_for_nothing(tmp_path: Path, damage: bytes) -> None:
    first, _ = await closed_log(tmp_path, b"one\n")
    (tmp_path / "state" / log_ids.NAME).write_bytes(damage)
    assert await id_after(tmp_path) != first


async def test_the_record_that_was_used_longest_ago_makes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_ids, "MAX_RECORDS", 3)
    async with file_store(tmp_path) as store:
        logs = [await new_log(store, f"session-{number}") for number in range(5)]
        for log in logs:
            await log.close()
    assert (tmp_path / "state" / log_ids.NAME).stat().st_size <= 4 * 128
    async with file_store(tmp_path) as store:
        last = await store.open("session-4")
        assert last.log_id == logs[4].log_id
        await last.close()


@pytest.mark.parametrize("pause", [0, 10**18])
async def test_an_open_log_whose_record_others_displaced_has_it_again_when_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pause: int
) -> None:
    """On a fast and on a slow machine: whether or not the file is old enough for its status to prove anything."""
    monkeypatch.setattr(log_ids, "MAX_RECORDS", 2)
    monkeypatch.setattr(log_ids, "RACY_NS", pause)
    async with file_store(tmp_path) as store:
        log = await new_log(store, "session-0")
        for number in range(1, 5):
            await (await new_log(store, f"session-{number}")).close()
        await log.close()
    async with file_store(tmp_path) as store:
        again = await store.open("session-0")
        assert again.log_id == log.log_id
        await again.close()


async def test_large_growth_is_recorded_when_the_log_is_closed(tmp_path: Path) -> None:
    large = b"x" * (2 * log_ids.COVER_AT_ONCE) + b"\n"
    first, path = await closed_log(tmp_path, large)
    assert await id_after(tmp_path) == first
    async with file_store(tmp_path) as store:
        log = await store.open("abc")
        with path.open("ab") as file:
            file.write(large)
        log.accept(log.size + log.foreign_bytes())
        await append(log, b"more\n")
        await log.close()
    assert await id_after(tmp_path) == first
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"more", b"MORE"))
    assert await id_after(tmp_path) != first


@pytest.mark.parametrize("tail", [b"half a li", b"one\t}\n", b"one\t}\ntwo\t}\n" + b"x" * 3_000_000])
async def test_an_id_outlives_what_a_kill_leaves_of_a_batch_and_another_kill_before_it_is_taken_away(
    tmp_path: Path, tail: bytes
) -> None:
    first, path = await closed_log(tmp_path, b"one\n")
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(tail)
    store = FileStore(tmp_path / "data", tmp_path / "state")
    await store.open("abc")
    killed(tmp_path)
    store = FileStore(tmp_path / "data", tmp_path / "state")
    log = await store.open("abc")
    assert log.log_id == first
    await log.quarantine_tail(size, 2)
    killed(tmp_path)
    assert await id_after(tmp_path) == first


class Logs(RuleBasedStateMachine):
    """A log that is opened, appended to, closed and left open by processes that die, while others change its file."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.home = Path(tempfile.mkdtemp())
        self.told: list[tuple[str, bytes]] = []
        self.numbers = iter(range(10**6))
        self.only_grew = True
        self.store: FileStore | None = None
        self.log: Log | None = None

    @initialize()
    def create(self) -> None:
        self.store = FileStore(self.home / "data", self.home / "state")
        self.log = self.loop.run_until_complete(new_log(self.store))
        self.path = file_of(self.log)
        self.tell()

    def tell(self) -> None:
        assert self.log is not None
        self.told.append((self.log.log_id, content(self.log)))

    def line(self) -> bytes:
        return b"%06d\n" % next(self.numbers)

    @rule(count=st.integers(1, 3))
    def append(self, count: int) -> None:
        if self.log is None:
            return
        with suppress(LogReplaced):
            self.loop.run_until_complete(append(self.log, *(self.line() for _ in range(count))))
            known = self.told[-1][1] if self.only_grew else b""
            if known and not self.log.is_touched:
                assert content(self.log).startswith(known)
            self.tell() if not self.log.is_touched else None

    @rule(dies=st.booleans())
    def close(self, dies: bool) -> None:
        if self.log is None or self.store is None:
            return
        if dies:
            killed(self.home)
        else:
            self.loop.run_until_complete(self.log.close())
            self.loop.run_until_complete(self.store.close())
        self.log = self.store = None

    @rule()
    def open(self) -> None:
        if self.log is not None:
            return
        self.open_unread(self.path.stat().st_size)
        self.tell()

    @rule()
    def another_program_appends(self) -> None:
        with self.path.open("ab") as file:
            file.write(self.line())
        if self.log is not None:
            with suppress(LogReplaced):
                self.log.accept(self.log.size + self.log.foreign_bytes())

    @rule(at=st.floats(0, 1), replaces=st.booleans(), grows=st.integers(0, 3))
    def another_program_rewrites(self, at: float, replaces: bool, grows: int) -> None:
        """Bytes are changed in place or in a new file, behind a place; the file may become shorter or longer."""
        whole = self.path.read_bytes()
        cut = len(HEADER) + int(at * (len(whole) - len(HEADER)))
        end = whole.rfind(b"\n", 0, max(cut, 1)) + 1
        end = max(end, len(HEADER))
        now = whole[:end] + b"".join(self.line() for _ in range(grows))
        if now == whole:
            return
        if replaces:
            made = self.path.with_suffix(".made")
            made.write_bytes(now)
            made.rename(self.path)
        else:
            with self.path.open("r+b") as file:
                file.seek(0)
                file.write(now)
                file.truncate()
        self.only_grew = False

    @rule(whole_lines=st.integers(0, 2), size=st.sampled_from([0, 1, 2, 3, 40, 300_000]), dies=st.booleans())
    def the_daemon_dies_in_the_middle_of_a_batch(self, whole_lines: int, size: int, dies: bool) -> None:
        """The lines that are there belong to a batch that is cut off. The next daemon takes them away, or dies, too."""
        if self.log is None or self.log.is_touched:
            return
        self.close(dies=True)
        whole = self.path.read_bytes()
        lines = b"".join(b"%s\t}\n" % self.line().strip() for _ in range(whole_lines))
        with self.path.open("ab") as file:
            file.write(lines + b"x" * size)
        self.open_unread(len(whole))
        assert self.log is not None
        if dies:
            self.close(dies=True)
            self.open_unread(len(whole))
        if self.log.size > len(whole):
            self.loop.run_until_complete(self.log.quarantine_tail(len(whole), 1))
        self.tell()

    def open_unread(self, size: int) -> None:
        """Open the log, of which readers receive the first `size` bytes."""
        self.store = FileStore(self.home / "data", self.home / "state")
        self.log = self.loop.run_until_complete(self.store.open("abc"))
        for log_id, known in self.told:
            if log_id == self.log.log_id:
                assert content(self.log)[:size].startswith(known), "a position would lead into other lines"
            else:
                assert not self.only_grew, "a log that only grew has another id"

    @rule()
    def another_program_writes_the_same_again(self) -> None:
        if self.log is not None:
            return
        made = self.path.with_suffix(".made")
        made.write_bytes(self.path.read_bytes())
        made.rename(self.path)

    @invariant()
    def the_id_of_an_open_log_does_not_change(self) -> None:
        if self.log is not None:
            assert self.log.log_id == self.told[-1][0]

    def teardown(self) -> None:
        self.close(dies=False)
        self.loop.close()
        shutil.rmtree(self.home)


TestLogs = Logs.TestCase
TestLogs.settings = settings(
    max_examples=60, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
