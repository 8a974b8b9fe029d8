"""`zabcheck judge`: the properties of histories over event tables of any size."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import (
    INPUT_OR_FOLDER,
    PATH,
    Answer,
    Subcommand,
    at_least,
    check_writable,
)
from checker.requests.judge import JudgeRequest, answer, judge_user_table, own_source

if TYPE_CHECKING:
    from traces.judging.own import ObservationTotals
    from traces.judging.totals import Totals

__all__ = ["judge"]

EXAMPLES = """\b
Examples:
  zabcheck simulate --seed 14 --table run.parquet
  zabcheck judge run.parquet
  zabcheck judge run.parquet --property agreement --violations broken.jsonl
  zabcheck judge run.parquet --engine spark --master 'local[2]' --json
"""


@click.command(cls=Subcommand, epilog=EXAMPLES)
@click.argument("table", type=INPUT_OR_FOLDER)
@click.option("--protocol", default="", metavar="NAME", help="Of a table of your own protocol: where its text is now.")
@click.option("--property", "names", multiple=True, metavar="NAME", help="Judge only this property (repeatable).")
@click.option(
    "--engine", metavar="NAME", help="plain (this process alone), or spark; if not given, spark for large tables."
)
@click.option("--master", metavar="URL", help="spark: where it runs (local[*]).")
@click.option("--threads", type=int, callback=at_least(1), help="plain: cores to use; all if not given.")
@click.option("--allow-open", is_flag=True, help="What a table leaves open is no reason to end with 3.")
@click.option("--violations", type=PATH, metavar="FILE", help="Write every violation, as JSON lines.")
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON.")
def judge(table: Path, violations: Path | None, as_json: bool, names: tuple[str, ...], **flags: Any) -> Answer:
    """Judge every run in an event table (a Parquet file, or a folder of them) by the properties of histories.

    A run is judged at the end of each of its moments; a moment is the rows of one time. Properties
    of a protocol's state, such as the invariants of section VI, are not to be seen in a table. What depends
    on something that a row leaves unknown is open: it is neither held nor violated.

    Exit codes: 0 all held, 1 a run breaks a property, 2 the question was wrong, 3 no verdict, or some are open.
    """
    request = JudgeRequest(str(table), properties=names, **flags)
    source = own_source(table, request.protocol)
    if violations is not None:
        check_writable(violations, "--violations")
        if violations.resolve().is_relative_to(table.resolve()):
            raise click.UsageError(f"--violations {violations} would write into the table that is judged")
    if source is not None:
        found, code = judge_user_table(request, source)
        return answer_of_user_table(request, found, code, violations, as_json)
    tally, checked, code = answer(request)
    return answer_of(request, tally, checked, code, violations, as_json)


def answer_of_user_table(
    request: JudgeRequest, tally: ObservationTotals, code: int, violations: Path | None, as_json: bool
) -> Answer:
    """Return what judging a table of a user protocol came to."""
    from checker.report.judged import QUOTED
    from traces.explain.folding import aligned, fitted

    found = [asdict(b) for b in tally.broken]
    words = ("held", "premise not reached", "violated", "open", "not judged")
    content = {
        "table": request.table, "request": request.as_json(), "runs": tally.runs, "rows": tally.rows,
        "properties": [{"name": n, **{w.replace(" ", "_"): c[w] for w in words}} for n, c in tally.counts.items()],
        "violations": found, "notes": tally.notes, "exit_code": code,
    }  # fmt: skip
    rows = [("property", *words), *((n, *(f"{c[w]:,}" for w in words)) for n, c in tally.counts.items())]
    runs = "1 run" if tally.runs == 1 else f"{tally.runs:,} runs"
    lines = [f"{runs}, {tally.rows:,} observations", "", aligned(rows, head=True).rstrip("\n")]
    for b in tally.broken[: QUOTED * len(tally.counts)]:
        when = "" if b.time is None else f" at time {b.time}"
        lines += ["", f"{b.name} is violated in run {b.run}{when}: {b.why}"]
    lines += ["", *tally.notes] if tally.notes else []
    files = lines_for(violations, found)
    return Answer.of(code, as_json, lambda: content, lambda: fitted("\n".join(lines)), files=files, indent=2)


def answer_of(
    request: JudgeRequest, tally: Totals, asked: list[str], code: int, violations: Path | None, as_json: bool
) -> Answer:
    """Return what judging came to."""
    from checker.report import judged as report

    return Answer.of(
        code, as_json, lambda: report.as_json(Path(request.table), tally, asked, code, request.as_json()),
        lambda: report.as_text(tally, asked), files=lines_for(violations, [v.as_dict() for v in tally.violations]),
        indent=2,
    )  # fmt: skip


def lines_for(path: Path | None, found: Sequence[Mapping[str, Any]]) -> list[tuple[Path, bytes]]:
    """Return the file of violations, a line of JSON each, if one is asked for."""
    return [] if path is None else [(path, "".join(json.dumps(v) + "\n" for v in found).encode())]
