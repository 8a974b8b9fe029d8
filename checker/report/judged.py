"""What judging a table came to, for people and for machines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from traces.judging.totals import Totals
    from traces.judging.unknowns import Unknown, Where

__all__ = ["as_json", "as_text", "violations"]

QUOTED = 3  # violations of a property that the text quotes
OF_OBSERVATIONS = ("held", "premise not reached", "violated", "open", "not judged")


def gaps_of(tally: Totals, *names: str) -> list[tuple[str, Unknown, Where]]:
    """The gaps that leave properties open, in the order of these names; those of `""` are to be said of rows."""
    from traces.judging.unknowns import GAPS

    return [(n, gap, tally.gaps[n, gap.bit]) for n in names for gap in GAPS if (n, gap.bit) in tally.gaps]


def words_of(tally: Totals) -> tuple[str, ...]:
    """What may be said of a property in a run, in the order of the columns."""
    from traces.judging.totals import COUNTS

    return COUNTS if tally.what == "events" else OF_OBSERVATIONS


def violations(tally: Totals) -> list[dict[str, Any]]:
    """The violations; of observations nothing is known but the run and the moment."""
    if tally.what == "events":
        return [v.as_dict() for v in tally.violations]
    return [{"run": v.run, "name": v.property, "why": v.why, "time": v.time} for v in tally.violations]


def as_json(table: Path, tally: Totals, asked: list[str], code: int, request: Mapping[str, Any] | None = None) -> str:
    words = words_of(tally)
    open_ = [
        {"property": n, "column": gap.column, "run": where.run, "row": where.row if where.row >= 0 else None}
        | {"runs": where.runs, "why": gap.why}
        for n, gap, where in gaps_of(tally, *asked)
    ]
    content = {
        "table": str(table),
        "request": request,
        "runs": tally.runs,
        "rows": tally.rows,
        "properties": [{"name": n} | {what.replace(" ", "_"): tally.count(n, what) for what in words} for n in asked],
        "violations": violations(tally),
        **({"open": open_} if tally.what == "events" else {}),
        "notes": [*said_of_rows(tally), *tally.notes],
        "exit_code": code,
    }
    return json.dumps(content, indent=2)


def said_of_rows(tally: Totals) -> list[str]:
    """What is to be said of rows whatever the verdicts are."""
    from traces.judging.unknowns import sentence

    return [f"{sentence(gap, where)}." for _, gap, where in gaps_of(tally, "")]


def as_text(tally: Totals, asked: list[str]) -> str:
    """The counts as a table, then the first violations of each property."""
    from traces.explain.folding import aligned, fitted
    from traces.judging.unknowns import sentence

    words = words_of(tally)
    every = tally.what != "events"
    used = [what for what in words if every or what in words[:3] or any(tally.count(n, what) for n in asked)]
    rows = [("property", *used), *((n, *(f"{tally.count(n, what):,}" for what in used)) for n in asked)]
    runs = "1 run" if tally.runs == 1 else f"{tally.runs:,} runs"
    lines = [f"{runs}, {tally.rows:,} {tally.what}", "", aligned(rows, head=True).rstrip("\n")]
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
