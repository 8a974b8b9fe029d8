"""`zabcheck export`: a saved trace in another form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from checker.commands.common import (
    HELD,
    PATH,
    Cannot,
    Subcommand,
    check_writable,
    near,
    plain,
    say,
    verified_trace,
    write_file,
)

if TYPE_CHECKING:
    from traces import Trace

__all__ = ["export"]

FORMATS = ("text", "json", "itf", "mermaid", "parquet")


@click.command(cls=Subcommand)
@click.argument("trace", type=PATH)
@click.option("--to", "form", required=True, metavar="FORMAT", help=f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}.")
@click.option("--output", type=PATH, metavar="FILE", help="Where to; stdout if not given.")
def export(trace: Path, form: str, output: Path | None) -> int:
    """Write a saved trace as text, JSON, ITF (Apalache, Quint), a Mermaid diagram or an event table (Parquet)."""
    if form not in FORMATS:
        raise click.UsageError(f"there is no format {form!r}; there are {', '.join(FORMATS)}{near(form, FORMATS)}")
    if output is not None:
        check_writable(output, "--output", regular=form == "parquet")
    elif form == "parquet":
        raise click.UsageError("an event table goes to a file: --output FILE")

    from traces import EXPORTS

    given = verified_trace(trace)
    if form == "parquet":
        assert output is not None
        return write_table(given, output)
    text = plain(EXPORTS[form](given))
    if output is None:
        return say(text, HELD)
    trouble = write_file(output, text.encode())
    if trouble:
        raise Cannot(trouble)
    return HELD


def write_table(trace: Trace, output: Path) -> int:
    """Write a trace as an event table.

    Raises:
        UsageError: what writes tables is not installed.
        Cannot: the table cannot be written.
    """
    from traces.pipeline.recorded import observes, rows_of_trace
    from traces.pipeline.table import TableError, TableWriter

    try:
        with TableWriter(output, observes(trace.configuration.protocol)) as table:
            table.add(rows_of_trace(trace))
    except TableError as problem:
        raise click.UsageError(str(problem)) from None
    except OSError as problem:
        raise Cannot(f"cannot write {output}: {problem.strerror}") from None
    return HELD
