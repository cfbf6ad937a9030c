"""The recorded run: its results in `recorded.json`, its table in daemon/PERFORMANCE.md, its charts as pictures."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from scripts.benchmarks.report import Row
from scripts.benchmarks.results import ROOT, Measured, Results, paths, read, write

RECORDED = Path(__file__).with_name("recorded.json")
PAGE = ROOT / "daemon/PERFORMANCE.md"
PICTURES = ROOT / "daemon/performance"
START, END = "<!-- generated: scripts/bench --record -->\n", "<!-- end -->"
HEADING = ("what", "measured", "lowest - highest", "ratio", "target", "")


def record(results: Results) -> None:
    """Write the results, the pictures and the page."""
    write(results, RECORDED)
    draw(results, PICTURES)
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


def recorded() -> Results:
    """Return the results of the recorded run."""
    return read(RECORDED)


def draw(results: Results, folder: Path) -> list[Path]:
    """Draw each chart of a run as a file of this folder. Returns the files."""
    from scripts.benchmarks.drawing import drawn  # only this module needs Matplotlib

    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for chart in results.charts:
        file = folder / f"{chart.name}.svg"
        file.write_bytes(drawn(chart))
        files.append(file)
    return files


def rendered(page: str, results: Results) -> str:
    """Return the page with the tables of a run between its markers. Raises `ValueError` without markers."""
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise ValueError(f"{PAGE} has lost its markers")
    return f"{before}{start}\n{tables(results)}\n{end}{after}"


def tables(results: Results) -> str:
    """Return the commit, the machine, the missed targets, and a table for each measurement, as Markdown."""
    minutes = sum(measurement.seconds for measurement in results.measurements) / 60
    busy = (
        " The machine was not idle, so compare only ratios and processor times."
        if results.machine.load >= 1
        else ""
    )
    parts = [
        f"Recorded on {results.date} at commit {results.commit}{', with --quick' if results.quick else ''}. The "
        f"measurements took {minutes:.0f} minutes, without the charts.\n",
        f"Machine: {results.machine}.{busy}\n",
        *_missed(results),
        *(_section(measurement) for measurement in results.measurements),
    ]
    return "\n".join(parts)


def _missed(results: Results) -> Iterator[str]:
    judged = [row for row in results.rows if row.verdict]
    met = sum(row.verdict == "met" for row in judged)
    yield f"{met} of {len(judged)} targets are met{'. Missed:' if met < len(judged) else '.'}\n"
    lines = [
        f"- {': '.join(path)}: {row.measured}{f' ({row.ratio})' if row.ratio else ''}, target {row.bar}{_reason(row)}\n"
        for measurement in results.measurements
        for path, row in paths(measurement.rows)
        if row.verdict == "missed"
    ]
    if lines:
        yield "".join(lines)


def _reason(row: Row) -> str:
    return f". {row.reason}" if row.reason else ""


def _section(measured: Measured) -> str:
    rows = [HEADING, tuple("---" for _ in HEADING), *(_cells(row) for row in measured.rows)]
    return f"### `{measured.name}`\n\n{measured.about}\n\n{''.join(_line(row) for row in rows)}"


def _cells(row: Row) -> Sequence[str]:
    depth = len(row.what) - len(row.what.lstrip())
    what = f"{'↳ ' if depth else ''}{row.what.strip()}"
    return (what, row.measured, row.spread, row.ratio, row.bar, row.verdict)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/').replace('<', '&lt;') for cell in cells)} |\n"
