"""Report the result of a sweep of simulated runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from checker.errors import HELD, NO_VERDICT, VIOLATED
from checker.opinion.outcome import NO_OPINION, SecondOpinion
from checker.report.answer import Answered
from checker.report.result import Part, Table, values

if TYPE_CHECKING:
    from pathlib import Path

    from checker.requests.base.request import Request
    from traces.tables.sweep.findings import SweepFinding
    from traces.tables.sweep.grid import Grid
    from traces.tables.sweep.summary import Summary


@dataclass(frozen=True, repr=False)
class Swept(Answered):
    """A finished sweep of simulated runs.

    Attributes:
        request: the request.
        question: the grid.
        summary: totals of all runs.
        found: for each program the first run that violates each property.
        table: the place of the table.
        files: the files of the report, its page included; none at an address.
        second: how some runs are judged by definition.
    """

    request: Request
    question: Grid
    summary: Summary
    found: Sequence[SweepFinding]
    table: str
    files: Sequence[Path]
    second: SecondOpinion = NO_OPINION

    kind = "sweep"

    @property
    def exit_code(self) -> int:
        every = self.summary.every
        if self.second.trouble:
            return NO_VERDICT
        tested = any(tally.tested for tally in every.tallies.values())
        return VIOLATED if every.broken else NO_VERDICT if every.unfinished or not tested else HELD

    @property
    def sentence(self) -> str:
        from traces.tables.sweep.report import verdict

        return f"no verdict: {self.second.trouble}" if self.second.trouble else verdict(self.question, self.summary)

    def html(self) -> str:
        page = next(file for file in self.files if file.suffix == ".html")
        return page.read_text(encoding="utf-8")

    def parts(self) -> list[Part]:
        from traces.explain.folding import fitted
        from traces.tables.sweep.report import program_name, rate_text

        summary, found = self.summary, self.found
        rows = [
            (name, f"{t.violated:,}", f"{t.holds:,}", f"{t.not_reached:,}") for name, t in summary.every.tallies.items()
        ]
        said = fitted(self.sentence)
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
        report = f"\nreport: {', '.join(map(str, self.files))}" if self.files else ""
        told = [Table(self.second.row)] if self.second.row else []
        return [*parts, *told, f"table: {self.table}{report}"]

    def details(self) -> dict[str, Any]:
        grid, summary = self.question, self.summary
        return {
            "requested_grid": grid.as_json(), "configurations": grid.count, "grid": grid.size,
            **values({"every": summary.every, "axes": summary.axes, "together": summary.together}),
            "first": values(self.found), "table": self.table, "report": values(self.files),
            **({"second_opinion": self.second.as_json()} if self.second != NO_OPINION else {}),
        }  # fmt: skip
