"""What judging a table came to, for people and for machines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from traces.judging.totals import Totals
    from traces.judging.unknowns import Unknown, Where

__all__ = ["QUOTED", "as_json", "as_text"]

QUOTED = 3  # violations of a property that the text quotes


def gaps_of(tally: Totals, *names: str) -> list[tuple[str, Unknown, Where]]:
    """The gaps that leave properties open, in the order of these names; those of `""` are to be said of rows."""
    from traces.judging.unknowns import GAPS

    return [(n, gap, tally.gaps[n, gap.bit]) for n in names for gap in GAPS if (n, gap.bit) in tally.gaps]


def as_json(
    table: Path, tally: Totals, asked: list[str], code: int, request: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the counts, and everything that was found, as JSON values."""
    from traces.judging.totals import COUNTS

    return {
        "table": str(table),
        "request": request,
        "runs": tally.runs,
        "rows": tally.rows,
        "properties": [
            {"name": n} | {what.replace(" ", "_"): tally.count(n, what) for what in COUNTS} for n in asked
        ],
        "violations": [v.as_dict() for v in tally.violations],
        "open": [
            {"property": n, "column": gap.column, "run": where.run, "row": where.row if where.row >= 0 else None}
            | {"runs": where.runs, "why": gap.why}
            for n, gap, where in gaps_of(tally, *asked)
        ],
        "notes": [*said_of_rows(tally), *tally.notes],
        "exit_code": code,
    }  # fmt: skip


def said_of_rows(tally: Totals) -> list[str]:
    """What is to be said of rows whatever the verdicts are."""
    from traces.judging.unknowns import sentence

    return [f"{sentence(gap, where)}." for _, gap, where in gaps_of(tally, "")]


def as_text(tally: Totals, asked: list[str]) -> str:
    """The counts as a table, then the first violations of each property."""
    from traces.explain.folding import aligned, fitted
    from traces.judging.totals import COUNTS
    from traces.judging.unknowns import sentence

    used = [what for what in COUNTS if what in COUNTS[:3] or any(tally.count(n, what) for n in asked)]
    rows = [("property", *used), *((n, *(f"{tally.count(n, what):,}" for what in used)) for n in asked)]
    runs = "1 run" if tally.runs == 1 else f"{tally.runs:,} runs"
    lines = [f"{runs}, {tally.rows:,} events", "", aligned(rows, head=True).rstrip("\n")]
    for name in asked:
        found = [v for v in tally.violations if v.property == name]
        for v in found[:QUOTED]:
            when = "" if v.time is None else f" at time {v.time}"
            lines += ["", f"{name} is violated in run {v.run}{when}: {v.why}"]
            for e in v.events:
                place = f"position {e.position}" if e.position is not None else f"row {e.row}"
                lines.append(f"  {e.who}, {place}: {' '.join(filter(None, (e.kind, e.txn)))}")
            if v.command:
                lines.append(f"  {v.command}")
        if len(found) > QUOTED:
            lines += ["", f"{name}: {len(found) - QUOTED:,} more; --violations FILE writes them all"]
    for name in asked:
        gaps = gaps_of(tally, name)
        lines += ["", *(f"{name} is open: {sentence(gap, where)}." for _, gap, where in gaps)] if gaps else []
    notes = [*said_of_rows(tally), *tally.notes]
    lines += ["", *notes] if notes else []
    return fitted("\n".join(lines))
