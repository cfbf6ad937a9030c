"""The command line of scripts/bench, with measurements that measure nothing."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from scripts.benchmarks import __main__ as command, against, record, running
from scripts.benchmarks.__main__ import main
from scripts.benchmarks.report import Row, sampled
from scripts.benchmarks.results import ROOT, Chart, Line, read


def measurement(monkeypatch: pytest.MonkeyPatch, name: str, *rows: Row) -> None:
    """Register a measurement that has these rows; without rows it raises."""

    def measure(folder: Path, *, quick: bool) -> list[Row]:
        assert list(folder.iterdir()) == []
        if not rows:
            raise RuntimeError("nothing to measure")
        return list(rows)

    module = ModuleType(f"scripts.benchmarks.made_up_{name}")
    module.__dict__["measure"] = measure
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(running.MEASUREMENTS, name, module.__name__.rpartition(".")[2])


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(running.MEASUREMENTS):
        monkeypatch.delitem(running.MEASUREMENTS, name)
    measurement(monkeypatch, "one", sampled("open", [0.1, 0.2, 0.3], "s"))
    measurement(monkeypatch, "two", Row("secrets found", "all"))


def test_all_measurements_run_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    printed = capsys.readouterr().out
    assert "200 ms" in printed
    assert "secrets found" in printed


def test_only_named_measurements_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["two"]) == 0
    assert "open" not in capsys.readouterr().out


def test_a_run_names_its_machine_and_its_interpreter(capsys: pytest.CaptureFixture[str]) -> None:
    main(["two"])
    printed = capsys.readouterr().out
    assert "PGO" in printed
    assert "GIL" in printed


def test_results_are_written_and_can_be_compared_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "results.json"
    assert main(["--quick", "--json", str(file)]) == 0
    assert [measured.name for measured in read(file).measurements] == ["one", "two"]
    assert read(file).quick
    capsys.readouterr()
    assert main(["--quick", "--against", str(file)]) == 0
    assert "1.00 x" in capsys.readouterr().out


def test_names_of_files_are_relative_to_the_folder_of_the_caller(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BENCH_FOLDER", str(tmp_path))
    assert main(["two", "--json", "results.json"]) == 0
    assert main(["two", "--against", "results.json"]) == 0
    assert read(tmp_path / "results.json").rows


def test_a_failed_measurement_does_not_lose_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measurement(monkeypatch, "broken")
    file = tmp_path / "results.json"
    assert main(["broken", "two", "--json", str(file)]) == 1
    assert [measured.name for measured in read(file).measurements] == ["two"]
    assert "nothing to measure" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["three"],
        ["--against", "no-such-commit"],
        ["--against", "--output=x"],
        ["--against", "HEAD", "--turns", "0"],
        ["--against", __file__],
        ["--against", "HEAD", "--curves"],
        ["--record", "one"],
        ["--record", "--against", "HEAD"],
    ],
)
def test_wrong_arguments_end_with_status_2_before_anything_is_measured(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert "…" not in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--curves", "--record"])
def test_without_matplotlib_pictures_are_refused_before_anything_is_measured(
    option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "find_spec", lambda _: None)
    with pytest.raises(SystemExit) as exit_:
        main([option])
    assert exit_.value.code == 2
    assert "…" not in capsys.readouterr().err


def test_curves_are_drawn_and_written_with_the_results(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    line = Line(label="open", points=((10, 1.0), (100, 2.0)))
    chart = Chart(name="it", title="It", across="entries", unit="s", lines=(line,))
    monkeypatch.setattr(command, "grow", lambda *, quick: (chart,))
    monkeypatch.setattr(command, "CURVES", tmp_path / "pictures")
    assert main(["--curves", "--json", str(tmp_path / "results.json")]) == 0
    assert str(tmp_path / "pictures/it.svg") in capsys.readouterr().out
    assert (tmp_path / "pictures/it.svg").exists()
    written = read(tmp_path / "results.json")
    assert written.charts == (chart,)
    assert written.measurements == ()


def test_a_record_has_all_measurements_and_the_charts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(command, "grow", lambda *, quick: ())
    monkeypatch.setattr(record, "RECORDED", tmp_path / "recorded.json")
    monkeypatch.setattr(record, "PICTURES", tmp_path / "pictures")
    monkeypatch.setattr(record, "PAGE", tmp_path / "page.md")
    record.PAGE.write_text(f"{record.START}{record.END}\n", encoding="utf-8")
    assert main(["--record"]) == 0
    assert [measured.name for measured in record.recorded().measurements] == ["one", "two"]
    assert "| open | 200 ms |" in record.PAGE.read_text(encoding="utf-8")


def test_a_record_has_full_sizes_unless_it_is_quick(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("matplotlib")
    asked: list[bool] = []

    def run(names: list[str], *, quick: bool) -> object:
        asked.append(quick)
        raise against.Failed("that is enough")

    monkeypatch.setattr(command, "run", run)
    main(["--record"])
    main(["--record", "--quick"])
    assert asked == [False, True]


def test_nothing_is_recorded_if_a_measurement_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    measurement(monkeypatch, "broken")
    monkeypatch.setattr(command, "grow", lambda *, quick: ())
    monkeypatch.setattr(record, "RECORDED", tmp_path / "recorded.json")
    assert main(["--record"]) == 1
    assert not record.RECORDED.exists()


def test_each_measurement_is_a_module_with_a_function_measure() -> None:
    code = "from scripts.benchmarks.running import *; print(all(callable(importlib.import_module("
    code += "f'scripts.benchmarks.{it}').measure) for it in MEASUREMENTS.values()))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.stdout == "True\n", done.stderr


def test_two_sides_are_measured_in_turns_and_alternate_which_is_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "results.json"
    main(["one", "--json", str(file)])
    order: list[str] = []

    def run(python: str, name: str, *, quick: bool) -> object:
        order.append("ours" if python == sys.executable else "theirs")
        return read(file)

    monkeypatch.setattr(against, "measured_by", run)
    ours, theirs = against.in_turns("f" * 40, "/other/python", ["one"], turns=2, quick=True)
    assert order == ["ours", "theirs", "theirs", "ours"]
    assert theirs.commit == "f" * 10
    (samples,) = ours.samples().values()
    assert samples.values == (0.1, 0.2, 0.3, 0.1, 0.2, 0.3)


def test_a_measurement_that_the_other_commit_cannot_do_is_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "results.json"
    main(["one", "--json", str(file)])

    def run(python: str, name: str, *, quick: bool) -> object:
        if name == "new" and python != sys.executable:
            raise against.Failed("no module of this name")
        return read(file)

    monkeypatch.setattr(against, "measured_by", run)
    ours, theirs = against.in_turns("f" * 40, "/other/python", ["new", "one"], turns=1, quick=True)
    assert len(ours.measurements) == len(theirs.measurements) == 1
    assert "left out: no module of this name" in capsys.readouterr().err
    with pytest.raises(against.Failed):
        against.in_turns("f" * 40, "/other/python", ["new"], turns=1, quick=True)
