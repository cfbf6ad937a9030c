"""Draws charts as SVG pictures with Matplotlib, which the extra `bench` installs."""

from collections.abc import Sequence
from io import BytesIO
from itertools import pairwise
from math import ceil, floor, log10
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from scripts.benchmarks.results import Chart, ChartUnit

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56708a", "#e69f00")
"""Colors that people with color blindness can tell apart (Okabe and Ito)."""
SIZE = (8.6, 4.4)
INK, GRID = "#33383d", "#e3e6e8"
STYLE: Any = {  # the stubs of Matplotlib list every name that a key may have
    "svg.fonttype": "none",  # text is not converted to paths
    "svg.hashsalt": "sessiond",  # the same chart always gives the same file
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": GRID,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
LABEL_GAP = 0.062
"""The minimum distance between two labels, as a share of the height."""


def drawn(chart: Chart) -> bytes:
    """Return the chart as an SVG picture. Each line has its label at its right end."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=SIZE, facecolor="white")
        axes = figure.add_axes((0.085, 0.13, 0.6, 0.74))
        figure.text(0.02, 0.93, chart.title, fontsize=12, fontweight="bold", ha="left")
        axes.set_xscale("log")
        axes.set_yscale("log")
        for line, color in zip(chart.lines, COLORS, strict=False):
            across, up = zip(*line.points, strict=True)
            axes.plot(across, up, color=color, linewidth=1.8, marker="o", markersize=3.5)
        axes.set_xlabel(chart.across)
        axes.grid(visible=True, which="major", color=GRID, linewidth=0.8)
        axes.set_axisbelow(True)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.tick_params(length=0)
        axes.xaxis.set_major_locator(LogLocator(10))
        axes.yaxis.set_major_locator(LogLocator(10))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value, chart.unit)))
        low, high = decades([y for line in chart.lines for _, y in line.points])
        axes.set_ylim(10.0**low, 10.0**high)
        ends = [(log10(line.points[-1][1]) - low) / (high - low) for line in chart.lines]
        places = spread(ends, LABEL_GAP)
        for line, color, place in zip(chart.lines, COLORS, places, strict=False):
            text = f"{line.label}: {short(line.points[-1][1], chart.unit)}"
            axes.text(1.02, place, text, color=color, transform=axes.transAxes, va="center", fontsize=9)
        picture = BytesIO()
        figure.savefig(picture, format="svg", metadata={"Date": None})
    return b"".join(line.rstrip() + b"\n" for line in picture.getvalue().splitlines())


def short(value: float, unit: ChartUnit) -> str:
    """Return a value with two digits: `1 ms`, `4.3 s`, `25 MB`."""
    steps = ((1, "s"), (1e-3, "ms"), (1e-6, "µs")) if unit == "s" else ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
    for size, name in steps:
        if value >= size:
            return f"{float(f'{value / size:.2g}'):g} {name}"
    return f"{float(f'{value / steps[-1][0]:.2g}'):g} {steps[-1][1]}"


def decades(values: Sequence[float]) -> tuple[int, int]:
    """Return the powers of ten between which all values are; values must be above 0."""
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    return low, max(high, low + 1)


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Return places in the order of the wanted ones and at least `gap` apart; closer ones are moved up."""
    places = list(wanted)
    order = sorted(range(len(wanted)), key=lambda number: wanted[number])
    for below, number in pairwise(order):
        places[number] = max(places[number], places[below] + gap)
    return places
