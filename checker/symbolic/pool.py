"""A whole question to the induction, asked by several processes, and what came of it clause by clause."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from multiprocessing.pool import AsyncResult
from typing import TYPE_CHECKING, Any

from checker.explore.symmetry import asymmetry
from checker.symbolic.assumptions import EPOCHS, cut, faults, places
from checker.symbolic.counterexample import rows
from checker.symbolic.enabledness import Possible, Taken
from checker.symbolic.induction import Finding, Induction
from checker.symbolic.k_induction import k_inductive
from checker.symbolic.smt2 import record_into
from checker.symbolic.solver import SolverAnswer
from invariants import properties_of
from invariants.inductive import datagrams
from invariants.inductive.argument import Argument, argument_of
from invariants.registry import STEP, Property, property_named
from zabspec.language.tree import Site
from zabspec.limits import Deadline
from zabspec.model import Configuration, Model
from zabspec.signals import Beginning, unheard

if TYPE_CHECKING:
    from checker.explore.premises import Premises

__all__ = ["Outcome", "Question", "Verdict", "clause_named", "run"]

Progress = Callable[[str, int, int], None]  # what was answered last, how many are, and of how many

PROVED, K_INDUCTIVE, OPEN, UNDECIDED = "proved", "k-inductive", "not inductive", "undecided"
LOST = "a solver process was ended"
UNLISTED = "which steps exist"  # there was no time to find out


@dataclass(frozen=True)
class Question:
    """What is asked.

    Attributes:
        configuration: whose steps.
        clauses: the clauses asked about, each assumed of the state before a step.
        assumed: the clauses assumed and not asked about.
        targets: the properties that have to follow.
        seconds: time limit of each query.
        k: the longest run of steps tried for a clause that one step breaks.
        alone: not every clause is assumed; then errors that those which are do not exclude are taken for granted.
        chosen: it is asked of some clauses, which somebody named: nothing is said of the others.
        smt2: the folder that every query is written to; empty: none is.
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
        """The clauses and properties asked about."""
        return (*self.clauses, *self.targets)

    @property
    def argument(self) -> Argument:
        """What is known of the protocol."""
        found = argument_of(self.configuration.protocol)
        assert found is not None
        return found

    def named(self, names: Iterable[str]) -> list[Property]:
        """Clauses and properties."""
        return [clause_named(n, self.configuration.protocol) for n in names]

    @property
    def with_premise(self) -> list[Property]:
        """The properties among what is asked about: each has a premise, which a run may meet; a clause has none."""
        protocol = self.configuration.protocol
        known = {p.name for p in properties_of(protocol) if p.default and p.judges(protocol)}
        return [p for p in self.named(self.asked) if p.name in known]


@dataclass
class Verdict:
    """What was found of one clause.

    Attributes:
        clause: which.
        asked: how many queries there were; the other actions keep it without one.
        seconds: what they took.
        failing: the counterexample to induction.
        undecided: the actions of which z3 did not say whether they keep it; first why, if it is not for want of time.
        k: the number of steps that make it k-inductive, where one is not enough.
        follows: it is not asked of each action: it follows from the clauses.
        fields: what matters of the counterexample: fields, their values before the step and after it.
    """

    clause: Property
    asked: int = 0
    seconds: float = 0.0
    failing: Finding | None = None
    undecided: list[str] = field(default_factory=list)
    k: int = 1
    follows: bool = False
    fields: tuple[tuple[str, str, str], ...] = ()

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
    """A clause or a property.

    Raises:
        KeyError: there is none.
    """
    argument = argument_of(protocol)
    own = argument.every if argument is not None else ()
    return property_named(name, (*own, *properties_of(protocol), *datagrams.CLAUSES))


@dataclass
class Outcome:
    """What was found of a question.

    Attributes:
        question: the question.
        verdicts: of each clause and property.
        taken: of each move what there is to know of taking it.
        unasked: the moves that were not asked about: there was no time.
        symmetry_off: why each process is asked about by itself; empty: of processes that are alike one is.
        premises: which premises of properties runs reach, and which properties they break; none: nobody looked.
        required: the properties whose premise has to be reached, or there is no verdict.
    """

    question: Question
    verdicts: list[Verdict]
    taken: list[Taken] = field(default_factory=list)
    unasked: int = 0
    symmetry_off: str = ""
    premises: Premises | None = None
    required: tuple[str, ...] = ()

    @property
    def refuted(self) -> dict[str, int]:
        """The properties that a run breaks, with how many steps it takes."""
        return {name: found.depth for name, found in self.premises.violated.items()} if self.premises else {}

    @property
    def groundless(self) -> list[str]:
        """The clauses asked about, which all others suppose, that a run breaks: then nothing is proved."""
        return [name for name in self.question.clauses if name in self.refuted]

    @property
    def unreached(self) -> list[str]:
        """The properties that are proved, and no run that was looked at meets their premise."""
        proved = {v.clause.name for v in self.verdicts if v.holds}
        return [name for name in self.premises.missing if name in proved] if self.premises else []

    @property
    def unmet(self) -> list[str]:
        """The properties whose premise has to be met by a run, and is by none that was looked at."""
        missing = self.premises.missing if self.premises else self.required
        return [name for name in self.required if name in missing]

    @property
    def impossible(self) -> dict[str, tuple[str, ...]]:
        """The moves that no state allows in which the clauses hold, and which of them forbid it."""
        return {t.move: t.forbidden_by for t in self.taken if t.impossible}

    @property
    def within(self) -> tuple[str, ...]:
        """The flags beside --max-epoch whose ranges some step would leave: what is proved is proved of runs without."""
        return tuple(sorted({site.widen for t in self.taken for site in t.granted} - {EPOCHS}))

    @property
    def granted(self) -> list[str]:
        """What every answer takes for granted: the ranges of the model, and what is never done beyond them."""
        c, model = self.question.configuration, Model(self.question.configuration)
        left: dict[str, list[Site]] = {}  # the ranges that steps would leave, by the flag that widens them
        for site in dict.fromkeys(site for t in self.taken for site in t.granted):
            left.setdefault(site.widen, []).append(site)
        out = [f"{c.nodes} processes"]
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
        """The errors that steps may meet from states that satisfy what is assumed, where no range is cut on purpose."""
        return list(dict.fromkeys(e for t in self.taken for e in t.errors))

    @property
    def obstacles(self) -> list[str]:
        """Why nothing is proved, whatever was found of each clause; a sentence each."""
        out = []
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
        """The steps of the paper that no move enters, which is not known of the protocol."""
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
    """One sentence saying where the text tells processes apart, so that each has to be asked about by itself;
    empty when it does not."""
    named = question.named((*question.clauses, *question.assumed, *question.targets))
    return asymmetry(Model(question.configuration), named)


# --- in a process of its own -------------------------------------------------------------------


@cache
def induction(question: Question) -> Induction:
    """The induction that a question is put to; each process makes its own, once."""
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
    """The same of asking what can be taken."""
    return Possible(induction(question), question.argument.impossible, cut(question.configuration))


def begin() -> None:
    """A worker begins: Ctrl-C is for the one who started it."""
    unheard()


def moves_of(question: Question) -> tuple[str, list[tuple[str, str]]]:
    """Where processes are told apart, and the label and the name of every move."""
    return told_apart(question), [(m.label, m.name) for m in induction(question).moves]


def answer(task: tuple[Question, int]) -> tuple[Taken, list[Finding]]:
    """What there is to know of taking a move, and its findings; -1: of asking which are possible, and what
    has to hold at first, and to follow."""
    question, number = task
    record_into(question.smt2)
    asked, can = induction(question), possible(question)
    if number < 0:
        return can.enabled(), asked.initially() + asked.implied()
    move = asked.moves[number]
    taken = can.of(move)
    return taken, [] if taken.impossible else asked.ask(move)


def answer_k(task: tuple[Question, str]) -> tuple[str, int, SolverAnswer, float]:
    """Whether a clause is k-inductive, for the least k."""
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


def show(task: tuple[Question, Finding]) -> tuple[tuple[str, str, str], ...]:
    """What matters of a counterexample."""
    question, finding = task
    record_into(question.smt2)
    return tuple(rows(induction(question), finding))


# --- all of it ---------------------------------------------------------------------------------


def run(
    question: Question, jobs: int = 0, time_limit: float | None = None, progress: Progress | None = None
) -> Outcome:
    """Ask everything.

    Args:
        jobs: processes; 0: as many as there are cores.
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
        # what is asked case by case takes longest, and so comes first
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
        tell_why(question, verdicts, workers)
    outcome.taken.sort(key=lambda t: t.move)
    return outcome


class Workers:
    """Processes that ask, until a moment or until one of them dies (out of memory, say): what that one was
    asked is never answered.

    Attributes:
        lost: one has died.
    """

    def __init__(self, count: int, end: Deadline) -> None:
        self.end, self.lost = end, False
        others = {p.pid for p in multiprocessing.active_children()}
        with Beginning():  # what comes as they begin is theirs as well, and their traceback
            self.pool = multiprocessing.get_context("spawn").Pool(count, begin)
        self.pids = {p.pid for p in multiprocessing.active_children()} - others

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.terminate()
        self.pool.join()

    def ask(self, what: Callable[[Any], Any], task: Any) -> AsyncResult[Any]:
        return self.pool.apply_async(what, (task,))

    def results(self, waiting: dict[str, AsyncResult[Any]]) -> Iterator[tuple[str, Any]]:
        """What is answered in time, with its key; the rest is left waiting."""
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
        """The one answer, or None if there is none in time."""
        return next((answered for _, answered in self.results({"": asked})), None)


def note(verdicts: dict[str, Verdict], findings: Iterable[Finding]) -> None:
    """Take what was found of an action into the verdicts."""
    for f in findings:
        v = verdicts[f.clause]
        v.asked += bool(f.seconds)
        v.seconds += f.seconds
        if f.answer is SolverAnswer.UNDECIDED:
            v.undecided.append(f.move or "what follows")
        if f.answer is SolverAnswer.COUNTEREXAMPLE and (v.failing is None or f.move < v.failing.move):
            v.failing = f


def try_longer(question: Question, verdicts: dict[str, Verdict], workers: Workers) -> None:
    """Ask of each clause that one step breaks whether more of them, from states that keep it, do. A property
    of steps is none of states: the steps before say nothing that it could be asked from."""
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
    """Find out what matters of each counterexample; of none where no time is left."""
    open_ = {n: v.failing for n, v in verdicts.items() if v.word == OPEN}
    for name, shown in workers.results({n: workers.ask(show, (question, f)) for n, f in open_.items()}):
        verdicts[name].fields = shown
