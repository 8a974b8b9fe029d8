"""`zabcheck bmc`: bounded model checking with z3."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import (
    HELD,
    NO_VERDICT,
    PATH,
    PROTOCOL_HELP,
    VIOLATED,
    Cannot,
    Subcommand,
    at_least,
    budget_options,
    check_writable,
    complain,
    say,
    seconds,
    verified_trace,
)
from checker.commands.drawn import HTML, check_page, draw
from checker.commands.explore import chosen_properties, configured, counterexample
from checker.commands.smt2 import SMT2, queries_into
from zabspec.language.error_sites import met

if TYPE_CHECKING:
    from checker.report.report import Counterexample
    from checker.symbolic.bmc import Bounded
    from invariants.registry import Property
    from traces import Runner
    from zabspec.model import Configuration, Model

__all__ = ["bmc"]

LITERAL = "invariant-5-literal"
DEEPEST = 1000
# What may stand beside --from, whose trace has the configuration.
BESIDE_FROM = (
    "depth",
    "source",
    "names",
    "every",
    "time_limit",
    "query_limit",
    "seed",
    "as_json",
    "trace",
    "no_trace",
    "page",
)

EXAMPLES = """\b
Examples:
  zabcheck bmc --variant small-quorum --nodes 2 --txns 1 --timeouts 0 --crashes 0 --losses 0 --depth 12 --trace t.json
  zabcheck bmc --from t.json:9 --depth 4   from the state after step 9 of a saved trace
  zabcheck bmc --depth 8 --property agreement --time-limit 60
"""


@click.command(cls=Subcommand, epilog=EXAMPLES)
@click.option("--protocol", default="zab", show_default=True, metavar="NAME", help=PROTOCOL_HELP)
@click.option("--variant", default="", metavar="NAMES", help="The protocol with a rule changed, or several: a,b.")
@click.option("--repair", default="", metavar="NAMES", help="Rules repaired besides: variants that repair one, as a,b.")
@click.option("--nodes", type=int, help="Processes; as the protocol says if not given, 3.")
@click.option("--txns", type=int, help="Transactions that may be abcast; 2 if not given.")
@budget_options()
@click.option("--start", default="", metavar="NAME", help="Where runs begin, of what a protocol declares.")
@click.option("--network", default="", metavar="NAME", help="fifo, lossy, unordered, duplicating; datagrams, ordered.")
@click.option("--max-epoch", type=int, callback=at_least(1), help="Largest epoch; derived if not given.")
@click.option("--channel", type=int, callback=at_least(1), help="Messages a channel holds; derived if not given.")
@click.option(
    "--depth",
    required=True,
    type=int,
    callback=at_least(1),
    metavar="K",
    help="How deep: all runs of K steps, and some longer ones.",
)
@click.option("--from", "source", metavar="TRACE[:STEP]", help="Start from a state of a saved trace; its last.")
@click.option("--property", "names", multiple=True, metavar="NAME", help="Judge only this property (repeatable).")
@click.option(
    "--every", default=4, show_default=True, callback=at_least(1), metavar="N",
    help="Ask once in so many steps, and at the end; 1 finds what takes fewest rounds.",
)  # fmt: skip
@click.option(
    "--time-limit", default=600.0, show_default=True, callback=seconds, metavar="SECONDS", help="Give up after so long."
)
@click.option("--query-limit", type=float, callback=seconds, metavar="SECONDS", help="Time limit of each query.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of the solver.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
@click.option("--trace", type=PATH, metavar="FILE", help="Where the counterexample is saved.")
@click.option("--no-trace", is_flag=True, help="Do not save the counterexample.")
@SMT2
@HTML
def bmc(source: str | None, names: tuple[str, ...], **options: Any) -> int:
    """Ask z3 whether some run of at most K steps breaks a property.

    Exit codes: 0 none does, 1 one was found and written down, 2 the question was wrong, 3 no verdict.
    """
    end = time.perf_counter() + options["time_limit"]
    refuse(options)
    configuration, start = question(source, options)
    judged = of_every_state(chosen_properties(names, configuration.protocol), names)
    if any(p.name == LITERAL for p in judged) and not configuration.literal:
        raise click.UsageError(f"{LITERAL} is judged by `zabcheck --property {LITERAL}` only")

    from checker.report.progress import StatusLine
    from checker.symbolic.bmc import Bounds, check_in_time
    from zabspec.model import Model

    model = Model(configuration)
    state = state_after(model, start, judged)
    bounds = Bounds(
        options["depth"], options["every"], max(0.0, end - time.perf_counter()), options["query_limit"], options["seed"]
    )  # fmt: skip
    with queries_into(options["smt2"]), StatusLine() as status:
        found = check_in_time(model, judged, bounds, state, telling(status))
    return Answered(model, tuple(judged), start, found, options).publish()


def of_every_state(chosen: Sequence[Property], names: Sequence[str]) -> list[Property]:
    """The properties that z3 can be asked about: for those of terminal states it would have to say that every step is
    impossible. Of these the ones that nobody named are left out; the report lists what is judged.

    Raises:
        UsageError: one that was named is of terminal states.
    """
    from invariants.registry import TERMINAL

    for p in chosen:
        if p.of == TERMINAL and p.name in names:
            raise click.UsageError(f"{p.name} is asked of terminal states, and bmc looks for none: explore it")
    return [p for p in chosen if p.of != TERMINAL]


def telling(status: Any) -> Callable[[int, float], None]:
    """What is shown on a terminal while z3 works."""

    def tell(rounds: int, spent: float) -> None:
        if status.due():
            status.show(f"{rounds} rounds of steps, {spent:.0f} s")

    return tell


def refuse(options: Mapping[str, Any]) -> None:
    """
    Raises:
        UsageError: two options contradict each other, or one has no such value.
    """
    if options["trace"] is not None:
        if options["no_trace"]:
            raise click.UsageError("--trace and --no-trace contradict each other")
        check_writable(options["trace"], "--trace", regular=True)
    check_page(options["page"], [options["trace"]])
    if options["depth"] > DEEPEST:
        raise click.UsageError(f"--depth must be 1 to {DEEPEST}, not {options['depth']}: z3 is not asked about more")
    if not 0 <= options["seed"] < 2**32:
        raise click.UsageError(f"--seed must be 0 to 4294967295, not {options['seed']}")


def question(source: str | None, options: Mapping[str, Any]) -> tuple[Configuration, tuple[int, ...]]:
    """The configuration, and the steps that lead to where the runs start.

    Raises:
        UsageError: there is no such configuration, trace or step.
    """
    if source is None:
        from checker.symbolic.granted import sized

        return sized(configured({**options, "reduction": "none"}, literal=False)), ()
    context = click.get_current_context()
    for p in context.command.params:
        given = p.name and context.get_parameter_source(p.name) is click.core.ParameterSource.COMMANDLINE
        if given and p.name not in BESIDE_FROM:
            raise click.UsageError(f"{p.opts[0]} does not go with --from: the trace has its configuration")
    name, _, number = source.rpartition(":")
    at = int(number) if name and number.isascii() and number.isdigit() and len(number) < 10 else None
    path = Path(source if at is None else name)
    trace = verified_trace(path)
    words = tuple(step.word.word for step in trace.steps)
    if at is not None and at > len(words):
        raise click.UsageError(f"--from {source}: the trace has {len(words)} steps")
    return trace.configuration, words if at is None else words[:at]


def state_after(model: Model, words: Sequence[int], judged: Sequence[Property]) -> bytes:
    """The state after some steps.

    Raises:
        UsageError: a property is broken there, or on the way.
    """
    from traces import Runner

    runner = Runner(model)
    for word in words:
        runner.step(word)
        broken = [p.name for p in judged if breaks(runner, p)]
        if broken:
            earlier = f"--from ...:{runner.taken - 1}" if runner.taken > 1 else "the initial state"
            raise click.UsageError(f"step {runner.taken} of the trace breaks {', '.join(broken)}; start from {earlier}")
    return runner.state.key()


def breaks(runner: Runner, p: Property) -> bool:
    """Whether the state, or the step just taken, breaks a property; one that reads past an end says nothing of it."""
    from zabspec.language.reference import ERRORS

    try:
        return not runner.keeps(p)
    except ERRORS:
        return False


def first_broken(model: Model, start: Sequence[int], words: Sequence[int], judged: Sequence[Property]) -> Broken:
    """What a run first breaks, and where: z3 looks at the end of each round only.

    Raises:
        Cannot: it breaks nothing, or is no run: then z3 was told something else than the protocol.
    """
    from traces import Runner, TraceError
    from zabspec.language.reference import RangeError

    runner = Runner(model)
    try:
        for word in start:
            runner.step(word)
        for k, word in enumerate(words, 1):
            runner.step(word)
            broken = tuple(p for p in judged if breaks(runner, p))
            if broken:
                return Broken(broken, (*start, *words[:k]), k)
    except (TraceError, RangeError) as problem:
        raise Cannot(f"the run that z3 found is none ({problem}): a bug of zabcheck, please report it") from None
    raise Cannot("the run that z3 found breaks nothing: a bug of zabcheck, please report it")


@dataclass(frozen=True)
class Broken:
    """The properties that a run breaks at its last step, its steps from the initial state, and how
    many of them z3 found."""

    properties: tuple[Property, ...]
    schedule: tuple[int, ...]
    steps: int


class Answered:
    """What was found, for a person and for a machine."""

    def __init__(
        self,
        model: Model,
        judged: tuple[Property, ...],
        start: tuple[int, ...],
        found: Bounded,
        options: Mapping[str, Any],
    ) -> None:
        self.model, self.judged, self.start, self.found, self.options = model, judged, start, found, options
        self.broken: Broken | None = None
        self.counterexample: Counterexample | None = None
        if found.broken:
            self.broken = first_broken(model, start, found.schedule, judged)
            self.counterexample = self.replayed(self.broken)

    def replayed(self, broken: Broken) -> Counterexample:
        """The run as a trace, held against the CPython world, replayed in the simulator, and saved."""
        from checker.explore.result import Exploration, Found

        p = broken.properties[0]
        path: Path | None = None
        if not self.options["no_trace"]:
            c = self.model.configuration
            called = c.variant.replace(",", "+") or Path(c.protocol).stem
            path = self.options["trace"] or Path(f"zabcheck-{called}-{p.name}.trace.json")
        one = Exploration(self.judged, violations={p.name: Found(p, broken.schedule)})
        return counterexample(self.model, one, p.name, path)

    @property
    def code(self) -> int:
        if self.counterexample is not None:
            return VIOLATED if self.counterexample.replayed and not self.counterexample.trouble else NO_VERDICT
        return NO_VERDICT if self.found.reason or self.found.left_range else HELD

    @property
    def where(self) -> str:
        if not self.start:
            return "the initial state"
        return f"the state after step {len(self.start)} of the trace"

    @property
    def sentence(self) -> str:
        """The verdict."""
        f, spent = self.found, self.found.seconds[-1][1] if self.found.seconds else 0.0
        if self.broken is not None:
            names = ", ".join(p.name for p in self.broken.properties)
            steps = "1 step" if self.broken.steps == 1 else f"{self.broken.steps} steps"
            among = f"found among runs of {f.rounds} rounds, {spent:.1f} s"
            beside = f"; in another run {met(f.left_range)}" if f.left_range else ""
            return f"VIOLATED: {names} after {steps} from {self.where}, {among}{beside}"
        within = f"within {f.depth} steps" if f.depth != 1 else "within 1 step"
        if f.reason:
            so_far = f"nothing is violated {within} from {self.where}" if f.depth else "nothing was decided"
            return f"no verdict: {f.reason} before depth {self.options['depth']}; {so_far}"
        if f.left_range:
            return f"no verdict: {met(f.left_range)}; no other run violates a property {within}"
        return f"no violation {within} from {self.where}, {spent:.1f} s"

    def publish(self) -> int:
        """Write the answer; returns the exit code."""
        code = say(json.dumps(self.as_json(), indent=1) if self.options["as_json"] else self.text(), self.code)
        if self.counterexample is not None and self.counterexample.trouble:
            complain(self.counterexample.trouble)
        return max(code, draw(self.options["page"], self.counterexample.trace if self.counterexample else None))

    def text(self) -> str:
        from checker.report.report import bounds_of
        from traces.explain.folding import fitted

        lines = [self.sentence, bounds_of(self.model.configuration)]
        if self.counterexample is None:
            lines.append(f"judged: {', '.join(p.name for p in self.judged)}")
            lines.append("A bounded answer: deeper runs were not looked at.")
            if self.code == HELD:
                lines.append("In the runs that were, no value leaves its range.")
        else:
            lines += ["", self.counterexample.text.rstrip(), ""]
            if self.broken is not None and self.counterexample.replayed and self.counterexample.digest:
                lines.append(f"{len(self.broken.schedule)} steps replayed in the simulator, step by step equal")
            if self.counterexample.path:
                lines.append(f"saved in {self.counterexample.path}")
        return fitted("\n".join(lines))

    def as_json(self) -> dict[str, Any]:
        names = {HELD: "bounded", VIOLATED: "violated", NO_VERDICT: "undecided"}
        return {
            "answer": names[self.code],
            "sentence": self.sentence,
            "configuration": self.model.configuration.as_dict(),
            "properties": [p.name for p in self.judged],
            "violated": [p.name for p in self.broken.properties] if self.broken else [],
            "from_step": len(self.start),
            "steps": self.broken.steps if self.broken else None,
            "rounds": self.found.rounds or None,
            "depth": self.found.depth,
            "reason": self.found.reason or None,
            "error": self.found.left_range or None,
            "questions": [{"rounds": rounds, "seconds": round(spent, 3)} for rounds, spent in self.found.seconds],
            "trace": self.counterexample.path or None if self.counterexample else None,
            "replayed": bool(self.counterexample.replayed and self.counterexample.digest)
            if self.counterexample
            else None,
            "why": self.counterexample.why if self.counterexample else None,
        }
