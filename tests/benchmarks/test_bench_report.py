"""The table of scripts/bench, its JSON and comparisons, from made-up figures."""

from pathlib import Path

import msgspec
import pytest
from scripts.benchmarks.comparison import compared, merged
from scripts.benchmarks.machine import Machine, file_system, python_build, this_machine
from scripts.benchmarks.report import Row, Samples, sampled, table
from scripts.benchmarks.results import FORMAT, Measured, NotResults, Results, read, write

MACHINE = Machine(
    python="CPython 3.13.1 (PGO, LTO, GIL)",
    processor="Example 1",
    cores=2,
    kernel="Linux 6.1",
    file_system="ext4",
    load=0.1,
)


def results(
    *rows: Row, commit: str = "0123456789", machine: Machine = MACHINE, quick: bool = False
) -> Results:
    measured = Measured(name="example", about="Examples.", seconds=1.5, rows=rows)
    return Results(date="2026-01-01", commit=commit, quick=quick, machine=machine, measurements=(measured,))


def line_of(text: str, beginning: str) -> str:
    """The line of a table that begins so, with one space between its cells' words."""
    (line,) = [measured for measured in text.splitlines() if measured.startswith(beginning)]
    return " ".join(line.split())


def test_a_row_shows_the_median_and_the_spread() -> None:
    drawn = table([sampled("open", [0.3, 0.1, 0.2], "s")])
    assert line_of(drawn, "open") == "open 200 ms 100 ms - 300 ms"


def test_a_single_value_has_no_spread() -> None:
    assert line_of(table([sampled("memory", [25e6], "B")]), "memory") == "memory 25.0 MB"


def test_short_durations_are_in_microseconds() -> None:
    assert sampled("request", [2.1e-6], "s").measured == "2.1 µs"


@pytest.mark.parametrize(("median", "verdict"), [(0.29, "met"), (0.3, "met"), (0.31, "missed")])
def test_a_duration_meets_its_limit_up_to_it(median: float, verdict: str) -> None:
    row = sampled("open", [median], "s", limit=0.3)
    assert (row.bar, row.verdict) == ("<= 300 ms", verdict)


@pytest.mark.parametrize(("median", "verdict"), [(59_999, "missed"), (60_000, "met"), (61_000, "met")])
def test_a_rate_meets_its_limit_from_it(median: float, verdict: str) -> None:
    row = sampled("append", [median], "/s", limit=60_000)
    assert (row.bar, row.verdict) == (">= 60,000/s", verdict)


def test_columns_are_aligned() -> None:
    lines = table([Row("a", "1"), Row("a longer text", "2", "3 x")]).splitlines()
    assert lines[2].index("1") == lines[3].index("2") == lines[0].index("measured")
    assert set(lines[1]) == {"-", " "}


def test_results_are_the_same_after_a_round_trip_through_json(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    before = results(sampled("open", [0.1, 0.2], "s", limit=0.3), Row("text", "yes", "2 x", "bar", "met"))
    write(before, file)
    assert read(file) == before


def test_files_without_results_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    with pytest.raises(NotResults):
        read(file)
    for content in (b"", b"[]", b'{"rows": []}'):
        file.write_bytes(content)
        with pytest.raises(NotResults):
            read(file)
    write(msgspec.structs.replace(results(), format=FORMAT + 1), file)
    with pytest.raises(NotResults):
        read(file)


def test_rows_are_known_by_the_rows_that_they_belong_to() -> None:
    run = results(
        sampled("append written", [50_000], "/s"), sampled("  server CPU", [2e-5], "s"),
        sampled("append synced", [40_000], "/s"), sampled("  server CPU", [3e-5], "s"),
    )  # fmt: skip
    assert list(run.samples()) == [
        ("example", "append written"), ("example", "append written", "server CPU"),
        ("example", "append synced"), ("example", "append synced", "server CPU"),
    ]  # fmt: skip


def test_a_comparison_has_both_medians_and_their_ratio() -> None:
    before, now = (
        results(sampled("open", [0.4, 0.5, 0.6], "s"), commit="old"),
        results(sampled("open", [0.1, 0.25, 0.3], "s"), commit="new"),
    )
    text = compared(now, before)
    assert "before: old" in text
    assert "now: new" in text
    assert line_of(text, "open") == "open 500 ms 400 ms - 600 ms 250 ms 100 ms - 300 ms 0.50 x better"


@pytest.mark.parametrize(
    ("unit", "before", "now", "verdict"),
    [
        ("s", [1.0, 2.0], [3.0, 4.0], "worse"),
        ("s", [3.0, 4.0], [1.0, 2.0], "better"),
        ("/s", [1.0, 2.0], [3.0, 4.0], "better"),
        ("/s", [3.0, 4.0], [1.0, 2.0], "worse"),
        ("s", [1.0, 3.0], [2.0, 4.0], ""),
        ("s", [1.0], [4.0], ""),
    ],
)
def test_only_separate_ranges_are_called_better_or_worse(
    unit: str, before: list[float], now: list[float], verdict: str
) -> None:
    rows = [
        Row("it", "", samples=msgspec.convert({"unit": unit, "values": measured}, Samples))
        for measured in (before, now)
    ]
    cells = line_of(compared(results(rows[1]), results(rows[0])), "it")
    assert cells.endswith(verdict or " x")


def test_rows_of_one_run_only_are_listed() -> None:
    before, now = results(sampled("gone", [1.0], "s")), results(sampled("new", [1.0], "s"))
    text = compared(now, before)
    assert "only now: new" in text
    assert "only before: gone" in text


def test_a_comparison_of_different_machines_says_so() -> None:
    other = msgspec.structs.replace(MACHINE, python="CPython 3.11.7 (without PGO)", cores=8)
    text = compared(results(), results(machine=other))
    assert "the interpreter (CPython 3.11.7 (without PGO), now CPython 3.13.1 (PGO, LTO, GIL))" in text
    assert "the number of cores (8, now 2)" in text
    assert "differ" not in compared(results(), results())


def test_turns_of_one_measurement_are_merged_by_row() -> None:
    first, second = (
        results(sampled("open", measured, "s"), Row("text", "yes")) for measured in ([1.0, 5.0], [3.0])
    )
    rows = merged([first.measurements[0], second.measurements[0]]).rows
    assert rows[0].samples == Samples("s", (1.0, 5.0, 3.0))
    assert rows[0].measured == "3.00 s"
    assert rows[1] == Row("text", "yes")


def test_a_row_that_one_turn_lacks_does_not_shift_the_others() -> None:
    full, short = (
        results(sampled("a", [1.0], "s"), sampled("b", [2.0], "s")),
        results(sampled("b", [4.0], "s")),
    )
    (row,) = merged([full.measurements[0], short.measurements[0]]).rows
    assert row == sampled("b", [2.0, 4.0], "s")


@pytest.mark.parametrize(
    ("flags", "build"),
    [
        ("'--enable-optimizations' '--with-lto'", "CPython 3.13.1 (PGO, LTO, GIL)"),
        ("-O3 -fprofile-use -flto", "CPython 3.13.1 (PGO, LTO, GIL)"),
        ("'--enable-shared'", "CPython 3.13.1 (without PGO, without LTO, GIL)"),
    ],
)
def test_the_build_of_the_interpreter_is_named(flags: str, build: str) -> None:
    assert python_build("CPython", "3.13.1", flags, gil=True) == build


def test_an_interpreter_without_gil_is_named() -> None:
    assert python_build("CPython", "3.13.1", "", gil=False).endswith("without GIL)")


def test_the_file_system_is_that_of_the_innermost_mount() -> None:
    mounts = "/dev/a / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/b /tmp/my\\040disk xfs rw 0 0\n"
    assert file_system(Path("/home/x"), mounts) == "ext4"
    assert file_system(Path("/tmp/x"), mounts) == "tmpfs"
    assert file_system(Path("/tmp/my disk/x"), mounts) == "xfs"


def test_the_facts_of_this_machine_are_complete(tmp_path: Path) -> None:
    machine = this_machine(tmp_path)
    assert machine.cores >= 1
    assert all(
        msgspec.structs.asdict(machine)[measured]
        for measured in ("python", "processor", "kernel", "file_system")
    )
    assert machine.file_system != "unknown"
