"""Draw the pictures of a sweep's report as SVG that is the same for the same figures."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any

from traces.tables.sweep.summary import Group, Summary

if TYPE_CHECKING:  # half a second,
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, PALE = "#b3261e", "#8a8a8a"
COLUMNS = 3
Z = 1.96  # the number of standard deviations within which 95 in 100 of a normal distribution lie
STYLE: Any = {
    "svg.hashsalt": "zabcheck",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
}


def interval(violated: int, tested: int) -> tuple[float, float]:
    """Return Wilson's interval, at 95 %, of the rate behind a count."""
    if not tested:
        return 0.0, 1.0
    rate, n = violated / tested, tested
    middle = (rate + Z * Z / (2 * n)) / (1 + Z * Z / n)
    reach = Z * sqrt(rate * (1 - rate) / n + Z * Z / (4 * n * n)) / (1 + Z * Z / n)
    return max(0.0, min(rate, middle - reach)), min(1.0, max(rate, middle + reach))


def pictures(summary: Summary) -> dict[str, bytes]:
    """Return the pictures by name: `rates` of every property that was put to the test, and one for each swept axis.

    On an axis are the properties that were violated; if none was, those that were tested.
    """
    tested = [name for name, tally in summary.every.tallies.items() if tally.tested]
    broken = [name for name in tested if summary.every.tallies[name].violated] or tested
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        out = {"rates": rates(summary.every, tested)}
        for axis, groups in summary.axes.items() if tested else ():
            out[axis] = against(axis, groups, broken)
    return out


def rates(group: Group, names: Sequence[str]) -> bytes:
    """Draw the violation rate of each property, with its interval."""
    from matplotlib.figure import Figure

    names = sorted(names, key=lambda name: group.tallies[name].violated / group.tallies[name].tested)
    figure = Figure(figsize=(8, 0.9 + 0.27 * len(names)), layout="constrained")
    ax = figure.add_subplot()
    if not names:
        ax.set_axis_off()
        ax.text(0, 0.5, "no property was put to the test")
        return svg(figure)
    values, below, above = bounds([group.tallies[name] for name in names])
    ax.errorbar(values, range(len(names)), xerr=(below, above), fmt="o", color=INK, ecolor=PALE, markersize=5)
    ax.set_yticks(range(len(names)), names)
    ax.set_xlabel("runs that violate it, % of those that put it to the test")
    if max(values) > 30 * min(values) > 0:
        ax.set_xscale("log")
    else:
        ax.set_xlim(left=0)
    return svg(figure)


def against(axis: str, groups: Mapping[Any, Group], names: Sequence[str]) -> bytes:
    """Draw the violation rate of each property against one axis, one panel each."""
    from matplotlib.figure import Figure

    rows = -(-len(names) // COLUMNS)
    figure = Figure(figsize=(9, 0.6 + 1.7 * rows), layout="constrained")
    panels = figure.subplots(rows, COLUMNS, squeeze=False).flat
    for ax, name in zip(panels, names, strict=False):
        panel(ax, groups, name)
        ax.set_title(name)
    for ax in list(panels)[len(names) :]:
        ax.remove()
    figure.supxlabel(axis)
    figure.supylabel("runs that violate it, %")
    return svg(figure)


def panel(ax: Axes, groups: Mapping[Any, Group], name: str) -> None:
    """Draw one property against one axis: a line for a numeric axis, else points."""
    kept = {value: group.tallies[name] for value, group in groups.items() if group.tallies[name].tested}
    if not kept:
        return
    numbers = all(isinstance(value, int) for value in kept)
    at = list(kept) if numbers else list(range(len(kept)))
    values, below, above = bounds(list(kept.values()))
    ax.errorbar(
        at, values, (below, above), fmt="o-" if numbers else "o", color=INK, ecolor=PALE, markersize=3, linewidth=1
    )
    many = len(kept) > 4
    ax.set_xticks(at, [short(value) for value in kept], rotation=45 if many else 0, ha="right" if many else "center")
    ax.margins(x=0.1)
    ax.set_ylim(bottom=0)


def short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 18 else text[:17] + "…"


def bounds(tallies: Sequence[Any]) -> tuple[list[float], list[float], list[float]]:
    """Return rates in per cent, and how far their intervals reach below and above."""
    values, below, above = [], [], []
    for tally in tallies:
        low, high = interval(tally.violated, tally.tested)
        rate = tally.violated / tally.tested
        values.append(100 * rate)
        below.append(100 * (rate - low))
        above.append(100 * (high - rate))
    return values, below, above


def svg(figure: Figure) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()
