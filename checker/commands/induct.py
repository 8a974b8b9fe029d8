"""`zabcheck induct`: inductive invariants with z3."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from checker.commands.common import (
    HELD,
    NO_VERDICT,
    PROTOCOL_HELP,
    Subcommand,
    at_least,
    budget_options,
    complain,
    near,
    protocol_named,
    say,
    seconds,
)
from checker.commands.explore import configured, required_witnesses
from checker.commands.smt2 import SMT2, queries_into

if TYPE_CHECKING:
    from checker.explore.premises import Premises
    from checker.symbolic.asking import Outcome, Question, Verdict
    from invariants.inductive.argument import Argument
    from invariants.registry import Property
    from zabspec.model import Configuration

__all__ = ["answer_of", "answered", "as_text", "conclusion", "counterexample", "induct", "verdict_text"]

NOT_INDUCTIVE = 1
MOST_NAMES = 12  # of clauses that are assumed, beyond which those that all are need not be read
INSIDE = 78  # columns of what stands two farther in
BROKEN = "violated"  # in a run, whatever was proved
KEPT = "kept"  # what is proved of a clause that somebody named, the others being assumed
ALL, NONE = "all", "none"
USUAL = {"nodes": 3, "txns": 2, "max_epoch": 2, "timeouts": 1, "crashes": 1, "losses": 1, "partitions": 0}  # of zab


@click.command(cls=Subcommand)
@click.option("--protocol", default="zab", show_default=True, metavar="NAME", help=PROTOCOL_HELP)
@click.option("--variant", default="", metavar="NAME", help="The protocol with one rule changed.")
@click.option("--nodes", type=int, help="Processes; as the protocol says if not given, 3.")
@click.option("--txns", type=int, help="Transactions that may be abcast; 2 if not given.")
@budget_options(note="above 0 is any number of them")
@click.option("--network", default="", metavar="NAME", help="Of your own: datagrams, ordered, fifo.")
@click.option("--max-epoch", type=int, callback=at_least(1), help="Largest epoch; 2 if not given.")
@click.option(
    "--channel", type=int, callback=at_least(1),
    help="Messages a channel holds, over datagrams those in flight at once; derived if not given.",
)  # fmt: skip
@click.option(
    "--clause", "clauses", multiple=True, metavar="NAME[,NAME...]",
    help="Ask of these clauses or properties alone, all clauses being assumed (repeatable).",
)  # fmt: skip
@click.option(
    "--assume", "assumed", multiple=True, metavar="NAME[,NAME...]",
    help="With --clause: assume these alone besides what is asked about (repeatable); `all` clauses, or `none`.",
)  # fmt: skip
@click.option("--without", multiple=True, metavar="NAME[,NAME...]", help="Leave these clauses out (repeatable).")
@click.option("--k", default=1, show_default=True, callback=at_least(1), help="Try runs of up to so many steps.")
@click.option(
    "--seconds", "query_limit", default=60.0, show_default=True, callback=seconds, metavar="SECONDS",
    help="Time limit of each query.",
)  # fmt: skip
@click.option(
    "--time-limit", default=1800.0, show_default=True, callback=seconds, metavar="SECONDS",
    help="Give up after so long in all.",
)  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="Seed of the solver.")
@click.option("--jobs", type=int, callback=at_least(1), help="Processes that ask; one for each core if not given.")
@click.option(
    "--witness-states", default=1_000_000, show_default=True, callback=at_least(0), metavar="N",
    help="Explore at most so many states for a run that meets the premise of each property; 0: do not look.",
)  # fmt: skip
@click.option(
    "--require-witness", "required", multiple=True, is_flag=False, flag_value="all", metavar="[NAME,...]",
    help="No verdict (3) where no run was found that meets the premise of a property, or of these.",
)  # fmt: skip
@click.option("--confirm", is_flag=True, help="Explore instead: is every clause so in every reachable state?")
@click.option("--depth", type=int, callback=at_least(0), help="With --confirm: how deep; to exhaustion if not given.")
@click.option("--list", "--list-clauses", "listed", is_flag=True, help="List the clauses, each with what it says.")
@SMT2
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
def induct(**options: Any) -> int:
    """Ask z3 whether clauses are inductive: kept by every step from every state that satisfies them,
    reachable or not. What is then holds at every depth. What is not need not be violated: a
    counterexample to induction is two states and one step, and nothing says that the first is reachable.
    An exploration then looks for a run that meets the premise of each property: of one that none meets what is
    proved may be vacuous, which is said; one that a run breaks is violated, whatever was proved.

    Exit codes: 0 every clause asked about is proved, 1 a clause is not inductive or a property is violated, 2 the
    question was wrong, 3 no verdict: something is undecided, or a premise that --require-witness names is not reached.
    """
    end = time.perf_counter() + options["time_limit"]
    if options["listed"]:
        return listing(options)
    if options["confirm"]:
        refuse_contradictions(options)
        configuration = configuration_of(options)
        asked, _, targets = sorted_out(options, configuration)
        return confirm(configuration, [*asked, *(targets if options["clauses"] else [])], options)
    return tell(answered(options, end), options["as_json"])


def listing(options: dict[str, Any]) -> int:
    """Say what every clause says; returns the exit code."""
    from checker.symbolic.granted import beside
    from traces.explain.folding import folded

    clauses = [*argument(options["protocol"]).clauses]
    if protocol_named(options["protocol"]).text is not None:
        clauses = [*beside(configuration_of(options)), *clauses]
    said = {c.name: f"{' '.join(c.statement.split())} ({c.source})" for c in clauses}
    if options["as_json"]:
        rows = [{"clause": c.name, "source": c.source, "statement": " ".join(c.statement.split())} for c in clauses]
        return say(json.dumps(rows, indent=1), HELD)
    width = max(map(len, said)) + 2
    return say("\n".join(folded(text, name.ljust(width)) for name, text in said.items()), HELD)


def answered(options: dict[str, Any], end: float) -> Outcome:
    """Ask; nothing is printed but progress.

    Args:
        end: when to give up, by `time.perf_counter`.

    Raises:
        UsageError: the question was wrong.
    """
    from checker.symbolic.asking import Question, run
    from invariants.registry import STEP

    refuse_contradictions(options)
    configuration = configuration_of(options)
    asked, assumed, targets = sorted_out(options, configuration)
    question = Question(
        configuration,
        tuple(c.name for c in asked if c.of != STEP),
        tuple(c.name for c in assumed),
        tuple(c.name for c in (*(c for c in asked if c.of == STEP), *targets)),
        options["query_limit"],
        options["seed"],
        options["k"],
        alone=not everything_assumed(options),
        chosen=bool(options["clauses"]),
        smt2=str(options["smt2"] or ""),
    )
    properties = with_premise(question)
    required = required_witnesses(options["required"], [p.name for p in properties])
    if required and not options["witness_states"]:
        raise click.UsageError("--require-witness contradicts --witness-states 0: nobody looks for one")
    from checker.report.progress import StatusLine

    with queries_into(options["smt2"]), StatusLine() as line:
        outcome = run(question, options["jobs"] or 0, max(0.0, end - time.perf_counter()), Line(line))
    outcome.required = tuple(required)
    if options["witness_states"] and properties:
        outcome.premises = premises_of(outcome, properties, options, end)
    return outcome


def with_premise(question: Question) -> list[Property]:
    """The properties asked about: each has a premise, which a run may meet; a clause has none."""
    from invariants import properties_of

    protocol = question.configuration.protocol
    known = {p.name for p in properties_of(protocol) if p.default and p.judges(protocol)}
    return [p for p in question.named(question.asked) if p.name in known]


def premises_of(outcome: Outcome, properties: list[Property], options: dict[str, Any], end: float) -> Premises:
    """Look for runs that meet the premises of properties. Where a clause is not proved, what follows from the clauses
    may fail in a run: then each property is judged as far as that goes."""
    from dataclasses import replace

    from checker.commands.bridge import make_ready
    from checker.explore.compiled import Compiled
    from checker.explore.groups import groups_of
    from checker.explore.premises import reached_by, stages
    from zabspec.model import Model

    # what z3 is not asked for lack of room, a later epoch or more messages in flight, is explored
    configuration = replace(asked_for(options), max_epoch=0, channel=0)
    every = not all(v.holds for v in outcome.verdicts)
    if time.perf_counter() < end:
        for group in groups_of(properties):
            first = Model(next(stages(configuration)))
            make_ready(partial(Compiled.of, first, group, True), "the properties in machine code")
    left = max(0.0, end - time.perf_counter())
    return reached_by(configuration, properties, options["witness_states"], left, every, options["jobs"] or 0)


def refuse_contradictions(options: dict[str, Any]) -> None:
    """
    Raises:
        UsageError: two options contradict each other, or one has no such value.
    """
    argument(options["protocol"])
    if options["smt2"] is not None and options["confirm"]:
        raise click.UsageError("--smt2 contradicts --confirm: an exploration asks no solver")
    if options["depth"] is not None and not options["confirm"]:
        raise click.UsageError("--depth goes with --confirm: an induction has no depth")
    if not 0 <= options["seed"] < 2**32:
        raise click.UsageError("--seed must be 0 to 4294967295")
    if options["assumed"] and not options["clauses"]:
        raise click.UsageError("--assume goes with --clause; without it every clause is asked about, and assumed")


class Line:
    """Progress on the terminal."""

    def __init__(self, line: Any) -> None:
        self.line = line

    def __call__(self, label: str, done: int, of: int) -> None:
        if self.line.due():
            self.line.show(f"{done} of {of} actions asked about: {label}")


def configuration_of(options: dict[str, Any]) -> Configuration:
    """
    Raises:
        UsageError: there is no such configuration.
    """
    from checker.symbolic.granted import sized

    if protocol_named(options["protocol"]).text is None:
        if options["network"] not in ("", "fifo"):
            raise click.UsageError("the clauses are of the paper's channels: --network fifo, or none given")
    asked = asked_for(options)
    return asked if options["confirm"] else sized(asked)


def asked_for(options: dict[str, Any]) -> Configuration:
    """The configuration as it is asked about, with all the room that the protocol declares."""
    if protocol_named(options["protocol"]).text is None:
        options = options | {name: n for name, n in USUAL.items() if options[name] is None}
    return configured({**options, "reduction": "none"}, literal=False)


def argument(protocol: str) -> Argument:
    """What an induction about a protocol is made of.

    Raises:
        UsageError: nobody has written one.
    """
    from invariants.inductive.argument import argument_of

    protocol_named(protocol)
    found = argument_of(protocol)
    if found is None:
        raise click.UsageError(f"there is no inductive invariant of {protocol}; there is one of zab")
    if not found.clauses and not found.targets:
        raise click.UsageError(f"{protocol} claims nothing: mark a clause with @invariant, a property with @safety")
    return found


def sorted_out(
    options: dict[str, Any], configuration: Configuration
) -> tuple[list[Property], list[Property], list[Property]]:
    """What is asked about, what is assumed besides, and what has to follow.

    Raises:
        UsageError: there is no such clause.
    """
    from checker.symbolic.granted import beside

    given = argument(configuration.protocol)
    clauses, judged = [*beside(configuration), *given.clauses], [*given.targets]
    every = {c.name: c for c in (*clauses, *judged)}
    out = set(found(names_in(options["without"]), "--without", {c.name: c for c in clauses}, options))
    kept = [c for c in clauses if c not in out]
    if not options["clauses"]:
        return kept, [], judged
    asked = found(names_in(options["clauses"]), "--clause", every, options)
    words = names_in(options["assumed"])
    if NONE in words and len(words) > 1:
        raise click.UsageError(f"--assume {NONE} contradicts --assume {next(n for n in words if n != NONE)}")
    named = found([n for n in words if n not in (ALL, NONE)], "--assume", every, options)
    for c in (*asked, *named):
        if c in out:
            raise click.UsageError(f"--without {c.name} contradicts the --clause or --assume that names it")
    if everything_assumed(options):
        # given all clauses a property has to follow, as it has in the whole question
        named += [c for c in kept if c not in named]
        targets = [c for c in asked if c in judged]
        return [c for c in asked if c not in judged], [c for c in named if c not in asked], targets
    return asked, [c for c in named if c not in asked], []


def names_in(words: Sequence[str]) -> list[str]:
    """The names in values of an option, which may have several with commas between them."""
    return [name.strip() for word in words for name in word.split(",")]


def everything_assumed(options: dict[str, Any]) -> bool:
    """Whether every clause is assumed before a step, the ones asked about and the others."""
    words = names_in(options["assumed"])
    return not words or ALL in words


def found(names: Sequence[str], option: str, by_name: dict[str, Property], options: dict[str, Any]) -> list[Property]:
    """The clauses named.

    Raises:
        UsageError: there is no such clause, or it is named twice.
    """
    out = []
    for name in names:
        if name not in by_name:
            flag = "" if options["protocol"] == "zab" else f" --protocol {options['protocol']}"
            hint = near(name, by_name) or f"; `zabcheck induct{flag} --list` lists them"
            raise click.UsageError(f"there is no clause {name!r}{hint}")
        if names.count(name) > 1:
            raise click.UsageError(f"{option} {name} is given twice")
        out.append(by_name[name])
    return out


# --- the answer --------------------------------------------------------------------------------


def tell(outcome: Outcome, as_json: bool) -> int:
    """Say what was found; returns the exit code."""
    word, code = answer_of(outcome)
    if as_json:
        return say(json.dumps(as_object(outcome, word), indent=1), code)
    code = say(as_text(outcome), code)
    if code == NO_VERDICT:
        undecided, obstacles = sum(v.word == "undecided" for v in outcome.verdicts), outcome.obstacles
        if outcome.unmet:
            obstacles = [*obstacles, f"--require-witness: premise not reached for {', '.join(outcome.unmet)}"]
        complain(f"no verdict: {obstacles[0]}" if obstacles and not undecided else f"{undecided} clauses are undecided")
    return code


def answer_of(outcome: Outcome) -> tuple[str, int]:
    """The answer in a word, and the exit code. Of clauses that somebody named it is never the word for all."""
    if outcome.refuted:
        return BROKEN, NOT_INDUCTIVE
    if any(v.word == "not inductive" for v in outcome.verdicts):
        return "not inductive", NOT_INDUCTIVE
    if outcome.unmet or outcome.obstacles or not all(v.holds for v in outcome.verdicts):
        return "undecided", NO_VERDICT
    return KEPT if outcome.question.chosen else "proved", HELD


def proved_of(outcome: Outcome) -> tuple[list[str], list[str]]:
    """What is proved, and which clauses asked about it supposes that are not."""
    supposed = [v.clause.name for v in outcome.verdicts if v.clause.name in outcome.question.clauses and not v.holds]
    holding = [v.clause.name for v in outcome.verdicts if v.holds and v.clause.name not in outcome.refuted]
    return [] if outcome.obstacles or outcome.groundless else holding, supposed


def as_object(outcome: Outcome, word: str) -> dict[str, Any]:
    """What was found, for machines."""
    question, obstacles = outcome.question, outcome.obstacles
    proved, supposed = proved_of(outcome)
    nothing = supposed or question.assumed or outcome.errors or question.chosen
    return {
        "answer": word,
        "sentence": conclusion(outcome),
        "configuration": question.configuration.as_dict(),
        "asked_alone": list(question.asked) if question.chosen else None,
        "assumed_clauses": list(question.assumed),
        "assumptions": outcome.granted,
        "symmetry_off": outcome.symmetry_off or None,
        "no_verdict_because": obstacles,
        "impossible": [{"move": m, "clauses": list(names)} for m, names in outcome.impossible.items()],
        "at_every_depth": [] if nothing else proved,
        "premises": premises_object(outcome),
        "clauses": [verdict_object(v, outcome) for v in outcome.verdicts],
    }


def premises_object(outcome: Outcome) -> dict[str, Any] | None:
    """Which premises runs meet, for machines; None: nobody looked."""
    found = outcome.premises
    if found is None:
        return None
    return {
        "reached": found.reached,
        "not_reached": found.missing,
        "violated": {name: list(v.schedule) for name, v in found.violated.items()},
        "required": list(outcome.required),
        "looked_at": found.bounds,
        "explorations": [
            {"configuration": c.as_dict(), "states": r.distinct, "depth": r.depth, "complete": r.complete}
            for c, r in found.explored
        ],
    }


def conclusion(outcome: Outcome) -> str:
    """How many clauses are proved; of clauses that somebody named which they are, and that they are not all."""
    question, verdicts, kept = outcome.question, outcome.verdicts, proved_of(outcome)[0]
    within = f" of runs in which no step needs a larger {' or '.join(outcome.within)}" if outcome.within else ""
    empty = [name for name in outcome.unreached if name in kept]
    vacuous = f"; of {len(empty)} of them no run that was looked at meets the premise" if empty else ""
    if outcome.refuted:
        vacuous += f"; {len(outcome.refuted)} violated in a run: {', '.join(outcome.refuted)}"
    if not question.chosen:
        return f"{len(kept)} of {len(verdicts)} proved{within if kept else ''}{vacuous}"
    asked = f"asked about {', '.join(question.asked)} alone"
    others = f", given {len(question.assumed)} others that were not asked about" if question.assumed else ""
    return f"{asked}: {len(kept)} of {len(verdicts)} kept by every step{within if kept else ''}{others}{vacuous}"


def as_text(outcome: Outcome) -> str:
    """What was found, for people."""
    from traces.explain.folding import aligned, fitted

    question, verdicts, obstacles = outcome.question, outcome.verdicts, outcome.obstacles
    proved, supposed = proved_of(outcome)
    lines = aligned(
        [
            ("clause", "verdict", "queries", "seconds"),
            *((v.clause.name, verdict_text(v, outcome), str(v.asked), f"{v.seconds:.1f}") for v in verdicts),
        ]
    ).splitlines()
    for v in verdicts:
        if v.word == "not inductive":
            lines += ["", *counterexample(v)]
    lines += ["", f"taken for granted: {'; '.join(outcome.granted)}"]
    lines += impossible_lines(outcome)
    if outcome.symmetry_off:
        lines.append(f"symmetry off, so that each process is asked about by itself: {outcome.symmetry_off}")
    if question.assumed:
        lines.append(f"assumed, and not asked about: {named_or_counted(question)}")
    if supposed and proved:
        lines.append(f"what is proved or follows supposes {', '.join(supposed)}, not proved: it may fail in a run")
    lines += premise_lines(outcome)
    if obstacles:
        lines.append(f"nothing is proved: {'; '.join(obstacles)}")
    if outcome.groundless:
        lines.append(f"nothing is proved: all else supposes {', '.join(outcome.groundless)}, which a run violates")
    spent = sum(v.seconds for v in verdicts) + sum(t.seconds for t in outcome.taken)
    lines += ["", f"{conclusion(outcome)}; {spent:.0f} s of queries"]
    return fitted("\n".join(lines))


def premise_lines(outcome: Outcome) -> list[str]:
    """Which premises runs meet, as far as was looked."""
    found = outcome.premises
    if found is None:
        return (
            ["whether runs meet the premises of properties was not looked at"] if with_premise(outcome.question) else []
        )
    by_depth: dict[int, list[str]] = {}
    for name, depth in found.reached.items():
        by_depth.setdefault(depth, []).append(name)
    lines = []
    if by_depth:
        said = "; ".join(f"{', '.join(names)} at depth {depth}" for depth, names in sorted(by_depth.items()))
        lines.append(f"premises that runs meet: {said}")
    lines += [f"violated in a run of {depth} steps: {name}" for name, depth in outcome.refuted.items()]
    if found.missing:
        lines.append(f"premises that no run meets that was looked at: {', '.join(found.missing)}")
    return [*lines, f"looked at for that: {found.bounds}"]


def named_or_counted(question: Question) -> str:
    """The clauses that are assumed: their names, where these are not nearly all."""
    if question.alone or len(question.assumed) <= MOST_NAMES:
        return ", ".join(question.assumed)
    flag = "" if question.configuration.protocol == "zab" else f" --protocol {question.configuration.protocol}"
    return f"the {len(question.assumed)} other clauses, which `zabcheck induct{flag} --list` names"


def impossible_lines(outcome: Outcome) -> list[str]:
    """The moves that are never possible, by the clauses that forbid them."""
    by_clauses: dict[tuple[str, ...], list[str]] = {}
    for move, names in outcome.impossible.items():
        by_clauses.setdefault(names, []).append(move)
    lines = []
    for names, moves in by_clauses.items():
        where = f"under {', '.join(names)}" if names else "in any state"
        lines.append(f"impossible {where}: {'; '.join(moves)}")
    return lines


def verdict_text(v: Verdict, outcome: Outcome) -> str:
    """A verdict, in the table; nothing is proved where something stands in the way."""
    if v.clause.name in outcome.refuted:
        return BROKEN
    if v.holds and (outcome.obstacles or outcome.groundless):
        return "no verdict"
    if v.word == "undecided":
        return f"undecided ({v.undecided[0]}{', ...' if len(v.undecided) > 1 else ''})"
    if v.word == "k-inductive":
        word = f"k-inductive (k = {v.k})"
    else:
        word = "follows" if v.follows and v.holds else KEPT if v.holds and outcome.question.chosen else v.word
    return f"{word}, premise not reached" if v.clause.name in outcome.unreached else word


def counterexample(v: Verdict) -> list[str]:
    """A counterexample to induction, a line each."""
    from checker.symbolic.counterexample import step_text
    from traces.explain.folding import aligned

    assert v.failing is not None
    lines = [f"{v.clause.name} is not inductive: {' '.join(v.clause.statement.split())}"]
    if not v.fields:
        return [*lines, "there was no time left to look for what matters of the state that shows it"]
    if not v.failing.move:
        what = "is a state of the others, and breaks it" if v.follows else "is the initial state"
        return [*lines, f"this {what}:", *indented(aligned([(name, was) for name, was, _ in v.fields], width=INSIDE))]
    changes = [(name, was, "" if was == now else f"-> {now}") for name, was, now in v.fields]
    return [
        *lines,
        f"a state that satisfies what is assumed, and one step from it, {step_text(v.failing)}:",
        *indented(aligned(changes, width=INSIDE)),
    ]


def indented(text: str) -> list[str]:
    return [f"  {line}".rstrip() for line in text.splitlines()]


def verdict_object(v: Verdict, outcome: Outcome) -> dict[str, Any]:
    """A verdict, for machines."""
    out: dict[str, Any] = {
        "clause": v.clause.name,
        "source": v.clause.source,
        "statement": " ".join(v.clause.statement.split()),
        "verdict": verdict_word(v, outcome),
        "premise_reached": premise_reached(v, outcome),
        "k": v.k,
        "queries": v.asked,
        "seconds": round(v.seconds, 3),
        "undecided": v.undecided,
    }
    if v.word == "not inductive" and v.failing is not None:
        fields = [{"field": name, "before": was, "after": now} for name, was, now in v.fields]
        out["counterexample"] = {"step": v.failing.move, "word": v.failing.word, "fields": fields}
    return out


def verdict_word(v: Verdict, outcome: Outcome) -> str:
    """A verdict, for machines: whether its premise is reached is said beside it."""
    if v.word == "proved" or v.clause.name in outcome.refuted or (v.holds and outcome.groundless):
        return verdict_text(v, outcome).partition(",")[0]
    return v.word


def premise_reached(v: Verdict, outcome: Outcome) -> bool | None:
    """Whether a run was found that meets a property's premise; None: it has none, or nobody looked."""
    found = outcome.premises
    if found is None or v.clause.name not in found.properties:
        return None
    return v.clause.name not in found.missing


# --- on reachable states -----------------------------------------------------------------------


def confirm(configuration: Configuration, clauses: list[Property], options: dict[str, Any]) -> int:
    """Explore the same configuration, its epochs as far as its budgets reach, with the clauses as its
    properties; returns the exit code."""
    from dataclasses import replace

    from checker.commands.bridge import make_ready
    from checker.commands.explore import explored
    from checker.explore.compiled import Compiled
    from checker.explore.groups import groups_of
    from checker.explore.result import Limits
    from traces import build_trace, to_text
    from zabspec.model import Model

    model = Model(replace(configuration, max_epoch=0))
    engine = {"no_symmetry": False, "engine": "compiled", "threads": options["jobs"], "reduction": "none"}
    limits = Limits(options["depth"], None, options["time_limit"], None)
    for group in groups_of(clauses):
        make_ready(partial(Compiled.of, model, group, True, True), "the clauses in machine code")
    seen, _, symmetry_off = explored(model, clauses, limits, engine | {"keep_going": False})
    bad = seen.violations
    where = "every reachable state" if seen.complete else f"every state up to depth {len(seen.levels) - 1}"
    code, sentence = HELD, f"{len(clauses)} clauses are so in {where} ({seen.distinct:,} of them)"
    if seen.failed and len(bad) == 1:
        code, sentence = NOT_INDUCTIVE, f"{next(iter(bad))} is violated in a reachable run: {seen.error}"
    elif bad:
        code, sentence = NOT_INDUCTIVE, f"{' and '.join(bad)} not so in a reachable state: no invariant"
    elif seen.error:
        code, sentence = NO_VERDICT, f"no verdict: {seen.error} after {seen.distinct:,} states"
    elif seen.stopped and not seen.complete:  # whatever depth was asked for
        whole = f"the clauses are so in every state up to depth {seen.expanded_levels}"
        code, sentence = NO_VERDICT, f"no verdict: {seen.stopped} after {seen.distinct:,} states; {whole}"
    if options["as_json"]:
        content = {
            "answer": {HELD: "confirmed", NOT_INDUCTIVE: "violated", NO_VERDICT: "undecided"}[code],
            "sentence": sentence,
            "configuration": model.configuration.as_dict(),
            "clauses": [c.name for c in clauses],
            "broken": {name: list(v.schedule) for name, v in bad.items()},
            "symmetry_off": symmetry_off or None,
            "states": seen.distinct,
            "complete": seen.complete,
            "depth": options["depth"],
            "seconds": round(seen.seconds, 3),
        }
        return say(json.dumps(content, indent=1), code)
    lines = [sentence, *([f"symmetry off: {symmetry_off}"] if symmetry_off else [])]
    for v in bad.values():
        lines += ["", to_text(build_trace(model, v.property, v.schedule)).rstrip()]
    return say("\n".join(lines), code)
