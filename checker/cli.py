"""The command `zabcheck`.

Every command ends with 0 (all held), 1 (a violation was found and written down), 2 (the question
was wrong: one sentence on stderr, nothing on stdout) or 3 (no verdict, or it could not be written
down). Imports are made where they are needed, so that a small question is answered at once.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import math
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

if TYPE_CHECKING:
    from checker.report import Counterexample, Report
    from checker.result import Exploration, Limits
    from invariants.registry import Property
    from zabspec.model import Configuration, Model

__all__ = ["main"]

HELD, WRONG, NO_VERDICT = 0, 2, 3
UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
FORMATS = ("text", "json", "itf", "mermaid")
LITERAL = "invariant-5-literal"

EXAMPLES = """\b
Examples:
  zabcheck --nodes 3 --depth 20            to depth 20, with the default budgets
  zabcheck --nodes 3 --txns 1 --timeouts 1 --crashes 0 --losses 0
                                           every state there is
  zabcheck --variant no-promise            a rule of the protocol changed
  zabcheck --property agreement --json     one property, a report for machines
  zabcheck --network lossy --drops 1 --keep-going
                                           the shortest run for each property that breaks
  zabcheck export run.trace.json --to mermaid
  zabcheck variants
"""


class Cannot(click.ClickException):
    """The answer is there and could not be given: exit 3, with a sentence."""

    exit_code = NO_VERDICT


class Commands(click.Group):
    """The group, with the house's ways to end: one sentence for an error, silence where nobody
    reads on, and no traceback for Ctrl-C."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        refuse_repeats(self, ctx, args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Cannot("interrupted; there is no verdict") from None

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> NoReturn:  # type: ignore[override]
        """Run the command; ends the process."""
        extra["standalone_mode"] = False
        try:
            code = super().main(args, prog_name or "zabcheck", **extra)
            sys.stdout.flush()
        except click.ClickException as problem:
            complain(problem.format_message())
            code = problem.exit_code
        except (click.Abort, KeyboardInterrupt):
            complain("interrupted; there is no verdict")
            code = NO_VERDICT
        except MemoryError:
            complain("out of memory")
            code = NO_VERDICT
        except BrokenPipeError:
            hush()
            code = NO_VERDICT
        except OSError as problem:
            if problem.errno not in (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG, errno.ENOMEM):
                raise
            hush()
            complain(problem.strerror or "the system refused")
            code = NO_VERDICT
        sys.exit(code if isinstance(code, int) else HELD)


def complain(sentence: str) -> None:
    """One sentence on stderr."""
    with contextlib.suppress(OSError):
        click.echo(f"zabcheck: {' '.join(sentence.split())}", err=True)


def hush() -> None:
    """Stop writing to stdout: what the interpreter would flush at its end goes nowhere."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str, code: int) -> int:
    """Write the answer on stdout; returns the exit code.

    A reader that has gone away (`| head`) changes nothing; a full disk is exit 3.
    """
    try:
        click.echo(text, nl=not text.endswith("\n"))
        sys.stdout.flush()
    except BrokenPipeError:
        hush()
    except OSError as problem:
        hush()
        complain(f"cannot write to stdout: {problem.strerror}; what was found: {text.splitlines()[0]}")
        return NO_VERDICT
    return code


def refuse_repeats(command: click.Command, ctx: click.Context, args: list[str]) -> None:
    """Two values for one option contradict each other.

    Raises:
        UsageError: an option that takes one value is given twice.
    """
    given = command.make_parser(ctx).parse_args(list(args))[2]
    for parameter in given:
        once = isinstance(parameter, click.Option) and not parameter.multiple and not parameter.is_flag
        if once and given.count(parameter) > 1:
            raise click.UsageError(f"{parameter.opts[0]} is given twice", ctx)


class Subcommand(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        refuse_repeats(self, ctx, args)
        return super().parse_args(ctx, args)


# --- values of options -------------------------------------------------------------------------


def at_least(least: int) -> Callable[[click.Context, click.Parameter, int | None], int | None]:
    """Checks a whole number; errors name the option."""

    def check(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
        if value is not None and value < least:
            raise click.UsageError(f"{param.opts[0]} must be {least} or more, not {value}", ctx)
        return value

    return check


def size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """An amount of memory, in bytes: 4G, 512M, or bytes."""
    if value is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([KMGT]?)(?:i?B)?", value.strip(), re.IGNORECASE | re.ASCII)
    amount = int(float(found[1]) * (1 << UNITS[found[2].upper()])) if found and len(value) < 30 else 0
    if amount < 1:
        raise click.UsageError(f"{param.opts[0]} must be a size like 512M or 4G, not {value!r}", ctx)
    return amount


def seconds(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """A time that can be waited for."""
    if value is not None and not (math.isfinite(value) and value > 0):
        raise click.UsageError(f"{param.opts[0]} must be a number of seconds above 0, not {value:g}", ctx)
    return value


PATH = click.Path(path_type=Path)


# --- explore -----------------------------------------------------------------------------------


@click.group(cls=Commands, invoke_without_command=True, epilog=EXAMPLES, context_settings={"max_content_width": 110})
@click.option("--protocol", default="zab", show_default=True, metavar="NAME", help="What is explored.")
@click.option(
    "--variant", default="", metavar="NAME", help="The protocol with one rule changed; see `zabcheck variants`."
)
@click.option("--nodes", default=3, show_default=True, help="Processes.")
@click.option("--txns", default=2, show_default=True, help="Transactions that may be abcast.")
@click.option("--timeouts", default=2, show_default=True, help="Spurious timeouts.")
@click.option("--crashes", default=1, show_default=True, help="Crashes; recovery is free.")
@click.option("--losses", default=1, show_default=True, help="Lost connections.")
@click.option("--partitions", default=0, show_default=True, help="Cuts that lose every connection across them.")
@click.option(
    "--network", default="fifo", show_default=True, metavar="NAME", help="fifo, lossy, unordered or duplicating."
)
@click.option("--drops", default=0, show_default=True, help="Single messages lost (lossy).")
@click.option("--duplicates", default=0, show_default=True, help="Messages received twice (duplicating).")
@click.option(
    "--max-epoch", type=int, callback=at_least(1), help="Largest epoch; derived from the budgets if not given."
)
@click.option("--channel", type=int, callback=at_least(1), help="Messages a channel holds; derived if not given.")
@click.option("--depth", type=int, callback=at_least(0), help="How many steps deep; to exhaustion if not given.")
@click.option("--property", "names", multiple=True, metavar="NAME", help="Judge only this property (repeatable).")
@click.option("--keep-going", is_flag=True, help="Go on past violations: the shortest for every property.")
@click.option("--no-symmetry", is_flag=True, help="Count states that are renamings of each other apart.")
@click.option(
    "--engine",
    default="compiled",
    show_default=True,
    metavar="NAME",
    help="compiled, or interpret (slow, plain Python).",
)
@click.option("--threads", type=int, callback=at_least(1), help="Cores to use; all if not given.")
@click.option("--max-states", type=int, callback=at_least(1), help="Give up at so many distinct states.")
@click.option("--time-limit", type=float, callback=seconds, metavar="SECONDS", help="Give up after so long.")
@click.option("--memory-limit", callback=size, metavar="SIZE", help="Give up at so much memory, for example 4G.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
@click.option("--junit", type=PATH, metavar="FILE", help="Also write a JUnit report.")
@click.option("--trace", type=PATH, metavar="FILE", help="Where the counterexample is saved.")
@click.option("--no-trace", is_flag=True, help="Do not save the counterexample.")
@click.version_option(package_name="zabcheck", prog_name="zabcheck")
@click.pass_context
def main(ctx: click.Context, /, **options: Any) -> int:
    """Explore a protocol breadth-first and say which of the paper's properties hold.

    Exit codes: 0 all held, 1 a violation was found and written down, 2 the question was wrong,
    3 no verdict.
    """
    if ctx.invoked_subcommand is None:
        return explore(options)
    given = [
        p.opts[0]
        for p in ctx.command.params
        if p.name and ctx.get_parameter_source(p.name) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"{given[0]} is for an exploration and does not go with {ctx.invoked_subcommand}")
    return HELD


def explore(options: Mapping[str, Any]) -> int:
    """The command without a subcommand: explore, report; returns the exit code.

    Raises:
        UsageError: the question was wrong.
    """
    refuse_contradictions(options)
    judged = chosen_properties(options["names"])
    configuration = configured(options, literal=any(p.name == LITERAL for p in judged))
    for option in ("junit", "trace"):
        if options[option] is not None:
            check_writable(options[option], f"--{option}")

    from checker.report import Report
    from checker.result import Limits
    from zabspec.model import Model

    model = Model(configuration)
    limits = Limits(options["depth"], options["max_states"], options["time_limit"], options["memory_limit"])
    exploration, threads, symmetry_off = explored(model, judged, limits, options)
    found = exploration.violations
    report = Report(
        exploration,
        configuration,
        limits,
        model.epochs,
        model.channels,
        options["keep_going"],
        threads,
        symmetry_off,
        {name: counterexample(model, exploration, name, trace_path(options, found, name)) for name in found},
    )
    return publish(report, options)


def explored(
    model: Model, judged: Sequence[Property], limits: Limits, options: Mapping[str, Any]
) -> tuple[Exploration, int, str]:
    """Run the engine asked for; returns what it found, on how many threads (0: not applicable),
    and why symmetry was not used (empty: it was)."""
    import time

    from checker.compiled import Compiled
    from checker.progress import ProgressLine

    started = time.perf_counter()
    symmetry_off = "--no-symmetry" if options["no_symmetry"] else ""
    engine: Any
    if options["engine"] == "interpret":
        from checker.interpret import Interpreter

        if not symmetry_off:  # whether it is sound is found out in the compiled world, for both engines
            symmetry_off = Compiled.of(model, judged, True)[1]
        engine, threads = Interpreter(model, judged, not symmetry_off), 0
    else:
        from checker.explore import Explorer

        code, asymmetry = Compiled.of(model, judged, not symmetry_off)
        symmetry_off = symmetry_off or asymmetry
        engine = Explorer(code, options["threads"] or 0)
        threads = engine.threads
    ready = time.perf_counter() - started
    if sys.stderr.isatty():
        with ProgressLine() as progress:
            exploration: Exploration = engine.run(limits, options["keep_going"], progress)
    else:
        exploration = engine.run(limits, options["keep_going"])
    exploration.compile_seconds = ready
    return exploration, threads, symmetry_off


def publish(report: Report, options: Mapping[str, Any]) -> int:
    """Write the report everywhere it is wanted; returns the exit code."""
    code = report.exit_code
    if options["as_json"]:
        import json

        code = say(json.dumps(report.as_json(), indent=1), code)
    elif sys.stdout.isatty():
        from rich.console import Console

        report.show(Console(highlight=False))
    else:
        code = say(report.text(), code)
    for c in report.counterexamples.values():
        if c.trouble:
            complain(c.trouble)
    if options["junit"] is not None:
        from checker.junit import junit_xml

        trouble = write_file(options["junit"], junit_xml(report))
        if trouble:
            complain(trouble)
            code = NO_VERDICT
    return code


# --- the question ------------------------------------------------------------------------------


def near(name: str, names: Iterable[str]) -> str:
    """What a wrong name may have meant, as the end of a sentence."""
    found = difflib.get_close_matches(name, list(names), 3, 0.5)
    return f"; did you mean {' or '.join(found)}?" if found else ""


def refuse_contradictions(options: Mapping[str, Any]) -> None:
    """
    Raises:
        UsageError: two options contradict each other, or one has no such value.
    """
    if options["engine"] not in ("compiled", "interpret"):
        raise click.UsageError(f"there is no engine {options['engine']!r}; there are compiled and interpret")
    if options["engine"] == "interpret" and options["threads"] is not None:
        raise click.UsageError("--threads does not go with --engine interpret, which has one")
    if options["trace"] is not None and options["no_trace"]:
        raise click.UsageError("--trace and --no-trace contradict each other")
    if options["trace"] is not None and options["trace"] == options["junit"]:
        raise click.UsageError("--trace and --junit name the same file")


def chosen_properties(names: Sequence[str]) -> list[Property]:
    """The properties named, or all that are judged by default.

    Raises:
        UsageError: there is no such property, or it is named twice.
    """
    from invariants import PROPERTIES, property_named

    chosen = []
    for name in names:
        if names.count(name) > 1:
            raise click.UsageError(f"--property {name} is given twice")
        try:
            chosen.append(property_named(name, PROPERTIES))
        except KeyError:
            hint = near(name, [p.name for p in PROPERTIES]) or "; `zabcheck properties` lists them"
            raise click.UsageError(f"there is no property {name!r}{hint}") from None
    return chosen or [p for p in PROPERTIES if p.default]


def configured(options: Mapping[str, Any], literal: bool) -> Configuration:
    """
    Raises:
        UsageError: there is no such configuration.
    """
    from zabspec.model import ConfigError, Configuration
    from zabspec.variants import VARIANTS

    same = ("protocol", "variant", "nodes", "txns", "timeouts", "crashes", "losses", "partitions", "network")
    values = {name: options[name] for name in (*same, "drops", "duplicates")}
    variant = options["variant"]
    if variant and variant not in VARIANTS:
        hint = near(variant, VARIANTS) or "; `zabcheck variants` lists them"
        raise click.UsageError(f"there is no variant {variant!r}{hint}")
    try:
        return Configuration(
            **values, literal=literal, max_epoch=options["max_epoch"] or 0, channel=options["channel"] or 0
        )
    except ConfigError as problem:
        raise click.UsageError(str(problem)) from None


# --- files -------------------------------------------------------------------------------------


def check_writable(path: Path, option: str) -> None:
    """
    Raises:
        UsageError: the file cannot be written, as far as can be known without writing it.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        folder = path.parent
        if not folder.is_dir():
            raise click.UsageError(f"{option} {path}: there is no folder {folder}") from None
        if not os.access(folder, os.W_OK):
            raise click.UsageError(f"{option} {path}: the folder {folder} cannot be written") from None
        return
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise click.UsageError(f"{option} {path}: {reason}") from None
    if stat.S_ISDIR(mode):
        raise click.UsageError(f"{option} {path}: this is a folder")
    if option == "--trace" and not stat.S_ISREG(mode):
        # a trace is written beside its place and moved there, which would replace a device
        raise click.UsageError(f"{option} {path}: this is not a regular file; --no-trace saves nothing")
    if not os.access(path, os.W_OK):
        raise click.UsageError(f"{option} {path}: permission denied")


def write_file(path: Path, data: bytes) -> str:
    """Write a file, whole or not at all where it is a regular one; returns what went wrong."""
    regular = not path.exists() or path.is_file()
    target = path.with_name(f".{path.name}.{os.getpid()}.new") if regular else path
    try:
        target.write_bytes(data)
        if regular:
            os.replace(target, path)
    except OSError as problem:
        if regular:
            with contextlib.suppress(OSError):
                target.unlink(missing_ok=True)
        return f"cannot write {path}: {problem.strerror}"
    return ""


def trace_path(options: Mapping[str, Any], found: Iterable[str], name: str) -> Path | None:
    """Where a property's counterexample is saved. A file named with --trace takes the first one;
    with --keep-going, and for others of the same level, the property is put into its name."""
    if options["no_trace"]:
        return None
    given: Path | None = options["trace"]
    if given is None:
        return Path(f"zabcheck-{options['variant'] or options['protocol']}-{name}.trace.json")
    if not options["keep_going"] and name == next(iter(found)):
        return given
    stem, suffix = given.name, ""
    for ending in (".trace.json", given.suffix):
        if ending and stem.endswith(ending):
            stem, suffix = stem.removesuffix(ending), ending
            break
    return given.with_name(f"{stem}-{name}{suffix}")


def counterexample(model: Model, exploration: Exploration, name: str, path: Path | None) -> Counterexample:
    """Build a violation's trace, hold it against the interpreted world, and save it."""
    from checker.report import Counterexample
    from traces import TraceError, build_trace, to_text, verify, why, write_trace

    found = exploration.violations[name]
    try:
        trace = build_trace(model, found.property, found.words)
        verify(trace)
    except TraceError as problem:
        words = " ".join(f"{word:#x}" for word in found.words)
        trouble = f"the counterexample to {name} does not replay in the interpreted world ({problem}; steps {words})"
        return Counterexample(trouble=f"{trouble}: a bug of zabcheck, please report it", replayed=False)
    text, reason = to_text(trace), why(trace)
    if path is None:
        return Counterexample(text, reason)
    try:
        write_trace(trace, path)
    except TraceError as problem:
        return Counterexample(text, reason, trouble=str(problem))
    return Counterexample(text, reason, str(path))


# --- the other commands ------------------------------------------------------------------------


@main.command(cls=Subcommand)
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


@main.command(cls=Subcommand)
def variants() -> int:
    """The protocol's variants: one rule changed in each."""
    from zabspec.variants import VARIANTS

    rows = []
    for name, v in VARIANTS.items():
        budget = " ".join(f"--{field.replace('_', '-')} {value}" for field, value in v.budget.items())
        rows.append((name, v.rule, "holds" if v.safe else ", ".join(v.breaks), budget, " ".join(v.summary.split())))
    return table(("variant", "rule", "breaks", "shown within", "what is changed"), rows)


@main.command(cls=Subcommand)
def properties() -> int:
    """The properties, where the papers state them, and the premise that puts each to the test."""
    from invariants import PROPERTIES

    rows = []
    for p in PROPERTIES:
        name = p.name if p.default else f"{p.name} (only if named)"
        rows.append((name, p.source, p.premise, " ".join(p.statement.split())))
    return table(("property", "source", "premise", "statement"), rows)


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> int:
    """Print rows: as a table on a terminal, aligned otherwise."""
    if not sys.stdout.isatty():
        from checker.report import aligned

        return say(aligned([head, *rows]), HELD)
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    out = Table(*head, box=SIMPLE_HEAD)
    for row in rows:
        out.add_row(*(Text(cell) for cell in row))
    Console().print(out)
    return HELD
