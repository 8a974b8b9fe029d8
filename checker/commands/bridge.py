"""`zabcheck bridge`: the executable protocol against the abstract one that the proof is about."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import (
    PATH,
    Cannot,
    Subcommand,
    at_least,
    budget_options,
    check_writable,
    complain,
    say,
    tell,
)
from checker.commands.common import seconds as in_seconds
from checker.commands.common import size as in_bytes
from checker.commands.explore import explored
from checker.commands.model_options import configured
from checker.commands.smt2 import NO_QUERIES, SMT2, queries_into
from zabspec.room import need_room

if TYPE_CHECKING:
    from checker.bridge.report import BridgeReport

__all__ = ["bridge"]

EXAMPLES = """\b
Examples:
  zabcheck bridge --crashes 0 --losses 0 --timeouts 1     every state there is
  zabcheck bridge --variant small-quorum --nodes 2        which guard of which action it breaks
  zabcheck bridge --depth 30 --json
"""


@click.command(cls=Subcommand, epilog=EXAMPLES)
@click.option("--variant", default="", metavar="NAME", help="zab with one rule changed; see `zabcheck variants`.")
@click.option("--nodes", default=3, show_default=True, help="Processes.")
@click.option("--txns", default=2, show_default=True, help="Transactions that may be abcast.")
@budget_options({"timeouts": 1, "crashes": 0, "losses": 0, "partitions": 0})
@click.option("--depth", type=int, callback=at_least(1), help="How many steps deep; to exhaustion if not given.")
@click.option("--keep-going", is_flag=True, help="Go on past failures: the shortest run for everything that fails.")
@click.option("--no-symmetry", is_flag=True, help="Count states that are renamings of each other apart.")
@click.option("--threads", type=int, callback=at_least(1), help="Cores to use; all if not given.")
@click.option("--max-states", type=int, callback=at_least(1), help="Give up at so many distinct states.")
@click.option("--time-limit", type=float, callback=in_seconds, metavar="SECONDS", help="Give up after so long.")
@click.option(
    "--memory-limit",
    callback=in_bytes,
    metavar="SIZE",
    help="Give up at so much memory, for example 4G; the machine's if not given.",
)
@SMT2
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
@click.option("--trace", type=PATH, metavar="FILE", help="Where the run that fails is saved; nowhere if not given.")
def bridge(**options: Any) -> int:
    """Check that every step of zab is a step of abstract ZAB, which `zabcheck prove` proves safe.

    Both are explored side by side: each transition must be an abstract action whose guard holds, or change nothing
    of the abstract state, and every clause of the proof's invariant must hold in every state.

    Exit codes: 0 it refines, 1 a step that does not was found, 2 the question was wrong, 3 no verdict.
    """
    if options["trace"] is not None:
        check_writable(options["trace"], "--trace", regular=True)
    with queries_into(options["smt2"], NO_QUERIES):
        report = checked(options)
    code = report.exit_code
    code = say(json.dumps(report.as_json(), indent=1), code) if options["as_json"] else tell(report.text(), code)
    if report.trouble:
        complain(report.trouble)
    return code


def checked(options: Mapping[str, Any]) -> BridgeReport:
    """Explore both protocols side by side.

    Raises:
        UsageError: the question was wrong.
    """
    every = {
        **options, "protocol": "zab", "max_epoch": 0, "channel": 0, "engine": "compiled",
    }  # fmt: skip
    configuration = configured(every, literal=False)

    from checker.bridge.failure import failure
    from checker.bridge.model import REFINES, Bridged
    from checker.bridge.report import BridgeReport
    from checker.explore.compiled import Compiled
    from checker.explore.result import Limits
    from checker.report.report import Report
    from invariants import NO_RUNTIME_ERROR
    from traces import TraceError
    from zabspec.model import ConfigError

    try:
        model = Bridged(configuration)
    except ConfigError as problem:
        raise click.UsageError(str(problem)) from None
    if options["time_limit"] is None:  # which counts this too
        make_ready(
            lambda: Compiled.of(model, model.properties, not options["no_symmetry"]), "both protocols in machine code"
        )
    limits = Limits(options["depth"], options["max_states"], options["time_limit"], options["memory_limit"])
    exploration, threads, symmetry_off = explored(model, model.properties, limits, every)
    exploration.violations.pop(
        NO_RUNTIME_ERROR.name, None
    )  # it ended the exploration, and is no step without refinement
    report = Report(
        exploration, configuration, limits, model.epochs, model.channels, options["keep_going"], threads, symmetry_off
    )
    names = sorted(exploration.violations, key=lambda name: (exploration.violations[name].depth, name != REFINES))
    try:
        code = Compiled(model, model.properties, exploration.symmetry) if names else None
        failures = {name: failure(code, exploration.violations[name]) for name in names if code is not None}
    except TraceError as problem:
        raise Cannot(f"the run that fails is not one of the interpreted world ({problem}): a bug of zabcheck") from None
    path, trouble = saved(failures[names[0]].trace, options["trace"]) if names else ("", "")
    return BridgeReport(model, report, failures, path, trouble)


def make_ready(work: Callable[[], object], what: str) -> None:
    """Compile, which is kept for whoever asks next. It takes seconds in which no signal would be seen, so it is done
    in a thread of its own; on Ctrl-C that is left behind, and the process ends where it stands (`ending`)."""
    from checker.report.progress import StatusLine

    need_room()
    problems: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as problem:
            problems.append(problem)

    worker = threading.Thread(target=run, daemon=True, name="compile")
    with StatusLine() as line:
        worker.start()
        while worker.is_alive():
            worker.join(0.2)
            if line.due():
                line.show(f"making the model ready: {what}")
    if problems:
        raise problems[0]


def saved(trace: Any, path: Path | None) -> tuple[str, str]:
    """Save a run, if that was asked for; its file, and what went wrong."""
    from traces import TraceError, write_trace

    if path is None:
        return "", ""
    try:
        write_trace(trace, path)
    except TraceError as problem:
        return "", str(problem)
    return str(path), ""
