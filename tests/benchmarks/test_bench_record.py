"""The record of scripts/bench: the page with its tables, and the pictures of the charts, from made-up figures."""

from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from scripts.benchmarks import record
from scripts.benchmarks.growth import Curves
from scripts.benchmarks.machine import Machine
from scripts.benchmarks.report import Row, sampled
from scripts.benchmarks.results import Chart, Line, Measured, Results

MACHINE = Machine(
    python="CPython 3.13.1 (PGO, LTO, GIL)",
    processor="Example 1",
    cores=2,
    kernel="Linux 6.1",
    file_system="ext4",
    load=0.1,
)
SVG = "{http://www.w3.org/2000/svg}"


def results(*rows: Row, charts: tuple[Chart, ...] = ()) -> Results:
    measured = Measured(name="example", about="Examples of rows.", seconds=60.0, rows=rows)
    return Results(
        date="2026-01-01",
        commit="0123456789",
        quick=False,
        machine=MACHINE,
        measurements=(measured,),
        charts=charts,
    )


def chart(*lines: Line, unit: str = "s") -> Chart:
    made = Chart(name="it", title="Time by size", across="entries", unit="s", lines=lines)
    return made if unit == "s" else Chart(name="it", title="Memory", across="entries", unit="B", lines=lines)


def texts(picture: bytes) -> list[str]:
    return [measured.text or "" for measured in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def test_the_page_has_the_tables_of_the_recorded_run() -> None:
    page = record.PAGE.read_text(encoding="utf-8")
    assert record.rendered(page, record.recorded()) == page, "run scripts/bench --record"


def test_the_page_shows_each_recorded_chart() -> None:
    page = record.PAGE.read_text(encoding="utf-8")
    names = {f"{measured.name}.svg" for measured in record.recorded().charts}
    assert names == {measured.name for measured in record.PICTURES.iterdir()}
    for name in names:
        assert f"]({record.PICTURES.name}/{name})" in page


def test_a_table_has_a_line_for_each_row_and_marks_rows_that_belong_to_another() -> None:
    text = record.tables(
        results(
            sampled("open", [0.1, 0.2, 0.3], "s", ratio="2 x", limit=0.3), sampled("  memory", [25e6], "B")
        )
    )
    assert "| open | 200 ms | 100 ms - 300 ms | 2 x | &lt;= 300 ms | met |\n" in text
    assert "| ↳ memory | 25.0 MB |  |  |  |  |\n" in text
    assert "Examples of rows." in text


def test_missed_targets_are_listed_and_met_ones_are_counted() -> None:
    text = record.tables(
        results(sampled("open", [0.5], "s", limit=0.3), sampled("list", [0.1], "s", limit=0.2), Row("x", "1"))
    )
    assert "1 of 2 targets are met. Missed:" in text
    assert "- open: 500 ms, target <= 300 ms\n" in text
    assert "- list" not in text


def test_a_missed_target_is_followed_by_its_reason_and_a_met_one_is_not() -> None:
    text = record.tables(
        results(
            sampled("open", [0.5], "s", limit=0.3, reason="A bare scan takes 400 ms."),
            sampled("list", [0.1], "s", limit=0.2, reason="The disk takes 50 ms."),
        )
    )
    assert "- open: 500 ms, target <= 300 ms. A bare scan takes 400 ms.\n" in text
    assert "The disk" not in text


def test_the_page_names_commit_and_machine() -> None:
    text = record.tables(results())
    assert "0123456789" in text
    assert str(MACHINE) in text


def test_the_page_says_if_the_machine_was_not_idle() -> None:
    assert "not idle" not in record.tables(results())
    busy = msgspec.structs.replace(MACHINE, load=1.5)
    assert "not idle" in record.tables(msgspec.structs.replace(results(), machine=busy))


def test_only_what_is_between_the_markers_changes() -> None:
    page = f"before\n{record.START}old\n{record.END}\nafter\n"
    new = record.rendered(page, results())
    assert new.startswith(f"before\n{record.START}")
    assert new.endswith(f"{record.END}\nafter\n")
    assert "old" not in new
    assert record.rendered(new, results()) == new


def test_a_page_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="markers"):
        record.rendered("no markers", results())


def test_a_point_is_the_median_of_its_values_and_points_are_in_order() -> None:
    curves = Curves()
    for at, value in ((100, 5.0), (10, 1.0), (100, 7.0), (100, 6.0)):
        curves.add("open", at, value)
    curves.add("list", 10, 2.0)
    made = curves.chart("it", "It", "entries", "s")
    assert made.lines == (
        Line(label="open", points=((10, 1.0), (100, 6.0))),
        Line(label="list", points=((10, 2.0),)),
    )


def test_a_picture_has_a_labeled_line_for_each_line_of_the_chart(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    lines = Line(label="open", points=((1e3, 0.001), (1e6, 1.5))), Line(label="list", points=((1e3, 0.002),))
    (file,) = record.draw(results(charts=(chart(*lines),)), tmp_path / "pictures")
    assert file.name == "it.svg"
    written = texts(file.read_bytes())
    assert {"Time by size", "entries", "open: 1.5 s", "list: 2 ms", "1,000", "100 ms"} <= set(written)


def test_a_chart_gives_the_same_picture_each_time() -> None:
    pytest.importorskip("matplotlib")
    from scripts.benchmarks.drawing import drawn

    made = chart(Line(label="memory", points=((10, 1e6), (1000, 25e6))), unit="B")
    assert drawn(made) == drawn(made)
    assert "memory: 25 MB" in texts(drawn(made))


def test_labels_keep_their_distance_and_their_order() -> None:
    pytest.importorskip("matplotlib")
    from scripts.benchmarks.drawing import spread

    assert spread([0.5, 0.1, 0.52, 0.9], 0.05) == pytest.approx([0.5, 0.1, 0.55, 0.9])
    assert spread([0.5, 0.5, 0.5], 0.05) == pytest.approx([0.5, 0.55, 0.6])
    assert spread([], 0.05) == []


def test_an_axis_begins_and_ends_at_powers_of_ten() -> None:
    pytest.importorskip("matplotlib")
    from scripts.benchmarks.drawing import decades

    assert decades([0.002, 3.5]) == (-3, 1)
    assert decades([20.0]) == (1, 2)
    assert decades([10.0]) == (1, 2)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (4.26, "s", "4.3 s"), (0.001, "s", "1 ms"), (0.0000214, "s", "21 µs"), (1e-8, "s", "0.01 µs"),
        (25e6, "B", "25 MB"), (1.35e9, "B", "1.4 GB"), (900, "B", "0.9 kB"),
    ],
)  # fmt: skip
def test_values_are_short_in_a_picture(value: float, unit: str, text: str) -> None:
    pytest.importorskip("matplotlib")
    from scripts.benchmarks.drawing import short

    assert short(value, "s" if unit == "s" else "B") == text
