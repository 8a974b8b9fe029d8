"""Report the result of judging a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from checker.opinion.outcome import NO_OPINION, SecondOpinion
from checker.report.answer import Answered
from checker.report.remarks import left_out_notes
from checker.report.result import Part, Table, Verdict
from traces.explain.folding import fitted

if TYPE_CHECKING:
    from traces.judging.sentence import Violation
    from traces.judging.totals import Totals
    from traces.judging.unknowns import Unknown, Where

QUOTED = 3  # violations of a property that the text quotes
SEVEREST = ("violated", "undecided", "open", "not judged", "holds")  # the verdicts of many runs are the first of these


@dataclass(frozen=True, repr=False)
class Judged(Answered):
    """The verdicts on the runs of a table.

    Attributes:
        table: its file.
        totals: for each property the number of runs of each verdict, the violations, and what is open.
        judged: the properties that were judged.
        exit_code: depends on whether open verdicts are accepted.
        left_out: the properties that tables are judged by, and this one was not.
        second: how some runs are judged by definition.
    """

    table: str
    totals: Totals
    judged: tuple[str, ...]
    exit_code: int = 0
    request: Mapping[str, Any] | None = None
    left_out: Sequence[str] = ()
    second: SecondOpinion = NO_OPINION

    kind = "judge"
    indent = 2

    @property
    def looked_at(self) -> str:
        """The amount that was judged."""
        return f"{plural_runs(self.totals.runs)}, {self.totals.rows:,} events"

    def gaps_of(self, *names: str) -> list[tuple[str, Unknown, Where]]:
        """Return the gaps that leave properties open, in the order of these names; `""` stands for gaps of rows."""
        from traces.judging.unknowns import GAPS

        gaps = self.totals.gaps
        return [(n, gap, gaps[n, gap.bit]) for n in names for gap in GAPS if (n, gap.bit) in gaps]

    @property
    def notes(self) -> list[str]:
        """The notes that apply whatever the verdicts are, those about rows first."""
        from traces.judging.unknowns import sentence

        return [*(f"{sentence(gap, where)}." for _, gap, where in self.gaps_of("")), *self.totals.notes]

    @property
    def sentence(self) -> str:
        looked_at = self.looked_at
        if self.second.trouble:
            return f"no verdict: {self.second.trouble}"
        verdicts = {v.name: v.verdict for v in self.said()}
        if violated := [name for name, word in verdicts.items() if word == "violated"]:
            return f"VIOLATED: {', '.join(violated)}; {looked_at}"
        if unsettled := [name for name, word in verdicts.items() if word in ("undecided", "open")]:
            return f"not violated, and not settled: {', '.join(unsettled)}; {looked_at}"
        held = [*verdicts.values()].count("holds")
        if not held:
            return f"no verdict: none of {len(self.judged)} properties was put to the test; {looked_at}"
        if self.exit_code:
            return f"no verdict: {self.totals.notes[-1]}"
        return f"nothing violated: {held} of {len(self.judged)} properties put to the test and hold; {looked_at}"

    def said(self) -> Iterator[Verdict]:
        from traces.judging.totals import COUNTS

        first = {v.property: v for v in reversed(self.totals.violations)}
        for name in self.judged:
            runs = {what: self.totals.count(name, what) for what in COUNTS}
            word = next((what for what in SEVEREST if runs[what]), "premise not reached")
            counts = ", ".join(f"{what} in {n:,}" for what, n in runs.items() if n)
            told = f"; first in run {first[name].run}: {first[name].why}" if name in first else ""
            yield Verdict(name, word, first[name].time if name in first else None, counts + told)

    def parts(self) -> Sequence[Part]:
        """Return the counts as a table, then the first violations of each property."""
        from traces.judging.totals import COUNTS
        from traces.judging.unknowns import sentence

        totals, names = self.totals, self.judged
        used = [what for what in COUNTS if what in COUNTS[:3] or any(totals.count(n, what) for n in names)]
        rows = [(n, *(f"{totals.count(n, what):,}" for what in used)) for n in names]
        parts: list[Part] = [fitted(self.sentence), Table(rows, ("property", *used))]
        for name in names:
            found = [v for v in totals.violations if v.property == name]
            for v in found[:QUOTED]:
                when = "" if v.time is None else f" at time {v.time}"
                lines = [f"{name} is violated in run {v.run}{when}: {v.why}"]
                for e in v.events:
                    place = f"position {e.position}" if e.position is not None else f"row {e.row}"
                    lines.append(f"  {e.who}, {place}: {' '.join(filter(None, (e.kind, e.txn)))}")
                parts.append(fitted("\n".join([*lines, *([f"  {v.command}"] if v.command else [])])))
            if len(found) > QUOTED:
                parts.append(fitted(f"{name}: {len(found) - QUOTED:,} more; --violations FILE writes all"))
        since: dict[str, list[str]] = {}
        for name, gap, where in self.gaps_of(*names):
            since.setdefault(sentence(gap, where), []).append(name)
        for why, of in since.items():
            parts.append(fitted(f"{', '.join(of)} {'is' if len(of) == 1 else 'are'} open, since {why}."))
        notes = [*self.notes, *left_out_notes(self.left_out)]
        told = [Table(self.second.row)] if self.second.row else []
        return [*parts, *([fitted("\n".join(notes))] if notes else []), *told]

    def details(self) -> dict[str, Any]:
        from traces.judging.totals import COUNTS

        totals = self.totals
        open_ = [
            {"property": n, "column": gap.column, "run": where.run, "row": where.row if where.row >= 0 else None}
            | {"runs": where.runs, "why": gap.why}
            for n, gap, where in self.gaps_of(*self.judged)
        ]
        return {
            "table": self.table,
            "runs": totals.runs,
            "rows": totals.rows,
            "properties": [
                {"name": n} | {what.replace(" ", "_"): totals.count(n, what) for what in COUNTS} for n in self.judged
            ],
            "not_checked": list(self.left_out),
            "violations": [v.as_dict() for v in totals.violations],
            "open": open_,
            "notes": self.notes,
            **({"second_opinion": self.second.as_json()} if self.second != NO_OPINION else {}),
        }

    @property
    def broken(self) -> Sequence[Violation]:
        """Every violation: the run, the position in it, and the rows that show it."""
        return tuple(self.totals.violations)


def plural_runs(runs: int) -> str:
    return "1 run" if runs == 1 else f"{runs:,} runs"
