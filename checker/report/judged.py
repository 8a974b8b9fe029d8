"""What judging a table came to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from checker.report.result import Part, Result, Table, Verdict
from traces.explain.folding import fitted

if TYPE_CHECKING:
    from traces.judging.own import ObservationTotals
    from traces.judging.totals import Totals
    from traces.judging.unknowns import Unknown, Where

__all__ = ["JudgedTable", "JudgedUserTable"]

QUOTED = 3  # violations of a property that the text quotes
SEVEREST = ("violated", "undecided", "open", "not judged", "held")  # what is said of many runs is the first of these
OF_USER_TABLES = ("held", "premise not reached", "violated", "open", "not judged")


@dataclass(frozen=True)
class JudgedTable(Result):
    """The verdicts on the runs of a table.

    Attributes:
        table: its file.
        totals: for each property how many runs of each verdict, the violations, and what is open.
        judged: the properties that were judged.
        exit_code: with what is open, or without.
    """

    table: str
    totals: Totals
    judged: tuple[str, ...]
    exit_code: int = 0
    request: Mapping[str, Any] | None = None

    kind = "judge"
    indent = 2

    def gaps_of(self, *names: str) -> list[tuple[str, Unknown, Where]]:
        """The gaps that leave properties open, in the order of these names; those of `""` are to be said of rows."""
        from traces.judging.unknowns import GAPS

        gaps = self.totals.gaps
        return [(n, gap, gaps[n, gap.bit]) for n in names for gap in GAPS if (n, gap.bit) in gaps]

    @property
    def notes(self) -> list[str]:
        """What is to be said whatever the verdicts are, of rows first."""
        from traces.judging.unknowns import sentence

        return [*(f"{sentence(gap, where)}." for _, gap, where in self.gaps_of("")), *self.totals.notes]

    @property
    def sentence(self) -> str:
        looked_at = f"{plural_runs(self.totals.runs)}, {self.totals.rows:,} events"
        verdicts = {v.name: v.verdict for v in self.said()}
        if violated := [name for name, word in verdicts.items() if word == "violated"]:
            return f"VIOLATED: {', '.join(violated)}; {looked_at}"
        if unsettled := [name for name, word in verdicts.items() if word in ("undecided", "open")]:
            return f"not violated, and not settled: {', '.join(unsettled)}; {looked_at}"
        held = [*verdicts.values()].count("held")
        return f"nothing violated: {held} of {len(self.judged)} properties put to the test and held; {looked_at}"

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
        """The counts as a table, then the first violations of each property."""
        from traces.judging.totals import COUNTS
        from traces.judging.unknowns import sentence

        totals, names = self.totals, self.judged
        used = [what for what in COUNTS if what in COUNTS[:3] or any(totals.count(n, what) for n in names)]
        rows = [(n, *(f"{totals.count(n, what):,}" for what in used)) for n in names]
        parts: list[Part] = [f"{plural_runs(totals.runs)}, {totals.rows:,} events", Table(rows, ("property", *used))]
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
                parts.append(fitted(f"{name}: {len(found) - QUOTED:,} more; --violations FILE writes them all"))
        for name in names:
            if gaps := self.gaps_of(name):
                parts.append(fitted("\n".join(f"{name} is open: {sentence(gap, where)}." for _, gap, where in gaps)))
        return [*parts, *([fitted("\n".join(self.notes))] if self.notes else [])]

    def as_json(self) -> dict[str, Any]:
        from traces.judging.totals import COUNTS

        totals = self.totals
        return {
            "table": self.table,
            "request": self.request,
            "runs": totals.runs,
            "rows": totals.rows,
            "properties": [
                {"name": n} | {what.replace(" ", "_"): totals.count(n, what) for what in COUNTS} for n in self.judged
            ],
            "violations": self.broken,
            "open": [
                {"property": n, "column": gap.column, "run": where.run, "row": where.row if where.row >= 0 else None}
                | {"runs": where.runs, "why": gap.why}
                for n, gap, where in self.gaps_of(*self.judged)
            ],
            "notes": self.notes,
            "exit_code": self.exit_code,
        }

    @property
    def broken(self) -> list[dict[str, Any]]:
        """Every violation, as JSON."""
        return [v.as_dict() for v in self.totals.violations]


@dataclass(frozen=True)
class JudgedUserTable(Result):
    """The verdicts on the runs of a table of a user protocol.

    Attributes:
        table: its file.
        exit_code: with what is open, or without.
    """

    table: str
    totals: ObservationTotals
    exit_code: int = 0
    request: Mapping[str, Any] | None = None

    kind = "judge"
    indent = 2

    @property
    def sentence(self) -> str:
        return f"{plural_runs(self.totals.runs)}, {self.totals.rows:,} observations"

    def said(self) -> Iterator[Verdict]:
        for name, counts in self.totals.counts.items():
            yield Verdict(name, next((word for word in SEVEREST if counts.get(word)), "premise not reached"))

    def parts(self) -> Sequence[Part]:
        totals = self.totals
        rows = [(n, *(f"{c[w]:,}" for w in OF_USER_TABLES)) for n, c in totals.counts.items()]
        parts: list[Part] = [self.sentence, Table(rows, ("property", *OF_USER_TABLES))]
        for b in totals.broken[: QUOTED * len(totals.counts)]:
            when = "" if b.time is None else f" at time {b.time}"
            parts.append(fitted(f"{b.name} is violated in run {b.run}{when}: {b.why}"))
        return [*parts, *([fitted("\n".join(totals.notes))] if totals.notes else [])]

    def as_json(self) -> dict[str, Any]:
        totals = self.totals
        return {
            "table": self.table, "request": self.request, "runs": totals.runs, "rows": totals.rows,
            "properties": [
                {"name": n, **{w.replace(" ", "_"): c[w] for w in OF_USER_TABLES}} for n, c in totals.counts.items()
            ],
            "violations": self.broken, "notes": totals.notes, "exit_code": self.exit_code,
        }  # fmt: skip

    @property
    def broken(self) -> list[dict[str, Any]]:
        """Every violation, as JSON."""
        return [asdict(b) for b in self.totals.broken]


def plural_runs(runs: int) -> str:
    return "1 run" if runs == 1 else f"{runs:,} runs"
