"""`zabcheck export`: convert a saved trace to another format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from checker.commands import completing
from checker.commands import shared_options as shared
from checker.commands.common import HELD, INPUT, PATH, Answer, Subcommand
from checker.commands.requested import model_request
from checker.requests.export import FORMATS, ExportRequest, answer
from checker.requests.export_model import ExportModelRequest
from checker.requests.export_model import answer as module_of

EXAMPLES = """\b
Examples:
  zabcheck --variant small-quorum --nodes 2 --depth 12 --trace run.trace.json
  zabcheck export run.trace.json --to html --output run.html
  zabcheck export run.trace.json --to svg --cone 9      what step 9 depends on
  zabcheck export --model --to tla --nodes 3     the same model for TLC
"""
OF_TRACES = ("trace", "form", "output", "model", "relation", "cone")


def refuse_model_options() -> None:
    """Check that no option describes a model beside a trace, which determines its model.

    Raises:
        UsageError: one does.
    """
    context = click.get_current_context()
    for p in context.command.params:
        given = p.name and context.get_parameter_source(p.name) is click.core.ParameterSource.COMMANDLINE
        if given and p.name not in OF_TRACES:
            raise click.UsageError(f"{p.opts[0]} is for --model: a trace has its own configuration")


@click.command(cls=Subcommand, epilog=EXAMPLES)
@click.argument("trace", type=INPUT, required=False)
@click.option(
    "--to", "form", required=True, metavar="FORMAT", shell_complete=completing.formats,
    help=f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}.",
)  # fmt: skip
@click.option("--output", type=PATH, metavar="FILE", help="The file to write; stdout if not given.")
@shared.named("--relation", "NAME", "With --to graphml: messages (the default) or broadcasts.")
@click.option("--cone", type=int, metavar="STEP", help="In a picture: draw steps that STEP does not depend on faintly.")
@click.option(
    "--model",
    is_flag=True,
    help="Export a whole model instead of a trace, to tla; the options below are its configuration.",
)
@shared.model_options
@click.option(
    "--property", "names", multiple=True, metavar="NAME", shell_complete=completing.properties,
    help="Write only this property (repeatable).",
)  # fmt: skip
@click.option("--no-symmetry", is_flag=True, help="Make TLC count renamings of a state separately.")
def export(
    trace: Path | None, form: str, output: Path | None, model: bool, relation: str, cone: int | None, **flags: Any
) -> Answer:
    """Write a saved trace in another format, or a whole model as a TLA+ module.

    A trace: as text, JSON, ITF (Apalache, Quint), a Mermaid diagram, a page to walk through (HTML), a picture (SVG,
    PNG), an event table (Parquet) or a graph of what happens before what (GraphML). A model (--model): to tla, a
    module and its .cfg beside it, which TLC explores.
    """
    if model:
        if relation or cone is not None:
            raise click.UsageError(f"{'--relation' if relation else '--cone'} is for a trace, not for --model")
        if trace is not None:
            raise click.UsageError("--model does not go with a trace: give one of the two")
        if form != "tla":
            raise click.UsageError(f"a model is exported --to tla, not to {form}")
        return export_model(str(output or ""), **flags)
    refuse_model_options()
    if trace is None and form != "tla":
        raise click.UsageError("Missing argument 'TRACE'.")
    data = answer(ExportRequest(str(trace or ""), form, str(output or ""), relation, cone))
    return Answer(HELD, [] if output is not None else [data.decode()])


def export_model(output: str, **flags: Any) -> Answer:
    """Write the TLA+ module and its configuration; without a file name, to stdout."""
    request = ExportModelRequest(model_request(**flags), flags["names"], not flags["no_symmetry"], output)
    module, configuration = module_of(request)
    return Answer(HELD, [] if output else [f"{module}The configuration, {request.name}.cfg:\n\n{configuration}"])
