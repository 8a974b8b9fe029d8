"""`zabcheck export`: a saved trace in another form."""

from __future__ import annotations

from pathlib import Path

import click

from checker.commands.common import HELD, PATH, Cannot, Subcommand, check_writable, near, say, write_file

__all__ = ["export"]

FORMATS = ("text", "json", "itf", "mermaid")


@click.command(cls=Subcommand)
@click.argument("trace", type=PATH)
@click.option("--to", "form", required=True, metavar="FORMAT", help=f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}.")
@click.option("--output", type=PATH, metavar="FILE", help="Where to; stdout if not given.")
def export(trace: Path, form: str, output: Path | None) -> int:
    """Write a saved trace as text, JSON, ITF (Apalache, Quint) or a Mermaid diagram."""
    if form not in FORMATS:
        raise click.UsageError(f"there is no format {form!r}; there are {', '.join(FORMATS)}{near(form, FORMATS)}")
    if output is not None:
        check_writable(output, "--output")

    from traces import EXPORTS, TraceError, read_trace

    try:
        text = EXPORTS[form](read_trace(trace))
    except TraceError as problem:
        raise click.UsageError(str(problem)) from None
    if output is None:
        return say(text, HELD)
    trouble = write_file(output, text.encode())
    if trouble:
        raise Cannot(trouble)
    return HELD
