"""`zabcheck` without a subcommand: explore a protocol and report."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands.again import again_reduced, first_limits, not_begun, outgrown, reduction_off
from checker.commands.common import NO_VERDICT, Cannot, check_writable, complain, near, protocol_named, say, write_file
from checker.commands.engines import every_step, out_of_time, ready_in_time, run_engine
from checker.commands.live import live, refuse_what_goals_have_not
from checker.commands.mutate import mutate, refuse_what_mutants_have_not
from checker.commands.search import refuse_what_a_search_has_not, search

if TYPE_CHECKING:
    from checker.explore.compiled import Compiled
    from checker.explore.result import Exploration, Limits
    from checker.report.report import Counterexample, Report
    from checker.symbolic.extension import Z3Answer
    from invariants.registry import Property
    from traces import Trace
    from zabspec.model import Configuration, Model

__all__ = ["answer", "explore"]

LITERAL = "invariant-5-literal"


def explore(options: Mapping[str, Any]) -> int:
    """The command without a subcommand: explore, report; returns the exit code.

    Raises:
        UsageError: the question was wrong.
    """
    refuse_what_mutants_have_not(options)
    refuse_what_goals_have_not(options)
    if options["live"]:
        return live(options)
    refuse_what_a_search_has_not(options)
    if options["search"] is not None:
        return search(options)
    if options.get("mutate") is not None:
        return mutate(options)
    return publish(answer(options), options)


def answer(options: Mapping[str, Any]) -> Report:
    """Explore, and make the counterexamples; nothing is printed.

    Raises:
        UsageError: the question was wrong.
        Cannot: there is no answer.
    """
    options = {**options, "reduction": options.get("reduction") or "auto"}
    refuse_contradictions(options)
    protocol_named(options["protocol"])
    judged = chosen_properties(options["names"], options["protocol"])
    required = required_witnesses(options["required"], [p.name for p in judged])
    configuration = configured(options, literal=any(p.name == LITERAL for p in judged))
    for option in ("junit", "html", "trace"):
        if options[option] is not None:
            check_writable(options[option], f"--{option}", regular=option == "trace")

    from checker.explore.result import Limits
    from checker.report.report import Report
    from zabspec.model import Model

    model = Model(configuration)
    limits = Limits(options["depth"], options["max_states"], options["time_limit"], options["memory_limit"])
    exploration, threads, symmetry_off = explored(model, judged, limits, options)
    found = exploration.violations
    return Report(
        exploration,
        configuration,
        limits,
        model.epochs,
        model.channels,
        options["keep_going"],
        threads,
        symmetry_off,
        {name: counterexample(model, exploration, name, trace_path(options, found, name)) for name in found},
        asked_of_z3(configuration, judged, exploration, options),
        required,
        "" if exploration.reduced else reduction_off(model, limits, options) or not_begun(exploration),
        run_to_error(model, exploration, options),
        vacuous(model, judged),
    )


def vacuous(model: Model, judged: Sequence[Property]) -> dict[str, str]:
    """Which of the properties judged can never be False, each with its line."""
    from invariants.binding import full_namespace
    from zabspec.language.frontend import FrontEnd
    from zabspec.own.vacuous import never_false

    if model.protocol.text is None:
        return {}
    program = model.program
    front = FrontEnd(program.layout, full_namespace(model), program.types, program.handlers)
    found = never_false(model, [p.holds.__name__ for p in judged], front)
    return {p.name: found[p.holds.__name__] for p in judged if p.holds.__name__ in found}


def asked_of_z3(
    configuration: Configuration, judged: Sequence[Property], exploration: Exploration, options: Mapping[str, Any]
) -> dict[str, Z3Answer]:
    """What z3 says of the properties that were not broken, if --symbolic asks; after Ctrl-C, that nothing
    is decided: the report of the exploration is there all the same."""
    if options["symbolic"] is None:
        return {}
    from checker.symbolic.extension import UNDECIDED, Z3Answer, z3_answers

    unbroken = [p for p in judged if p.name not in exploration.violations]
    try:
        return z3_answers(configuration, unbroken, options["symbolic"], options["threads"] or 0)
    except KeyboardInterrupt:
        complain("interrupted; z3 has decided nothing")
        return {p.name: Z3Answer(UNDECIDED, interrupted=True) for p in unbroken}


def explored(
    model: Model,
    judged: Sequence[Property],
    limits: Limits,
    options: Mapping[str, Any],
    compiled: Callable[[Model, Sequence[Property], bool, bool], tuple[Compiled, str]] | None = None,
) -> tuple[Exploration, int, str]:
    """Run the engine asked for, once for each group of properties that it can judge at once; returns what it found, on
    how many threads (0: not applicable), and why symmetry was not used (empty: it was).

    Args:
        compiled: what makes machine code of a model, where several explorations share it; None: `Compiled.of`.

    Raises:
        UsageError: one checkpoint is to keep several explorations.
    """
    from dataclasses import replace

    from checker.explore.groups import groups_of, joined

    groups = groups_of(judged)
    found: list[tuple[Exploration, int, str]] = []
    if len(groups) > 1:
        if options.get("checkpoint") is not None:
            most = len(groups[0])
            raise click.UsageError(f"--checkpoint goes with at most {most} properties; name them with --property")
        options = {**options, "reduction": reduction_of_several(model, judged, options)}
    for group in groups:
        left = limits
        if limits.seconds is not None and found:
            spent = sum(r.seconds + r.compile_seconds for r, _, _ in found)
            left = replace(limits, spent=min(spent, limits.seconds - 0.01))
        found.append(explored_once(model, group, left, options, compiled))
    together = [r for r, _, _ in found]
    why = next((why for _, _, why in found if why), "")
    whole = together[0] if len(found) == 1 else joined(together, judged, options["keep_going"])
    return whole, found[0][1], why


def reduction_of_several(model: Model, judged: Sequence[Property], options: Mapping[str, Any]) -> str:
    """The reduction with which properties are judged in several explorations. These have to go through the same states,
    since one depth is reported for all: so at most stuttering receipts are left out, and in all of them or in none."""
    from checker.explore.stuttering import why_every_receipt
    from invariants.binding import full_namespace
    from zabspec.language.frontend import FrontEnd

    program = model.program
    front = FrontEnd(program.layout, full_namespace(model), program.types, program.handlers)
    return "none" if every_step(options) or why_every_receipt(model, judged, front) else "stuttering"


def explored_once(
    model: Model,
    judged: Sequence[Property],
    limits: Limits,
    options: Mapping[str, Any],
    compiled: Callable[[Model, Sequence[Property], bool, bool], tuple[Compiled, str]] | None = None,
) -> tuple[Exploration, int, str]:
    """`explored`, for as many properties as an engine can judge at once."""
    import time
    from dataclasses import replace

    from checker.explore.compiled import Compiled

    started = time.perf_counter()
    compiled = compiled or Compiled.of
    symmetry_off = "--no-symmetry" if options["no_symmetry"] else ""
    engine: Any
    exploration: Exploration
    early = failed_at_start(model, judged, options["engine"])
    if early is not None:
        return early, 0, symmetry_off
    if limits.seconds is not None and not ready_in_time(model, judged, limits.seconds - limits.spent, options):
        return out_of_time(judged, limits, options["engine"]), 0, symmetry_off
    if options["engine"] == "spark":
        spent = limits.spent + time.perf_counter() - started
        exploration, asymmetry = on_spark(model, judged, replace(limits, spent=spent), options)
        exploration.compile_seconds = time.perf_counter() - started - exploration.seconds
        return exploration, 0, symmetry_off or asymmetry
    if options["engine"] == "interpret":
        from checker.explore.interpret import Interpreter

        if not symmetry_off:  # whether it is sound is found out in the compiled world, for both engines
            symmetry_off = compiled(model, judged, True, every_step(options))[1]
        engine, threads = Interpreter(model, judged, not symmetry_off, every_step(options)), 0
    else:
        from checker.explore.breadth_first import Explorer

        code, asymmetry = compiled(model, judged, not symmetry_off, every_step(options))
        symmetry_off = symmetry_off or asymmetry
        engine = Explorer(code, options["threads"] or 0)
        threads = engine.threads
    ready = time.perf_counter() - started
    limits = replace(limits, spent=limits.spent + ready)
    reduce = not reduction_off(model, limits, options)
    exploration = run_engine(engine, first_limits(limits) if reduce else limits, options)
    exploration.compile_seconds += ready
    if reduce and outgrown(exploration, limits):
        exploration = again_reduced(code, engine, exploration, limits, options, started)
    return exploration, threads, symmetry_off


def failed_at_start(model: Model, judged: Sequence[Property], engine: str) -> Exploration | None:
    """The exploration of a model whose initial state meets a run-time error; None: it meets none."""
    from zabspec.language.reference import ERRORS, range_error

    try:
        model.program.initial()
    except ERRORS as problem:
        from checker.explore.failing import note_failure
        from checker.explore.result import Exploration
        from traces.record.failure import of_author

        r = Exploration(tuple(judged), engine=engine, levels=[1], raw_levels=[1], expanded_levels=-1)
        note_failure(r, model, (), str(range_error(problem, "the initial state")), of_author(problem))
        return r
    return None


def check_initial(model: Model) -> None:
    """
    Raises:
        Cannot: a value would leave its range before any step is taken.
    """
    from zabspec.language.reference import ERRORS, range_error

    try:
        model.program.initial()
    except ERRORS as problem:
        said = range_error(problem, "the initial state")
        raise Cannot(f"no verdict: a value would leave its range: {said}") from None


def on_spark(
    model: Model, judged: Sequence[Property], limits: Limits, options: Mapping[str, Any]
) -> tuple[Exploration, str]:
    """Explore on Spark; returns what was found, and why symmetry was not used although it was asked for.

    Raises:
        UsageError: there is no Spark, or the checkpoint does not go with the question.
        Cannot: it broke before anything was found.
    """
    from checker.report.progress import ProgressLine
    from traces.spark import NoSpark, SparkFailed
    from traces.spark.session import LOCAL, check_installed, is_local

    master, folder = options["master"] or LOCAL, options["checkpoint"]
    if folder is None and not is_local(master):
        raise click.UsageError(f"--master {master} needs --checkpoint: a folder that all its machines can reach")
    try:
        check_installed("numpy")
        from checker.distributed.checkpoint import Refused
        from checker.distributed.run import Request, explore_on_spark
        from checker.distributed.storage import StorageError
    except NoSpark as problem:
        raise click.UsageError(str(problem)) from None
    wide = options["fingerprint"] == "128"
    request = Request(master, folder, options["resume"], wide, every_step=every_step(options))
    try:
        with ProgressLine() as progress:
            exploration, asymmetry = explore_on_spark(
                model.configuration,
                judged,
                not options["no_symmetry"],
                limits,
                options["keep_going"],
                request,
                progress,
            )
    except (NoSpark, Refused, StorageError) as problem:
        raise click.UsageError(str(problem)) from None
    except SparkFailed as problem:
        raise Cannot(str(problem)) from None
    if exploration.stopped and folder is not None:
        complain(f"the checkpoint {folder} is at depth {exploration.expanded_levels}; --resume goes on from it")
    return exploration, asymmetry


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
    for option in ("junit", "html"):
        trouble = write_file(options[option], written(report, option)) if options[option] is not None else ""
        if trouble:
            complain(trouble)
            code = NO_VERDICT
    return code


def written(report: Report, option: str) -> bytes:
    """The report as JUnit, or as a page.

    Raises:
        Cannot: a counterexample does not replay, which has been said.
    """
    if option == "junit":
        from checker.report.junit import junit_xml

        return junit_xml(report)
    from checker.report.page import ReportError, page_of

    try:
        return page_of(report.as_json()).encode()
    except ReportError as problem:
        raise Cannot(str(problem)) from None


# --- the question ------------------------------------------------------------------------------


def refuse_contradictions(options: Mapping[str, Any]) -> None:
    """
    Raises:
        UsageError: two options contradict each other, or one has no such value.
    """
    if options["engine"] not in ("compiled", "interpret", "spark"):
        raise click.UsageError(f"there is no engine {options['engine']!r}; there are compiled, interpret and spark")
    if options["engine"] == "spark":
        for option in ("threads", "memory_limit"):
            if options[option] is not None:
                raise click.UsageError(
                    f"--{option.replace('_', '-')} does not go with --engine spark: Spark's own settings say"
                )
    else:
        for option in ("master", "fingerprint"):
            if options[option]:
                raise click.UsageError(f"--{option} is for --engine spark")
        if options["checkpoint"] is not None and options["engine"] == "interpret":
            raise click.UsageError("--checkpoint does not go with --engine interpret")
    if options["resume"] and options["checkpoint"] is None:
        raise click.UsageError("--resume needs --checkpoint, the folder to go on from")
    if options["engine"] == "interpret" and options["threads"] is not None:
        raise click.UsageError("--threads does not go with --engine interpret, which has one")
    if options["trace"] is not None and options["no_trace"]:
        raise click.UsageError("--trace and --no-trace contradict each other")
    if options["trace"] is not None and options["trace"] == options["junit"]:
        raise click.UsageError("--trace and --junit name the same file")
    if options["html"] is not None and options["html"] in (options["trace"], options["junit"]):
        raise click.UsageError("--html names the same file as --trace or --junit")


def chosen_properties(names: Sequence[str], protocol: str) -> list[Property]:
    """The properties named, or all that are judged by default.

    Raises:
        UsageError: there is no such property, or it is named twice.
    """
    from invariants import NO_RUNTIME_ERROR, properties_of, property_named

    known, chosen = properties_of(protocol), []
    for name in names:
        if names.count(name) > 1:
            raise click.UsageError(f"--property {name} is given twice")
        try:
            chosen.append(property_named(name, known))
        except KeyError:
            hint = near(name, [p.name for p in known]) or f"; {properties_command(protocol)} lists them"
            raise click.UsageError(f"there is no property {name!r}{hint}") from None
        if not chosen[-1].judges(protocol):
            raise click.UsageError(
                f"{name} speaks of the state of {' and '.join(chosen[-1].protocols)}, not of {protocol}"
            )
    usual = [p for p in known if p.default and p.judges(protocol)]
    if NO_RUNTIME_ERROR in chosen:  # it is built in, and always checked
        return [p for p in chosen if p != NO_RUNTIME_ERROR]
    if not chosen and not usual:
        raise click.UsageError(f"{protocol} claims no property: mark one with @safety(witness=...)")
    return chosen or usual


def properties_command(protocol: str) -> str:
    """What lists the properties of a protocol."""
    from zabspec.own.open import is_elsewhere

    return f"`zabcheck properties --protocol {protocol}`" if is_elsewhere(protocol) else "`zabcheck properties`"


def required_witnesses(given: Sequence[str], judged: Sequence[str]) -> list[str]:
    """The properties whose premise has to be reached.

    Raises:
        UsageError: one is not judged.
    """
    names = [name.strip() for words in given for name in words.split(",")]
    for name in names:
        if name not in (*judged, "all"):
            hint = near(name, judged) or f"; there are all, {', '.join(judged)}"
            raise click.UsageError(f"--require-witness {name}: no such property is judged{hint}")
    return list(judged) if "all" in names else names


def configured(options: Mapping[str, Any], literal: bool) -> Configuration:
    """
    Raises:
        UsageError: there is no such configuration.
    """
    from zabspec.model import ConfigError, Configuration
    from zabspec.worlds.steps import BUDGETS

    values = {name: options[name] for name in ("protocol", "variant", "nodes", "txns")}
    values["network"] = options.get("network", "")
    values["start"] = options.get("start", "")
    values["budgets"] = ",".join(options.get("own_budgets", ()))
    values |= {name: options[name] for name in BUDGETS if options.get(name) is not None}
    protocol, variant = protocol_named(options["protocol"]), options["variant"]
    for name in variant.replace("+", ",").split(",") if variant else ():
        if name.strip() not in protocol.variants:
            whose = "" if protocol.name == "zab" else f" of {protocol.name}"
            listed = f" --protocol {protocol.name}" if protocol.text is not None else ""
            hint = near(name, protocol.variants) or f"; `zabcheck variants{listed}` lists them"
            raise click.UsageError(f"there is no variant {name!r}{whose}{hint}")
    try:
        if release := options.get("release", ""):
            from checker.zookeeper.releases import variant_of

            variant = ",".join(filter(None, (variant_of(protocol.name, release), variant)))
        values["variant"] = protocol.combined(variant, options.get("repair", ""))
        return Configuration(
            **values,
            literal=literal,
            max_epoch=options["max_epoch"] or 0,
            channel=options["channel"] or 0,
            promises=options.get("reduction") in (None, "auto"),
        )
    except ConfigError as problem:
        raise click.UsageError(str(problem)) from None


# --- counterexamples ---------------------------------------------------------------------------


def trace_path(options: Mapping[str, Any], found: Iterable[str], name: str) -> Path | None:
    """Where a property's counterexample is saved. A file named with --trace takes the first one;
    with --keep-going, and for others of the same level, the property is put into its name."""
    if options["no_trace"]:
        return None
    given: Path | None = options["trace"]
    if given is None:
        changed = ",".join(filter(None, (options["variant"], options.get("repair", ""))))
        called = changed.replace(",", "+").replace(" ", "") or Path(options["protocol"]).stem
        return Path(f"zabcheck-{called}-{name}.trace.json")
    if not options["keep_going"] and name == next(iter(found)):
        return given
    stem, suffix = given.name, ""
    for ending in (".trace.json", given.suffix):
        if ending and stem.endswith(ending):
            stem, suffix = stem.removesuffix(ending), ending
            break
    return given.with_name(f"{stem}-{name}{suffix}")


def run_to_error(model: Model, exploration: Exploration, options: Mapping[str, Any]) -> Counterexample | None:
    """The run to the run-time error that ended an exploration without a verdict, held against the other worlds and
    saved; None: there is none, or none is known (what CPython's integers have room for, machine words may not)."""
    if exploration.failed or exploration.error_run is None:
        return None
    from traces import TraceError
    from traces.record.runner import failing_trace

    try:
        trace = failing_trace(model, exploration.error_run, False, exploration.properties)
    except TraceError:
        return None
    return held_and_saved(trace, "no-room", trace_path(options, ["no-room"], "no-room"))


def counterexample(model: Model, exploration: Exploration, name: str, path: Path | None) -> Counterexample:
    """A violation's trace, held against the other worlds and saved."""
    found = exploration.violations[name]
    return counterexample_of(model, found.property, found.schedule, path)


def counterexample_of(model: Model, prop: Property, schedule: Sequence[int], path: Path | None) -> Counterexample:
    """Build the trace of a schedule that breaks a property, hold it against the interpreted world, replay it in the
    simulator, and save it."""
    from checker.report.report import Counterexample
    from traces import TraceError, build_trace

    try:
        trace = build_trace(model, prop, schedule)
    except TraceError as problem:
        words = " ".join(f"{word:#x}" for word in schedule)
        trouble = (
            f"the counterexample to {prop.name} does not replay in the interpreted world ({problem}; steps {words})"
        )
        return Counterexample(trouble=f"{trouble}: a bug of zabcheck, please report it", replayed=False)
    return held_and_saved(trace, prop.name, path)


def held_and_saved(trace: Trace, name: str, path: Path | None) -> Counterexample:
    """Hold a trace against the interpreted world, replay it in the simulator, and save it."""
    from checker.report.report import Counterexample
    from traces import TraceError, to_text, verify, why, write_trace
    from traces.replay.replay import replay

    try:
        verify(trace)
    except TraceError as problem:
        words = " ".join(f"{word:#x}" for word in trace.schedule)
        trouble = f"the counterexample to {name} does not replay in the interpreted world ({problem}; steps {words})"
        return Counterexample(trouble=f"{trouble}: a bug of zabcheck, please report it", replayed=False)
    text, reason = to_text(trace), why(trace)
    try:
        digest = replay(trace).sha256
    except TraceError as problem:
        trouble = f"the counterexample to {name} does not replay in the simulator ({problem})"
        if path is not None:
            with contextlib.suppress(TraceError):
                write_trace(trace, path)
                trouble += f"; it is in {path}"
        trouble += ": a bug of zabcheck, please report it"
        return Counterexample(text, reason, trouble=trouble, replayed=False, trace=trace)
    if path is None:
        return Counterexample(text, reason, digest=digest, trace=trace)
    try:
        write_trace(trace, path)
    except TraceError as problem:
        return Counterexample(text, reason, trouble=str(problem), digest=digest, trace=trace)
    return Counterexample(text, reason, str(path), digest=digest, trace=trace)
