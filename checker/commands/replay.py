"""`zabcheck replay`: a saved trace again, in the simulator under its script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import INPUT, Cannot, Subcommand, say
from checker.commands.drawn import HTML, check_page, draw

if TYPE_CHECKING:
    from traces import Trace
    from traces.replay.replay import Replayed

__all__ = ["answered", "as_text", "replay"]

BUG = "a bug of zabcheck, please report it"


@click.command(cls=Subcommand)
@click.argument("trace", type=INPUT)
@HTML
@click.option("--json", "as_json", is_flag=True, help="What was replayed, as JSON.")
def replay(trace: Path, page: Path | None, as_json: bool) -> int:
    """Play a saved trace in the simulator, whose own heap, links, clock and handlers do what the
    trace says happens, and compare every step with the recorded one.

    Ends with 0 if every step is equal and the property, if the trace names one, breaks at the last
    step and not before; with 2 if the file is no trace, or says what its own schedule does not do;
    with 3 if the explorer confirms the trace and the simulator does not, which is a bug of zabcheck.
    """
    check_page(page, [trace])

    from traces import TraceError, read_trace

    try:
        given = read_trace(trace)
    except TraceError as problem:
        raise click.UsageError(str(problem)) from None
    result = answered(given, str(trace))
    code = draw(page, given)
    if as_json:
        import json

        return say(json.dumps(as_json_value(trace, given, result), indent=1), code)
    return say(as_text(result), code)


def answered(trace: Trace, what: str) -> Replayed:
    """Replay; nothing is printed.

    Args:
        what: what sentences call the trace.

    Raises:
        UsageError: it is not what its schedule does.
        Cannot: the explorer says that it is, and the simulator that it is not.
    """
    from traces import TraceError, verify
    from traces.replay.replay import replay as played

    try:
        return played(trace)
    except TraceError as problem:
        try:
            verify(trace)
        except TraceError:
            raise click.UsageError(f"{what} does not replay: {problem}") from None
        raise Cannot(
            f"{what} does not replay in the simulator, and is a run of the explorer: {problem}; {BUG}"
        ) from None


def as_text(result: Replayed) -> str:
    """What is printed: a line a step, the verdict, the digest."""
    from traces.explain.folding import folded
    from traces.replay.replay import happened

    width = len(str(len(result.steps)))
    lines = [folded(happened(step), f"{step.number:>{width}}  ") for step in result.steps]
    return "\n".join(
        [*lines, "", folded(result.sentence, others="  "), f"canonical dump at the end: sha256 {result.sha256}"]
    )


def as_json_value(path: Path, trace: Trace, result: Replayed) -> dict[str, Any]:
    """What a machine is told."""
    from traces.replay.replay import happened

    return {
        "format": 1,
        "trace": str(path),
        "configuration": trace.configuration.as_dict(),
        "replayed": True,
        "sentence": result.sentence,
        "property": result.property_name or None,
        "breaks_at": len(result.steps) if result.property_name else None,
        "lasso": None if result.lasso is None else result.lasso.as_dict(),
        "steps": [happened(step) for step in result.steps],
        "sha256": result.sha256,
    }
