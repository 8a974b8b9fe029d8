"""`zabcheck judge`: the properties of histories over event tables of any size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from checker.commands import completing
from checker.commands import shared_options as shared
from checker.commands.common import PATH, InputPath, Subcommand, at_least, check_writable
from checker.commands.publishing import Files, published
from checker.report.result import Result
from checker.requests.judge import JudgeRequest, answer

EXAMPLES = """\b
Examples:
  zabcheck simulate --seed 14 --table run.parquet
  zabcheck judge run.parquet
  zabcheck judge run.parquet --property agreement --violations broken.jsonl
  zabcheck judge run.parquet --engine spark --master 'local[2]' --json
"""


class TablePlace(InputPath):
    """A table: a file or folder on this machine, or an address of one elsewhere."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from traces.tables.places import address_of

        return value if address_of(str(value)) is not None else super().convert(value, param, ctx)


@click.command(cls=Subcommand, epilog=EXAMPLES)
@click.argument("table", type=TablePlace(folder=True))
@shared.named("--protocol", "NAME", "For a table of a user protocol: the file of the protocol.", completing.protocols)
@shared.PROPERTY
@click.option(
    "--engine",
    metavar="NAME",
    shell_complete=completing.one_of("plain", "spark"),
    help="plain (this process, the default) or spark.",
)
@click.option("--master", metavar="URL", help="With --engine spark: the Spark master (local[*]).")
@click.option(
    "--threads",
    type=int,
    callback=at_least(1),
    help="With --engine plain: number of threads; one for each core if not given.",
)
@click.option("--rows", type=int, metavar="N", callback=at_least(1), help="Rows that the table must have; else exit 3.")
@click.option("--allow-open", is_flag=True, help="Exit with 0, not 3, if properties are open and none is violated.")
@click.option("--violations", type=PATH, metavar="FILE", help="Write every violation to this file, as JSON lines.")
@published("judge", "The answer as JSON.")
def judge(table: Path | str, violations: Path | None, names: tuple[str, ...], **flags: Any) -> tuple[Result, Files]:
    """Check every run in an event table (a Parquet file, or a folder of them) against the properties of histories.

    An address is read by pyarrow (s3://, gs://), or by Spark (s3a://, hdfs://, viewfs://, CATALOG.SCHEMA.TABLE).

    A run is checked at the end of each of its moments; a moment is the rows of one time. A table does not show the
    properties of a protocol's state, such as the invariants of section VI. A property that depends on unknown values is
    open: neither held nor violated.

    Exit codes: 0 all hold, 1 a run violates a property, 2 the request is wrong, 3 no verdict: no premise is reached,
    some properties are open, or rows are missing.
    """
    request = JudgeRequest(str(table), properties=names, **flags)
    if violations is not None:
        check_writable(violations, "--violations")
        if isinstance(table, Path) and violations.resolve().is_relative_to(table.resolve()):
            raise click.UsageError(f"--violations {violations} would write into the table that is checked")
    found = answer(request)
    if violations is None:
        return found, []
    return found, [(violations, "".join(json.dumps(v) + "\n" for v in found.broken).encode())]
