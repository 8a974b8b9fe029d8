"""A whole question to the induction, asked by several processes, and what came of it clause by clause."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from multiprocessing.pool import Pool

from checker.signals import Held, unheard
from checker.solver import Answer
from checker.symbolic.induction import Finding, Induction
from checker.symbolic.k_induction import k_inductive
from invariants import PROPERTIES
from invariants.binding import full_namespace
from invariants.inductive import CASES, CLAUSES, SHAPES
from invariants.registry import STEP, Property, property_named
from zabspec.model import Configuration, Model

__all__ = ["Question", "Verdict", "assumptions", "clause_named", "run"]

Progress = Callable[[str, int, int], None]  # what was answered last, how many are, and of how many

PROVED, K_INDUCTIVE, OPEN, UNDECIDED = "proved", "k-inductive", "not inductive", "undecided"
LOST = "a process that asked was ended"


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
    """

    configuration: Configuration
    clauses: tuple[str, ...]
    assumed: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    seconds: float = 60.0
    seed: int = 0
    k: int = 1


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
    """

    clause: Property
    asked: int = 0
    seconds: float = 0.0
    failing: Finding | None = None
    undecided: list[str] = field(default_factory=list)
    k: int = 1
    follows: bool = False

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


def clause_named(name: str) -> Property:
    """A clause or a property.

    Raises:
        KeyError: there is none.
    """
    return property_named(name, (*CLAUSES, *PROPERTIES))


def assumptions(model: Model) -> list[str]:
    """What every answer takes for granted: the ranges of this model."""
    c = model.configuration
    up, down = model.channels
    return [
        f"{c.nodes} processes; at most {c.txns} transactions are ever abcast",
        f"epochs up to {model.epochs}: a step that would begin a later one is not taken (--max-epoch)",
        f"a channel holds at most {up} messages to a leader and {down} to a follower:"
        " a step that would send more is not taken (--channel)",
        "any number of faults of the kinds that have a budget may be left: no clause reads a budget",
    ]


# --- in a process of its own -------------------------------------------------------------------


@cache
def induction(question: Question) -> Induction:
    """The induction that a question is put to; each process makes its own, once."""
    model = Model(question.configuration)
    return Induction(
        model,
        full_namespace(model),
        [clause_named(n) for n in question.clauses],
        [clause_named(n) for n in question.assumed],
        [clause_named(n) for n in question.targets],
        first=[c.name for c in SHAPES],
        cases=CASES,
        symmetric=model.protocol.symmetric,
        seconds=question.seconds,
        seed=question.seed,
    )


def begin(question: Question) -> None:
    """A worker begins: Ctrl-C is for the one who started it."""
    unheard()
    induction(question)


def answer(task: tuple[Question, int]) -> list[Finding]:
    """The findings of one action; -1: what has to hold at first, and to follow."""
    question, number = task
    asked = induction(question)
    if number < 0:
        return asked.initially() + asked.implied()
    return asked.ask(asked.moves[number])


def answer_k(task: tuple[Question, str]) -> tuple[str, int, Answer, float]:
    """Whether a clause is k-inductive, for the least k."""
    question, name = task
    asked = induction(question)
    began = time.perf_counter()
    last = Answer.COUNTEREXAMPLE
    for k in range(2, question.k + 1):
        last = k_inductive(asked, clause_named(name), k)
        if last is not Answer.COUNTEREXAMPLE:
            return name, k, last, time.perf_counter() - began
    return name, question.k, last, time.perf_counter() - began


# --- all of it ---------------------------------------------------------------------------------


def run(
    question: Question, jobs: int = 0, time_limit: float | None = None, progress: Progress | None = None
) -> list[Verdict]:
    """Ask everything.

    Args:
        jobs: processes; 0: as many as there are cores.
        time_limit: seconds for all of it; what is not answered by then is undecided.

    Raises:
        KeyboardInterrupt: Ctrl-C; the processes are gone.
    """
    began = time.perf_counter()
    here = induction(question)
    moves = here.moves
    # what is asked case by case takes longest, and so comes first
    order = [-1, *sorted(range(len(moves)), key=lambda k: moves[k].name not in CASES)]
    labels = {-1: "what follows"} | {k: m.label for k, m in enumerate(moves)}
    verdicts = {n: Verdict(clause_named(n)) for n in (*question.clauses, *question.targets)}
    for n in question.targets:
        verdicts[n].follows = clause_named(n).of != STEP
    workers = min(jobs or os.cpu_count() or 1, len(order))
    others = {p.pid for p in multiprocessing.active_children()}
    with Held():  # what comes as they begin is theirs as well, and their traceback
        pool = multiprocessing.get_context("spawn").Pool(workers, begin, (question,))
    asking = {p.pid for p in multiprocessing.active_children()} - others

    def lost() -> bool:
        """Whether a process has died (out of memory, say): what it was asked is never answered."""
        return not asking <= {p.pid for p in multiprocessing.active_children()}

    try:
        waiting = {k: pool.apply_async(answer, ((question, k),)) for k in order}
        done = 0
        while waiting:
            for k in [k for k, r in waiting.items() if r.ready()]:
                note(verdicts, waiting.pop(k).get())
                done += 1
                if progress is not None:
                    progress(labels[k], done, len(order))
            late = time_limit is not None and time.perf_counter() - began > time_limit
            if waiting and (late or lost()):
                for v in verdicts.values():
                    v.undecided += [*([] if late else [LOST]), *(labels[k] for k in waiting)]
                break
            time.sleep(0.02)
        try_longer(question, verdicts, pool, time_limit and time_limit - (time.perf_counter() - began), lost)
    finally:
        pool.terminate()
        pool.join()
    return list(verdicts.values())


def note(verdicts: dict[str, Verdict], findings: Iterable[Finding]) -> None:
    """Take what was found of an action into the verdicts."""
    for f in findings:
        v = verdicts[f.clause]
        v.asked += bool(f.seconds)
        v.seconds += f.seconds
        if f.answer is Answer.UNDECIDED:
            v.undecided.append(f.move or "what follows")
        if f.answer is Answer.COUNTEREXAMPLE and (v.failing is None or f.move < v.failing.move):
            v.failing = f


def try_longer(
    question: Question, verdicts: dict[str, Verdict], pool: Pool, left: float | None, lost: Callable[[], bool]
) -> None:
    """Ask of each clause that one step breaks whether more of them, from states that keep it, do. A property
    of steps is none of states: the steps before say nothing that it could be asked from."""
    names = [
        n for n, v in verdicts.items()
        if v.failing is not None and v.failing.move and not v.follows and v.clause.of != STEP
    ]  # fmt: skip
    if question.k < 2 or not names or (left is not None and left <= 0):
        return
    began = time.perf_counter()
    waiting = [pool.apply_async(answer_k, ((question, n),)) for n in names]
    while waiting and not lost() and (left is None or time.perf_counter() - began < left):
        for r in [r for r in waiting if r.ready()]:
            waiting.remove(r)
            name, k, said, spent = r.get()
            verdicts[name].seconds += spent
            if said is Answer.PROVED:
                verdicts[name].k = k
        time.sleep(0.02)
