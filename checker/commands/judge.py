"""`zabcheck judge`: the properties of histories over event tables of any size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import (
    INPUT_OR_FOLDER,
    NO_VERDICT,
    PATH,
    Subcommand,
    at_least,
    check_writable,
    complain,
    say,
    write_file,
)
from checker.requests.judge import JudgeRequest, answer

if TYPE_CHECKING:
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
def judge(table: Path, violations: Path | None, as_json: bool, names: tuple[str, ...], **flags: Any) -> int:
    """Judge every run in an event table (a Parquet file, or a folder of them) by the properties of histories.

    A run is judged at the end of each of its moments; a moment is the rows of one time. Properties
    of a protocol's state, such as the invariants of section VI, are not to be seen in a table. What depends
    on something that a row leaves unknown is open: it is neither held nor violated.

    Exit codes: 0 all held, 1 a run breaks a property, 2 the question was wrong, 3 no verdict, or some are open.
    """
    request = JudgeRequest(str(table), properties=names, **flags)
    if violations is not None:
        check_writable(violations, "--violations")
        if violations.resolve().is_relative_to(table.resolve()):
            raise click.UsageError(f"--violations {violations} would write into the table that is judged")
    tally, checked, code = answer(request)
    return publish(request, tally, checked, code, violations, as_json)


def publish(
    request: JudgeRequest, tally: Totals, asked: list[str], code: int, violations: Path | None, as_json: bool
) -> int:
    """Write what judging came to; return the exit code."""
    from checker.report import judged as report

    trouble = ""
    if violations is not None:
        lines = "".join(json.dumps(v) + "\n" for v in report.violations(tally))
        trouble = write_file(violations, lines.encode())
    made = report.as_json(Path(request.table), tally, asked, code, request.as_json()) if as_json else ""
    code = max(code, say(made or report.as_text(tally, asked), code))
    if trouble:
        complain(trouble)
        return NO_VERDICT
    return code
