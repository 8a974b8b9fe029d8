"""`zabcheck minimise`: the shortest counterexample that can be made of one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from checker.commands.common import HELD, INPUT, PATH, Answer, Subcommand
from checker.commands.page_option import HTML, check_page, page_files
from checker.report.progress import StatusLine
from checker.requests.minimise import MinimiseRequest, answer

__all__ = ["minimise"]


@click.command(cls=Subcommand)
@click.argument("trace", type=INPUT)
@click.option("--output", type=PATH, metavar="FILE", help="Where it is saved; beside the trace, as .min.trace.json.")
@click.option(
    "--search",
    type=float,
    default=20.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to look for a shorter one by exploring what is left of the question.",
)
@HTML
@click.option("--json", "as_json", is_flag=True, help="What was done, as JSON.")
def minimise(trace: Path, output: Path | None, search: float, page: Path | None, as_json: bool) -> Answer:
    """Shorten a counterexample: fewer steps, faults, messages, transactions and processes.

    What is left still breaks the same property. Then the explorer looks for a shorter one in what is left of the
    question; if it gets through, none is shorter there. A run of --live in which somebody waits for ever is shortened
    while it is fair and somebody still does.
    """
    request = MinimiseRequest(str(trace), str(output or ""), search)
    check_page(page, [trace, request.target])
    with StatusLine() as status:
        found = answer(request, line(status))
    short, after = found.trace, len(found.trace.steps)
    files = page_files(page, short)
    if as_json:
        result = {
            "request": request.as_json(),
            "property": short.property_name or None,
            "goal": None if short.lasso is None else short.lasso.goal,
            "steps_before": found.before,
            "steps": after,
            "schedules_tried": found.schedules,
            "shortest": found.shortest,
            "configuration": short.configuration.as_dict(),
            "trace": str(request.target),
        }
        return Answer(HELD, content=result, files=files)
    from traces import to_text
    from traces.explain.folding import folded

    told = "none is shorter with this configuration" if found.shortest else "a shorter one may exist"
    still = f"break {short.property_name}" if short.lasso is None else f"leave {short.lasso.goal} unreached"
    if short.failure is not None and short.failure.widen:
        still = f"need more room than there is ({short.failure.widen})"
    head = f"{found.before} steps are {after} now, and still {still}; {told}. Saved as {request.target}"
    return Answer(HELD, [f"{folded(head)}\n\n{to_text(short)}"], files=files)


def line(status: StatusLine) -> Callable[[int, int | None], None]:
    """Return what shows progress while a trace is shortened."""

    def show(steps: int, schedules: int | None) -> None:
        if status.due():
            doing = "; exploring for a shorter one" if schedules is None else f", {schedules:,} schedules tried"
            status.show(f"{steps} steps left{doing}")

    return show
