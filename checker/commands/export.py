"""`zabcheck export`: a saved trace in another form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import (
    HELD,
    INPUT,
    PATH,
    PROTOCOL_HELP,
    NoVerdict,
    Subcommand,
    at_least,
    budget_options,
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

FORMATS = ("text", "json", "itf", "mermaid", "html", "svg", "png", "parquet", "tla")
INTO_FILES = {"parquet": "an event table", "png": "a PNG"}  # nothing for a terminal


EXAMPLES = """\b
Examples:
  zabcheck --variant small-quorum --nodes 2 --depth 12 --trace run.trace.json
  zabcheck export run.trace.json --to html --output run.html
  zabcheck export --model --to tla --nodes 3     the same model for TLC
"""
OF_TRACES = ("trace", "form", "output", "model")


def refuse_model_options() -> None:
    """
    Raises:
        UsageError: an option stands beside a trace that says which model.
    """
    context = click.get_current_context()
    for p in context.command.params:
        given = p.name and context.get_parameter_source(p.name) is click.core.ParameterSource.COMMANDLINE
        if given and p.name not in OF_TRACES:
            raise click.UsageError(f"{p.opts[0]} is for --model: a trace says itself what it is of")


@click.command(cls=Subcommand, epilog=EXAMPLES)
@click.argument("trace", type=INPUT, required=False)
@click.option("--to", "form", required=True, metavar="FORMAT", help=f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}.")
@click.option("--output", type=PATH, metavar="FILE", help="Where to; stdout if not given.")
@click.option("--model", is_flag=True, help="Not a trace but a whole model, to tla; the options below say which.")
@click.option("--protocol", default="zab", show_default=True, metavar="NAME", help=PROTOCOL_HELP)
@click.option("--variant", default="", metavar="NAMES", help="The protocol with a rule changed, or several: a,b.")
@click.option("--repair", default="", metavar="NAMES", help="Rules repaired besides: variants that repair one, as a,b.")
@click.option("--release", default="", metavar="NUMBER", help="Of zookeeper: which release (the newest).")
@click.option("--start", default="", metavar="NAME", help="Where runs begin, of what a protocol declares.")
@click.option("--nodes", type=int, help="Processes; as the protocol says if not given, 3.")
@click.option("--txns", type=int, help="Transactions that may be abcast; 2 if not given.")
@budget_options()
@click.option("--network", default="", metavar="NAME", help="As `zabcheck` takes it.")
@click.option("--max-epoch", type=int, callback=at_least(1), help="Largest epoch; derived if not given.")
@click.option("--channel", type=int, callback=at_least(1), help="Messages a channel holds; derived if not given.")
@click.option("--property", "names", multiple=True, metavar="NAME", help="State only this property (repeatable).")
@click.option("--no-symmetry", is_flag=True, help="The configuration has TLC count renamings of a state apart.")
def export(trace: Path | None, form: str, output: Path | None, model: bool, **flags: Any) -> int:
    """Write a saved trace in another form, or a whole model as a TLA+ module.

    A trace: as text, JSON, ITF (Apalache, Quint), a Mermaid diagram, a page to walk through (HTML), a picture (SVG,
    PNG) or an event table (Parquet). A model (--model): to tla, a module and its .cfg beside it, which TLC explores.
    """
    if model:
        from checker.commands.export_model import export_model

        return export_model(trace, form, output, **flags)
    refuse_model_options()
    if form == "tla":
        raise click.UsageError("to tla goes a whole model, not a trace: --model")
    if trace is None:
        raise click.UsageError("Missing argument 'TRACE'.")
    if form not in FORMATS:
        raise click.UsageError(f"there is no format {form!r}; there are {', '.join(FORMATS)}{near(form, FORMATS)}")
    if output is not None:
        check_writable(output, "--output", regular=form == "parquet")
    elif form in INTO_FILES:
        raise click.UsageError(f"{INTO_FILES[form]} goes to a file: --output FILE")

    from traces import EXPORTS
    from traces.pictures import PICTURES
    from traces.pictures.png import NoRasterizer

    given = verified_trace(trace)
    if form == "parquet":
        assert output is not None
        return write_table(given, output)
    try:
        data = PICTURES[form](given) if form in PICTURES else plain(EXPORTS[form](given)).encode()
    except NoRasterizer as problem:
        raise click.UsageError(str(problem)) from None
    if output is None:
        return say(data.decode(), HELD)
    trouble = write_file(output, data)
    if trouble:
        raise NoVerdict(trouble)
    return HELD


def write_table(trace: Trace, output: Path) -> int:
    """Write a trace as an event table.

    Raises:
        UsageError: what writes tables is not installed.
        NoVerdict: the table cannot be written.
    """
    from traces.tables.own import write_own_trace
    from traces.tables.recorded import observes, rows_of_trace
    from traces.tables.table import TableError, TableWriter

    try:
        if not trace.model.protocol.declared.replicas:
            trouble = write_own_trace(trace, output)
            if trouble:
                raise NoVerdict(trouble)
            return HELD
        with TableWriter(output, observes(trace.configuration.protocol)) as table:
            table.add(rows_of_trace(trace))
    except TableError as problem:
        raise click.UsageError(str(problem)) from None
    except OSError as problem:
        raise NoVerdict(f"cannot write {output}: {problem.strerror}") from None
    return HELD
