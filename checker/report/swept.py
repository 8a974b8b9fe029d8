"""Report the result of a sweep of simulated runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from checker.report.result import Part, StatedResult, Table

if TYPE_CHECKING:
    from traces.sweep.findings import SweepFinding
    from traces.sweep.spot_check import SpotCheck
    from traces.sweep.store import Store
    from traces.sweep.summary import Summary


class Swept(Protocol):
    """A finished sweep: `checker.requests.sweep.Swept`."""

    @property
    def store(self) -> Store:
        """The folder."""

    @property
    def summary(self) -> Summary:
        """The totals of all runs."""

    @property
    def found(self) -> Sequence[SweepFinding]:
        """The first run that violates each property, for each program."""

    @property
    def again(self) -> SpotCheck:
        """Runs that were repeated as a spot check."""

    @property
    def table(self) -> str:
        """The place of the table."""

    @property
    def reports(self) -> list[str]:
        """The place of the report."""

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

    store, summary, found, again = swept.store, swept.summary, swept.found, swept.again
    rows = [
        (name, f"{t.violated:,}", f"{t.holds:,}", f"{t.not_reached:,}") for name, t in summary.every.tallies.items()
    ]
    said = "\n".join(fitted(each) for each in (verdict(store.question, summary), again.sentence) if each)
    parts: list[Part] = [Table(rows, ("property", "violated", "holds", "premise not reached"), above=said)]
    for command in dict.fromkeys(f.command for f in found):
        lines = [command]
        for f in found:
            if f.command == command:
                rate = rate_text(f.violated, f.judged)
                lines.append(
                    f"  the first of {program_name(f.program)} that violates {f.name}, at tick {f.tick}: {rate}"
                )
        parts.append("\n".join(lines))
    return [*parts, f"table: {swept.table}\nreport: {', '.join(swept.reports)}"]


def as_json_of(swept: Swept) -> dict[str, Any]:
    """Return the result as JSON values."""
    from traces.sweep.report import verdict
    from traces.sweep.spot_check import CONFIDENCE
    from traces.sweep.summary import Group

    store, summary, again = swept.store, swept.summary, swept.again

    def group(g: Group) -> dict[str, Any]:
        tallies = {
            name: {"violated": t.violated, "holds": t.holds, "premise_not_reached": t.not_reached}
            for name, t in g.tallies.items()
        }
        return {"runs": g.runs, "broken": g.broken, "unfinished": g.unfinished, **g.sums, "properties": tallies}

    return {
        "verdict": verdict(store.question, summary),
        "requested_grid": store.question.as_json(),
        "configurations": store.question.count,
        "grid": store.question.size,
        **group(summary.every),
        "axes": {
            axis: [{"value": value, **group(g)} for value, g in groups.items()] for axis, groups in summary.axes.items()
        },
        "first": [
            {"property": f.name, "program": list(f.program), "violated": f.violated, "judged": f.judged}
            | {"number": f.number, "tick": f.tick, "sha256": f.sha256, "command": f.command}
            for f in swept.found
        ],
        "together": [
            {"program": list(t.program), "properties": list(t.names), "runs": t.runs, "first": t.first}
            for t in summary.together
        ],
        "spot_check": {"runs": again.runs, "of": again.of, "share": again.share, "confidence": CONFIDENCE},
        "table": swept.table,
        "report": swept.reports,
        "exit_code": swept.code,
    }
