# --- draw the pictures of a sweep's report as SVG that is the same for the same figures ------------

"""Write the report of a sweep: which properties were violated, how often, on which values, and a command for each."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from traces.pages.shell import environment
from traces.tables.sweep.block import COUNTS
from traces.tables.sweep.findings import SweepFinding
from traces.tables.sweep.grid import AXES, NONE, Grid
from traces.tables.sweep.summary import Group, Summary, VerdictTotals
from zabspec.files import write_whole

if TYPE_CHECKING:
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


ON_PAGES = {INK: "bad", PALE: "faint", "#000000": "ink", "#ffffff": "paper"}  # the last two are matplotlib's own
MOST_ROWS = 30  # of the combinations that broke together


def write_report(folder: Path, question: Grid, summary: Summary, found: tuple[SweepFinding, ...]) -> tuple[Path, ...]:
    """Write `report.html`, a single file, and `report.md` with its pictures beside it; return their paths.

    Raises:
        OSError: they cannot be written.
    """
    drawn = pictures(summary)
    facts = facts_of(question, summary, found)
    loader = PackageLoader("traces.tables.sweep")
    plain = Environment(loader=loader, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    plain.filters["cell"] = cell
    page = environment("traces.tables.sweep").get_template("report.html.j2")
    texts = {
        "report.html": page.render(facts, plots={name: inline(data.decode()) for name, data in drawn.items()}),
        "report.md": plain.get_template("report.md.j2").render(facts, plots={n: f"plots/{n}.svg" for n in drawn}),
    }
    (folder / "plots").mkdir(exist_ok=True)
    for name, data in drawn.items():
        write_whole(folder / "plots" / f"{name}.svg", data)
    for name, text in texts.items():
        write_whole(folder / name, text.encode())
    return tuple(folder / name for name in texts)


def inline(picture: str) -> str:
    """Return a picture as a part of a page, in its colours: ink on paper, light or dark."""
    out = re.sub(r"^.*?(?=<svg)", "", picture, flags=re.DOTALL)
    for colour, name in ON_PAGES.items():
        out = out.replace(colour, f"var(--{name})")
    return out


def cell(value: object) -> str:
    """Return text for a cell of a Markdown table."""
    return str(value).replace("|", "\\|")


def facts_of(question: Grid, summary: Summary, found: tuple[SweepFinding, ...]) -> dict[str, Any]:
    """Return what the templates show."""
    return {
        "verdict": verdict(question, summary),
        "question": grid_rows(question),
        "properties": [property_row(name, tally) for name, tally in summary.every.tallies.items()],
        "axes": {
            axis: [group_row(value, group) for value, group in groups.items()] for axis, groups in summary.axes.items()
        },
        "counts": COUNTS,
        "findings": finding_rows(found),
        "together": [
            {"program": program_name(t.program), "names": ", ".join(t.names), "runs": t.runs, "first": t.first}
            for t in summary.together[:MOST_ROWS]
        ],
        "more_together": max(0, len(summary.together) - MOST_ROWS),
    }


def finding_rows(found: tuple[SweepFinding, ...]) -> list[dict[str, Any]]:
    """Return the commands, each with the properties that it is the first to violate."""
    out: dict[tuple[tuple[str, ...], str], dict[str, Any]] = {}
    for f in found:
        one = {"program": program_name(f.program), "number": f.number, "command": f.command, "breaks": []}
        shown = out.setdefault((f.program, f.command), one)
        shown["breaks"].append({"name": f.name, "tick": f.tick, "rate": rate_text(f.violated, f.tested)})
    return list(out.values())


def verdict(question: Grid, summary: Summary) -> str:
    """Return the result of a sweep in a sentence or two."""
    every = summary.every
    of = "configurations" if question.count == question.size else f"configurations sampled of {question.size:,}"
    names = [name for name, tally in every.tallies.items() if tally.violated]
    text = f"{every.runs:,} {of}: "
    if names:
        broken = f"{every.broken:,} ({per_cent(every.broken, every.runs)})"
        text += f"{broken} violate {len(names)} of {len(every.tallies)} properties."
    else:
        text += f"none violates any of {len(every.tallies)} properties. Runs are a sample; this is not a proof."
    unreached = [name for name, tally in every.tallies.items() if not tally.holds and not tally.violated]
    if unreached:
        text += f" Put to the test in no run: {', '.join(unreached)}."
    if every.unfinished:
        text += f" {every.unfinished:,} runs have no verdict."
    return text


def grid_rows(question: Grid) -> list[tuple[str, str]]:
    """Return the rows that describe the grid, without defaults."""
    plain = Grid()
    rows = [("seeds", ", ".join(question.seeds)), *([("quorums", question.quorums)] if question.quorums else [])]
    for axis in (*AXES, "fault_kinds"):
        values = getattr(question, axis)
        if values != getattr(plain, axis) or axis in ("protocol", "nodes", "rounds", "proposals"):
            rows.append((axis.replace("_", " "), ", ".join(str(v) for v in values)))
    if question.sample:
        rows.append(("sample", f"{question.count:,} of {question.size:,}, by seed {question.sample_seed}"))
    return rows


def program_name(program: tuple[str, ...]) -> str:
    """Return a program in a few words."""
    return " ".join(word for word in program if word != NONE)


def property_row(name: str, tally: VerdictTotals) -> dict[str, Any]:
    low, high = interval(tally.violated, tally.tested)
    return {
        "name": name,
        "violated": tally.violated,
        "holds": tally.holds,
        "not_reached": tally.not_reached,
        "rate": rate_text(tally.violated, tally.tested),
        "interval": f"{100 * low:.3g} to {100 * high:.3g} %" if tally.tested else "-",
    }


def group_row(value: object, group: Group) -> dict[str, Any]:
    done = max(1, group.runs - group.unfinished)
    return {
        "value": value,
        "runs": group.runs,
        "broken": rate_text(group.broken, group.runs),
        "means": [f"{group.sums[count] / done:,.2f}" for count in COUNTS],
    }


def rate_text(some: int, of: int) -> str:
    return f"{some:,} of {of:,} ({per_cent(some, of)})"


def per_cent(some: int, of: int) -> str:
    return f"{100 * some / of:.3g} %" if of else "-"
