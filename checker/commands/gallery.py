"""`zabcheck gallery`: the claims of the sources and what breaks them, each with the run that shows it."""

from __future__ import annotations

import datetime
from typing import Any

import click

from checker.commands import completing
from checker.commands import shared_options as shared
from checker.commands.check import CheckOutputs, answer_of, file_options, for_machines
from checker.commands.common import HELD, Answer, Subcommand, table

EXAMPLES = """\b
Examples:
  zabcheck gallery                         every entry that takes under a minute
  zabcheck gallery equal-epoch             one: its story, and the run
  zabcheck gallery networks                those of a group: dsn11, variants, networks, db19, ...
  zabcheck gallery --source "DSN'11, VI"   those that cite it
  zabcheck gallery --list
"""


@click.command(cls=Subcommand, epilog=EXAMPLES)
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=completing.entries)
@shared.named("--source", "TEXT", "Run entries that cite this source.")
@click.option("--all", "heavy", is_flag=True, help="Also run entries that take more than a minute.")
@click.option("--list", "listing", is_flag=True, help="List the entries, and run nothing; a single one with its story.")
@file_options
def gallery(names: tuple[str, ...], source: str, heavy: bool, listing: bool, **outputs: Any) -> Answer:
    """Run the gallery: each entry is a claim of the sources, or a known fault, compared with the recorded result.

    Exit codes: as `zabcheck check`.
    """
    from checker.ci.configuration import MatrixError
    from checker.ci.selection import result_of
    from checker.ci.shipped import GalleryResult, described, listed
    from checker.ci.shipped import gallery as shipped

    def made() -> Answer:
        written = CheckOutputs.of(outputs)
        try:
            there = shipped()
            left = there.named(names, source, heavy or listing)
            if listing:
                entries = [c for c in there.matrix.checks if c.name not in left]
                head = ("entry", "group", "expected", "seconds", "claim", "source")
                more = described(entries[0]) if len(entries) == 1 else []
                return Answer(HELD, [table(head, listed(entries, there.groups)), *more], long=True)
            found = result_of(there.matrix, left, datetime.datetime.now(datetime.UTC).date(), "entry")
        except MatrixError as problem:
            raise click.UsageError(str(problem)) from None
        return answer_of(GalleryResult(found.path, found.outcomes, found.what), written)

    return for_machines(made, outputs["as_json"])
