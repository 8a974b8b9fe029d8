"""Run all queries of an induction in several processes, and collect the results by clause."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from multiprocessing.pool import AsyncResult
from typing import TYPE_CHECKING, Any

from checker.explore.symmetry import asymmetry
from checker.opinion.outcome import NO_OPINION, SecondOpinion
from checker.proofs.symbolic.assumptions import EPOCHS, cut, faults, places
from checker.proofs.symbolic.counterexample import rows
from checker.proofs.symbolic.enabledness import Possible, Taken
from checker.proofs.symbolic.induction import Induction, InductionFinding
from checker.proofs.symbolic.smt2 import about, record_into
from checker.proofs.symbolic.solver import Solver, SolverAnswer
from checker.proofs.symbolic.unroll import Unrolling
from invariants import properties_of
from invariants.proofs import datagrams
from invariants.proofs.argument import Argument, argument_of
from invariants.registry import STEP, Property, property_named
from zabspec.configuration import amounts_in
from zabspec.language.analysis.tree import Site
from zabspec.limits import Deadline
from zabspec.model import Configuration, Model
from zabspec.proofs.symbolic_terms import Term, Truth, not_, some_of
from zabspec.signals import Beginning, unheard

if TYPE_CHECKING:
    from checker.explore.premises import Premises


# --- k-induction: whether k steps from states that satisfy the assumptions end in one that satisfies a clause ---


def k_inductive(induction: Induction, clause: Property, k: int) -> SolverAnswer:
    """Check whether the last of k steps, each from a state that satisfies every clause, preserves a clause.

    Also check that each of the first k - 1 from the initial state does.
    """
    from checker.proofs.symbolic.bmc import Bounds, check

    seconds, seed = induction.seconds, induction.seed
    with about(clause.name, f"of the first {k} steps"):
        based = check(induction.model, [clause], Bounds(k - 1, seconds=seconds, seed=seed, together=False))
    if based.broken:
        return SolverAnswer.COUNTEREXAMPLE
    if based.reason or based.left_range:
        return SolverAnswer.UNDECIDED
    transition = induction.transition
    run = Unrolling(transition, transition.state, together=False)
    solver = Solver(seconds=seconds, seed=seed, logic="QF_FD")

    def say(*terms: Truth | int) -> None:
        for t in terms:
            assert isinstance(t, (bool, Term))
            solver.add(induction.z3.truth(t))

    solver.add(*induction.legal)
    for _ in range(k):
        say(*run.at([*induction.plain, induction.fine], run.state))
        made = run.extend()
        say(some_of(made.taken), *made.constraints, *(not_(w) for w in made.wrong))
    after = run.at([transition.holds(clause, transition.state)], run.state)[0]
    assert isinstance(after, (bool, Term))
    say(not_(after))
    with about(clause.name, f"after {k} steps"):
        return solver.check().answer


Progress = Callable[[str, int, int], None]  # what was answered last, the number answered, and the number of all

PROVED, K_INDUCTIVE, OPEN, UNDECIDED = "proved", "k-inductive", "not inductive", "undecided"
LOST = "a solver process was ended"
UNLISTED = "which steps exist"  # there was no time to find out


@dataclass(frozen=True)
class Question:
    """An induction to run.

    Attributes:
        configuration: of the model.
        clauses: the clauses to prove, each assumed of the state before a step.
        assumed: the clauses assumed and not proved.
        targets: the properties that have to follow.
        seconds: time limit of each query.
        k: the largest number of steps tried for a clause that one step violates.
        alone: whether not every clause is assumed; then errors that the assumed ones do not exclude are assumed away.
        chosen: whether it is about some clauses, which the user named: nothing is reported of the others.
        smt2: the folder that every query is written to; empty for none.
    """

    configuration: Configuration
    clauses: tuple[str, ...]
    assumed: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    seconds: float = 60.0
    seed: int = 0
    k: int = 1
    alone: bool = False
    chosen: bool = False
    smt2: str = ""

    @property
    def asked(self) -> tuple[str, ...]:
        """The clauses and properties to prove."""
        return (*self.clauses, *self.targets)

    @property
    def argument(self) -> Argument:
        """The inductive argument of the protocol."""
        found = argument_of(self.configuration.protocol)
        assert found is not None
        return found

    def named(self, names: Iterable[str]) -> list[Property]:
        """Return clauses and properties by their names."""
        return [clause_named(n, self.configuration.protocol) for n in names]

    @property
    def with_premise(self) -> list[Property]:
        """The properties to prove: each has a premise, which a run may meet; a clause has none."""
        protocol = self.configuration.protocol
        known = {p.name for p in properties_of(protocol) if p.default and p.judges(protocol)}
        return [p for p in self.named(self.asked) if p.name in known]


@dataclass
class Verdict:
    """The result for one clause.

    Attributes:
        clause: the clause.
        asked: the number of queries; the other actions preserve it without one.
        seconds: their time.
        failing: the counterexample to induction.
        undecided: the actions that z3 did not decide; the first with the reason, unless that is time.
        k: the number of steps that make it k-inductive, if one is not enough.
        follows: whether it is not queried for each action, but follows from the clauses.
        fields: the relevant part of the counterexample: fields, their values before the step and after it; None if
            it was not determined.
    """

    clause: Property
    asked: int = 0
    seconds: float = 0.0
    failing: InductionFinding | None = None
    undecided: list[str] = field(default_factory=list)
    k: int = 1
    follows: bool = False
    fields: tuple[tuple[str, str, str], ...] | None = None

    @property
    def word(self) -> str:
        if self.k > 1:
            return K_INDUCTIVE
        if self.failing is not None:
            return OPEN
        return UNDECIDED if self.undecided else PROVED

    @property
    def holds(self) -> bool:
        return self.word in (PROVED, K_INDUCTIVE)


def clause_named(name: str, protocol: str = "zab") -> Property:
    """Return the clause or property of a name.

    Raises:
        KeyError: there is none.
    """
    argument = argument_of(protocol)
    own = argument.every if argument is not None else ()
    return property_named(name, (*own, *properties_of(protocol), *datagrams.CLAUSES))


@dataclass
class Outcome:
    """The result of an induction.

    Attributes:
        question: the induction.
        verdicts: of each clause and property.
        taken: of each move the result about its enabledness.
        unasked: the moves that were not queried for want of time.
        symmetry_off: why each process is queried separately; empty if one represents those that are alike.
        premises: which premises of properties runs reach, and which properties they violate; None if not searched.
        required: the properties whose premise must be reached for a verdict.
        second: how the interpreter's opinion compares; None if there was no time to hear it.
    """

    question: Question
    verdicts: list[Verdict]
    taken: list[Taken] = field(default_factory=list)
    unasked: int = 0
    symmetry_off: str = ""
    premises: Premises | None = None
    required: tuple[str, ...] = ()
    second: SecondOpinion | None = NO_OPINION

    @property
    def refuted(self) -> dict[str, int]:
        """The properties that a run violates, each with its number of steps."""
        return {name: found.depth for name, found in self.premises.violated.items()} if self.premises else {}

    @property
    def groundless(self) -> list[str]:
        """The clauses to prove, which all others assume, that a run violates: then nothing is proved."""
        return [name for name in self.question.clauses if name in self.refuted]

    @property
    def unreached(self) -> list[str]:
        """The properties that are proved and whose premise no explored run meets."""
        proved = {v.clause.name for v in self.verdicts if v.holds}
        return [name for name in self.premises.missing if name in proved] if self.premises else []

    @property
    def unmet(self) -> list[str]:
        """The properties whose premise must be met by a run, and is met by no explored one."""
        missing = self.premises.missing if self.premises else self.required
        return [name for name in self.required if name in missing]

    @property
    def impossible(self) -> dict[str, tuple[str, ...]]:
        """The moves that no state allows in which the clauses hold, and the clauses that forbid them."""
        return {t.move: t.forbidden_by for t in self.taken if t.impossible}

    @property
    def erring(self) -> frozenset[str]:
        """The moves that may meet an error, and the empty string if listing the steps may."""
        return frozenset(t.move for t in self.taken if t.errors or t.granted or t.undecided)

    @property
    def within(self) -> tuple[str, ...]:
        """The flags whose ranges some step would leave: the proof is about runs without these.

        Not --max-epoch of a protocol that abcasts: every answer names its largest epoch.
        """
        named = {EPOCHS} if Model(self.question.configuration).protocol.transactions else set()
        return tuple(sorted({site.widen for t in self.taken for site in t.granted} - named))

    @property
    def granted(self) -> list[str]:
        """The assumptions of every answer: the ranges of the model, and what is never done beyond them."""
        c, model = self.question.configuration, Model(self.question.configuration)
        left: dict[str, list[Site]] = {}  # the ranges that steps would leave, by the flag that widens them
        for site in dict.fromkeys(site for t in self.taken for site in t.granted):
            left.setdefault(site.widen, []).append(site)
        out = [", ".join([f"{c.nodes} processes", *(f"{name} {n}" for name, n in amounts_in(c.parameters).items())])]
        if model.protocol.transactions:
            out[0] += f"; at most {c.txns} transactions are ever abcast"
            out.append(
                f"epochs up to {model.epochs}: a step that would begin a later epoch is not taken (--max-epoch)"
                + places(left.pop(EPOCHS, []))
            )
        out += [f"a step that would need a larger {flag} is not taken{places(at)}" for flag, at in left.items()]
        out += faults(model)
        if self.question.alone:
            out += [f"a step with a run-time error is not taken: {e}" for e in self.errors]
        return out

    @property
    def errors(self) -> list[str]:
        """The errors that steps may meet from states that satisfy the assumptions, where no range is cut on purpose."""
        return list(dict.fromkeys(e for t in self.taken for e in t.errors))

    @property
    def obstacles(self) -> list[str]:
        """Why nothing is proved, whatever the result for each clause; a sentence each."""
        out = []
        if self.second is None:
            out.append("no time was left for a second opinion")
        elif self.second.difference:
            out.append(self.second.trouble)
        if not self.question.alone:
            known = self.question.argument.impossible is not None
            hint = "" if known else " (a clause may exclude it, or the range name a flag that widens it)"
            out += [f"a step can have a run-time error, and is then not taken: {e}{hint}" for e in self.errors]
        for t in self.taken:
            if t.impossible and not t.known:
                why = f"under {', '.join(t.forbidden_by)}" if t.forbidden_by else "in any state"
                how = "be taken" if self.question.argument.impossible is not None else "be taken within the ranges"
                out.append(f"the move {t.move} can never {how} {why}, so the proof does not cover it")
            elif t.undecided:
                what = t.move or "which steps are possible"
                out.append(f"{what}: it is undecided whether it can be taken, or which errors it has")
        return out if self.unasked else [*out, *self.never_entered]

    @property
    def never_entered(self) -> list[str]:
        """The steps of the paper that no move enters, without that being known of the protocol."""
        if self.question.argument.impossible is None:
            return []
        possible = [t for t in self.taken if t.move and not t.impossible]
        entered = frozenset().union(*(t.entered for t in possible))
        return [
            f"step {name} can never be taken under the clauses, so the proof does not cover it"
            for name in Model(self.question.configuration).program.steps
            if name not in entered and not all(name in t.excluded for t in possible)
        ]


@cache
def told_apart(question: Question) -> str:
    """Return a sentence on where the source distinguishes processes, so that each is queried separately; or ""."""
    named = question.named((*question.clauses, *question.assumed, *question.targets))
    return asymmetry(Model(question.configuration), named)


# --- in a process of its own -------------------------------------------------------------------


@cache
def induction(question: Question) -> Induction:
    """Return the induction of a question; each process computes its own, once."""
    model = Model(question.configuration)
    return Induction(
        model,
        question.named(question.clauses),
        question.named(question.assumed),
        question.named(question.targets),
        first=[c.name for c in question.argument.shapes],
        cases=question.argument.cases,
        symmetric=not told_apart(question),
        seconds=question.seconds,
        seed=question.seed,
    )


@cache
def possible(question: Question) -> Possible:
    """Return the enabledness queries of a question; each process computes its own, once."""
    return Possible(induction(question), question.argument.impossible, cut(question.configuration))


def moves_of(question: Question) -> tuple[str, list[tuple[str, str]]]:
    """Return where processes are distinguished, and the label and the name of every move."""
    return told_apart(question), [(m.label, m.name) for m in induction(question).moves]


def answer(task: tuple[Question, int]) -> tuple[Taken, list[InductionFinding]]:
    """Return the result about the enabledness of a move, and its findings.

    For the number -1 they are the result about listing the enabled steps, and the findings about what has to hold
    initially and to follow.
    """
    question, number = task
    record_into(question.smt2)
    asked, can = induction(question), possible(question)
    if number < 0:
        return can.enabled(), asked.initially() + asked.implied()
    move = asked.moves[number]
    taken = can.of(move)
    return taken, [] if taken.impossible else asked.ask(move)


def opinion(task: tuple[Question, Mapping[str, int], frozenset[str], frozenset[str]]) -> SecondOpinion:
    """Hold an induction, and what it concluded, against the interpreter."""
    from checker.proofs.symbolic.induction_opinion import Claims, second_opinion

    question, kept, never, erring = task
    record_into(question.smt2)
    one_step = frozenset(name for name, k in kept.items() if k == 1)
    longer = {n: k for n, k in kept.items() if k > 1}
    return second_opinion(induction(question), Claims(one_step, never, erring, longer))


def answer_k(task: tuple[Question, str]) -> tuple[str, int, SolverAnswer, float]:
    """Check whether a clause is k-inductive, for the least k."""
    question, name = task
    record_into(question.smt2)
    asked = induction(question)
    began = time.perf_counter()
    last, clause = SolverAnswer.COUNTEREXAMPLE, question.named([name])[0]
    for k in range(2, question.k + 1):
        last = k_inductive(asked, clause, k)
        if last is not SolverAnswer.COUNTEREXAMPLE:
            return name, k, last, time.perf_counter() - began
    return name, question.k, last, time.perf_counter() - began


def show(task: tuple[Question, InductionFinding]) -> tuple[tuple[str, str, str], ...]:
    """Return the relevant rows of a counterexample."""
    question, finding = task
    record_into(question.smt2)
    return tuple(rows(induction(question), finding))


# --- all of it ---------------------------------------------------------------------------------


def run(
    question: Question, jobs: int = 0, time_limit: float | None = None, progress: Progress | None = None
) -> Outcome:
    """Run all queries of an induction.

    Args:
        jobs: processes; 0 for one on each core.
        time_limit: seconds for all of it; what is not answered by then is undecided.

    Raises:
        KeyboardInterrupt: Ctrl-C; the processes are gone.
    """
    end = Deadline(time_limit)
    verdicts = {c.name: Verdict(c) for c in question.named((*question.clauses, *question.targets))}
    for n in question.targets:
        verdicts[n].follows = verdicts[n].clause.of != STEP
    outcome = Outcome(question, list(verdicts.values()))
    with Workers(jobs or os.cpu_count() or 1, end) as workers:
        # the first of them makes the list while the second answers
        listed, first = workers.ask(moves_of, question), workers.ask(answer, (question, -1))
        waiting: dict[str, AsyncResult[Any]] = {"what follows": first}
        made = workers.result(listed)
        outcome.symmetry_off, moves = made or ("", [])
        # moves that are split into cases take longest, and so come first
        for k in sorted(range(len(moves)), key=lambda k: moves[k][1] not in question.argument.cases):
            waiting[moves[k][0]] = workers.ask(answer, (question, k))
        of = len(waiting)
        for label, (taken, findings) in workers.results(waiting):
            outcome.taken.append(taken)
            note(verdicts, findings)
            if progress is not None:
                progress(label, of - len(waiting), of)
        open_ = [*([LOST] if workers.lost else []), *([UNLISTED] if made is None else []), *waiting]
        outcome.unasked = len(waiting) + (made is None)
        if outcome.unasked:
            for v in verdicts.values():
                v.undecided += open_
        try_longer(question, verdicts, workers)
        kept = {name: v.k for name, v in verdicts.items() if v.holds}
        if kept and not outcome.unasked:
            claimed = question, kept, frozenset(outcome.impossible), outcome.erring
            outcome.second = workers.result(workers.ask(opinion, claimed))
        tell_why(question, verdicts, workers)
    outcome.taken.sort(key=lambda t: t.move)
    return outcome


class Workers:
    """Processes that run queries, until a deadline or until one of them dies (out of memory, for instance).

    The task of a process that died is never answered.

    Attributes:
        lost: whether one has died.
    """

    def __init__(self, count: int, end: Deadline) -> None:
        self.end, self.lost = end, False
        others = {p.pid for p in multiprocessing.active_children()}
        with Beginning():  # an interrupt at their start reaches them too, with their traceback
            self.pool = multiprocessing.get_context("spawn").Pool(count, unheard)
        self.pids = {p.pid for p in multiprocessing.active_children()} - others

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.terminate()
        self.pool.join()

    def ask(self, what: Callable[[Any], Any], task: Any) -> AsyncResult[Any]:
        return self.pool.apply_async(what, (task,))

    def results(self, waiting: dict[str, AsyncResult[Any]]) -> Iterator[tuple[str, Any]]:
        """Yield what is answered in time, with its key; the rest stays in `waiting`."""
        while waiting:
            for key in [key for key, r in waiting.items() if r.ready()]:
                answered = waiting.pop(key).get()
                yield key, answered
            if not waiting or self.end.over():
                return
            self.lost = self.lost or not self.pids <= {p.pid for p in multiprocessing.active_children()}
            if self.lost:
                return
            time.sleep(min(0.02, self.end.left()))

    def result(self, asked: AsyncResult[Any]) -> Any:
        """Return the one answer, or None if there is none in time."""
        return next((answered for _, answered in self.results({"": asked})), None)


def note(verdicts: dict[str, Verdict], findings: Iterable[InductionFinding]) -> None:
    """Add the results for an action to the verdicts."""
    for f in findings:
        v = verdicts[f.clause]
        v.asked += bool(f.seconds)
        v.seconds += f.seconds
        if f.answer is SolverAnswer.UNDECIDED:
            v.undecided.append(f.move or "what follows")
        if f.answer is SolverAnswer.COUNTEREXAMPLE and (v.failing is None or f.move < v.failing.move):
            v.failing = f


def try_longer(question: Question, verdicts: dict[str, Verdict], workers: Workers) -> None:
    """Check for each clause that one step violates whether more steps, from states that satisfy it, preserve it.

    Step properties are left out: the steps before give no assumption about the next.
    """
    names = [
        n for n, v in verdicts.items()
        if v.failing is not None and v.failing.move and not v.follows and v.clause.of != STEP
    ]  # fmt: skip
    if question.k < 2 or not names:
        return
    waiting = {n: workers.ask(answer_k, (question, n)) for n in names}
    for _, (name, k, said, spent) in workers.results(waiting):
        verdicts[name].seconds += spent
        if said is SolverAnswer.PROVED:
            verdicts[name].k = k


def tell_why(question: Question, verdicts: dict[str, Verdict], workers: Workers) -> None:
    """Find the relevant rows of each counterexample, as far as there is time."""
    open_ = {n: v.failing for n, v in verdicts.items() if v.word == OPEN}
    for name, shown in workers.results({n: workers.ask(show, (question, f)) for n, f in open_.items()}):
        verdicts[name].fields = shown
