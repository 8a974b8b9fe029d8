"""Report the result of a sweep of simulated runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from checker.report.result import Part, StatedResult, Table

if TYPE_CHECKING:
    from pathlib import Path

    from traces.sweep.findings import SweepFinding
    from traces.sweep.grid import Grid
    from traces.sweep.summary import Summary


class Swept(Protocol):
    """A finished sweep: `checker.requests.sweep.Swept`."""

    @property
    def question(self) -> Grid:
        """The grid."""

    @property
    def summary(self) -> Summary:
        """The totals of all runs."""

    @property
    def found(self) -> Sequence[SweepFinding]:
        """The first run that violates each property, for each program."""

    @property
    def table(self) -> str:
        """The place of the table."""

    @property
    def files(self) -> Sequence[Path]:
        """The report."""

    @property
    def code(self) -> int:
        """The exit code."""


def swept_result(request: Mapping[str, Any], swept: Swept) -> StatedResult:
    """Return the result of a sweep.

    Args:
        request: the one that it answers, as JSON.
    """
    content = {"request": dict(request)} | as_json_of(swept)
    return StatedResult(content["verdict"], swept.code, content, parts_of(swept), kind="sweep")


def parts_of(swept: Swept) -> list[Part]:
    """Return the parts of the text for people."""
    from traces.explain.folding import fitted
    from traces.sweep.report import program_name, rate_text, verdict

    summary, found = swept.summary, swept.found
    rows = [
        (name, f"{t.violated:,}", f"{t.holds:,}", f"{t.not_reached:,}") for name, t in summary.every.tallies.items()
    ]
    said = fitted(verdict(swept.question, summary))
    parts: list[Part] = [Table(rows, ("property", "violated", "holds", "premise not reached"), above=said)]
    for command in dict.fromkeys(f.command for f in found):
        lines = [command]
        for f in found:
            if f.command == command:
                rate = rate_text(f.violated, f.tested)
                lines.append(
                    f"  the first of {program_name(f.program)} that violates {f.name}, at tick {f.tick}: {rate}"
                )
        parts.append("\n".join(lines))
    report = f"\nreport: {', '.join(map(str, swept.files))}" if swept.files else ""
    return [*parts, f"table: {swept.table}{report}"]


def as_json_of(swept: Swept) -> dict[str, Any]:
    """Return the result as JSON values."""
    from traces.sweep.report import verdict
    from traces.sweep.summary import Group

    question, summary = swept.question, swept.summary

    def group(g: Group) -> dict[str, Any]:
        tallies = {
            name: {"violated": t.violated, "holds": t.holds, "premise_not_reached": t.not_reached}
            for name, t in g.tallies.items()
        }
        return {"runs": g.runs, "broken": g.broken, "unfinished": g.unfinished, **g.sums, "properties": tallies}

    return {
        "verdict": verdict(question, summary),
        "requested_grid": question.as_json(),
        "configurations": question.count,
        "grid": question.size,
        **group(summary.every),
        "axes": {
            axis: [{"value": value, **group(g)} for value, g in groups.items()] for axis, groups in summary.axes.items()
        },
        "first": [
            {"property": f.name, "program": list(f.program), "violated": f.violated, "tested": f.tested}
            | {"number": f.number, "tick": f.tick, "sha256": f.sha256, "command": f.command}
            for f in swept.found
        ],
        "together": [
            {"program": list(t.program), "properties": list(t.names), "runs": t.runs, "first": t.first}
            for t in summary.together
        ],
        "table": swept.table,
        "report": [str(path) for path in swept.files],
        "exit_code": swept.code,
    }
