"""The only access to z3: time limits, seeds, three-valued answers, and a way to stop.

Every query goes through a `Solver` of this module. A query has a time limit; its answer is PROVED (no model),
COUNTEREXAMPLE (a model) or UNDECIDED, never anything else: `unknown` is not a refutation. z3 runs in a thread of its
own, so that Ctrl-C reaches Python at once and stops it.
"""

from __future__ import annotations

import enum
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import z3

from checker.proofs.symbolic import smt2
from checker.proofs.symbolic.abandoned import Abandoned, StillBusy, abandon, running, wait_for_abandoned
from zabspec.limits import Deadline, need_room

T = TypeVar("T")

GRACE = 0.7  # seconds that z3 gets to notice that it was interrupted
STUBBORN = 60.0  # and when its time is over: the next query must not overlap this one
LONGEST = 1e6  # seconds: z3 counts milliseconds in 32 bits


class SolverError(Exception):
    """z3 refused a query (a wrong sort, a wrong parameter): an error of the caller."""


class SolverAnswer(enum.Enum):
    """The answer to a query, which checks whether its assertions have a model."""

    PROVED = "proved"  # they have no model: what they negate holds
    COUNTEREXAMPLE = "counterexample"  # they have a model
    UNDECIDED = "undecided"  # out of time, out of memory, or beyond the procedure


@dataclass(frozen=True)
class Result:
    """An answer, its time in seconds, and further results.

    `model` is there with a counterexample, `core` (names of the tracked assertions and the assumptions that
    sufficed) with a proof, `reason` when undecided.
    """

    answer: SolverAnswer
    seconds: float
    model: z3.ModelRef | None = None
    core: tuple[str, ...] = ()
    reason: str = ""

    @property
    def proved(self) -> bool:
        """Whether the assertions have no model."""
        return self.answer is SolverAnswer.PROVED


@dataclass
class Solver:
    """A z3 solver with a seed and a time limit.

    Attributes:
        seconds: time limit of each query.
        seed: of every random choice z3 makes.
        simple: the plain SMT core without e-matching: quantifiers are instantiated from models alone, which
            ends on stratified formulas. Otherwise z3's choice.
        logic: a logic z3 knows, for example QF_BV or QF_FD; empty: what z3 chooses.
        parameters: further parameters of z3, by their names.
    """

    seconds: float = 10.0
    seed: int = 0
    simple: bool = False
    logic: str = ""
    parameters: Mapping[str, bool | int | float | str] = field(default_factory=dict)
    tracked: list[z3.BoolRef] = field(default_factory=list, init=False)  # names of assertions
    over: list[z3.BoolRef] = field(default_factory=list, init=False)  # assertions about questions that are answered
    questions: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise SolverError(f"a query needs a time limit above 0, not {self.seconds:g}")
        need_room()
        ready()
        try:
            if self.logic:
                self.z3 = z3.SolverFor(self.logic)
            else:
                self.z3 = z3.SimpleSolver() if self.simple else z3.Solver()
            self.z3.set("ctrl_c", False)  # or z3 would handle the signal itself
            self.z3.set("random_seed", self.seed)
            if self.simple:
                self.z3.set("ematching", False)
                self.z3.set("mbqi", True)
            for name, value in self.parameters.items():
                self.z3.set(name, value)
        except z3.Z3Exception as problem:
            raise SolverError(str(problem)) from None

    def add(self, *assertions: z3.BoolRef) -> None:
        """Assert formulas."""
        self.z3.add(*assertions)

    def add_clauses(self, variables: int, clauses: Iterable[Sequence[int]]) -> None:
        """Assert clauses over variables 1 to `variables`, in the form of DIMACS: -3 is the negation of variable 3.

        `bit` returns such a variable, `bits` reads all of them from a model.
        """
        lines = [" ".join(map(str, (*clause, 0))) for clause in clauses]
        self.z3.from_string(f"p cnf {variables} {len(lines)}\n" + "\n".join(lines) + "\n")

    @staticmethod
    def bit(number: int) -> z3.BoolRef:
        """Return the variable of `add_clauses`, negated if the number is negative."""
        variable = z3.Bool(abs(number))  # z3 names them by number
        return variable if number > 0 else z3.Not(variable)

    @staticmethod
    def bits(model: z3.ModelRef) -> frozenset[int]:
        """Return the variables of `add_clauses` that are true in a model."""
        # by z3's C functions: there are thousands, and z3's plain interface makes five objects of each
        c, m = model.ctx.ref(), model.model
        found = set()
        for k in range(z3.Z3_model_get_num_consts(c, m)):
            declared = z3.Z3_model_get_const_decl(c, m, k)
            name = z3.Z3_get_decl_name(c, declared)
            if z3.Z3_get_symbol_kind(c, name) == z3.Z3_INT_SYMBOL:
                value = z3.Z3_model_get_const_interp(c, m, declared)
                if value and z3.Z3_get_bool_value(c, value) == z3.Z3_L_TRUE:
                    found.add(z3.Z3_get_symbol_int(c, name))
        return frozenset(found)

    def track(self, name: str, assertion: z3.BoolRef) -> None:
        """Assert a formula under a name, which a core may contain."""
        self.z3.assert_and_track(assertion, name)
        self.tracked.append(z3.Bool(name, assertion.ctx))

    def check(self, *assumptions: z3.BoolRef, seconds: float | None = None) -> Result:
        """Check whether the assertions and the assumptions (literals) have a model.

        Args:
            seconds: time limit of this query; the solver's own if not given.

        Raises:
            SolverError: z3 refused the query.
            KeyboardInterrupt: Ctrl-C, within a second.
        """
        limit = min(LONGEST, self.seconds if seconds is None else seconds)
        if limit <= 0:
            return Result(SolverAnswer.UNDECIDED, 0.0, reason="no time left")
        ready()
        self.z3.set("timeout", max(1, int(limit * 1000)))
        started = time.perf_counter()
        said, problem = self.in_a_thread(assumptions, limit)
        took = time.perf_counter() - started
        if problem:
            raise SolverError(problem)
        result = self.result_of(said, took)
        if smt2.is_recording():  # after reading z3's answer, which this resets
            smt2.record(self.asserted(assumptions), "unknown" if said is None else str(said), took)
        return result

    def result_of(self, said: z3.CheckSatResult | None, took: float) -> Result:
        """Convert z3's answer to a result, with the model, the core or the reason."""
        if said == z3.sat:
            return Result(SolverAnswer.COUNTEREXAMPLE, took, model=self.z3.model())
        if said == z3.unsat:
            return Result(SolverAnswer.PROVED, took, core=tuple(str(name) for name in self.z3.unsat_core()))
        reason = "out of time" if said is None else plain(self.z3.reason_unknown())
        return Result(SolverAnswer.UNDECIDED, took, reason=reason)

    def whether(self, what: z3.BoolRef, *given: z3.BoolRef, seconds: float | None = None) -> Result:
        """Check whether the assertions have a model in which something is true, without asserting it for later queries.

        It is asserted under a switch, which is off from then on.

        Args:
            given: assumptions (literals).
        """
        self.questions += 1
        switch = z3.Bool(f"question {self.questions}", what.ctx)
        implied = z3.Implies(switch, what)
        self.z3.add(implied)
        result = self.check(switch, *given, seconds=seconds)
        off = z3.Not(switch)
        self.z3.add(off)
        self.over += [implied, off]
        return result

    def asserted(self, assumptions: Sequence[z3.BoolRef]) -> list[z3.BoolRef]:
        """Return the formulas of a query: the assertions, names of tracked ones among them, and the assumptions."""
        over = {a.get_id() for a in self.over}
        own = [a for a in self.z3.assertions() if a.get_id() not in over]
        return [*own, *self.tracked, *assumptions]

    def in_a_thread(self, assumptions: tuple[z3.BoolRef, ...], limit: float) -> tuple[z3.CheckSatResult | None, str]:
        """Return z3's answer (None if it did not even notice that its time was over), and its error message."""
        word: list[z3.CheckSatResult] = []
        trouble: list[str] = []
        done = threading.Event()  # not `is_alive`: for Python a thread has ended if Ctrl-C ended its `join`

        def work() -> None:
            running.append(self.z3)
            try:
                word.append(self.z3.check(*assumptions))
            except z3.Z3Exception as problem:
                trouble.append(str(problem))
            finally:
                running.remove(self.z3)
                done.set()

        worker = threading.Thread(target=work, daemon=True, name="z3")
        worker.start()
        try:
            done.wait(limit + GRACE)
        except (KeyboardInterrupt, Abandoned):
            self.interrupt(done, GRACE)
            if not done.is_set():
                abandon(worker)
            raise
        if not done.is_set():
            self.interrupt(done, STUBBORN)
        if not done.is_set():
            abandon(worker)
            raise SolverError(f"z3 has not stopped {STUBBORN:.0f} s after its time was over")
        worker.join()  # it may hold the last reference to a term, and z3 does not support two threads at once
        if trouble and not any(sign in trouble[0] for sign in ("cancel", "interrupt", "timeout")):
            return None, trouble[0]
        return (word[0] if word else None), ""

    def interrupt(self, done: threading.Event, grace: float) -> None:
        """Request z3 to stop, until it does or `grace` seconds have passed."""
        end = Deadline(grace)
        while not (done.is_set() or end.over()):
            self.z3.interrupt()
            done.wait(0.02)


def interruptibly(work: Callable[[], T], seconds: float = math.inf) -> T:
    """Run work that builds many terms or queries, so that Ctrl-C, or a time limit, stops it at any point.

    A signal that arrives inside z3's Python layer can be lost there, or be turned into another error; so the
    work is done in a thread of its own, and the main thread only waits for the signal.

    Work that is interrupted is abandoned: its thread is stopped, and no other query begins before it has ended.
    A command ends the process at once instead (`checker.ending`).

    Raises:
        KeyboardInterrupt: Ctrl-C; the work is abandoned.
        TimeoutError: it took longer than so many seconds; the work is abandoned.
        SolverError: work that was abandoned before does not end.
        BaseException: whatever the work raised.
    """
    ready()
    end = Deadline(seconds)
    results: list[T] = []
    problems: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as problem:
            problems.append(problem)

    need_room()
    worker = threading.Thread(target=run, daemon=True, name="work")
    worker.start()
    try:
        while worker.is_alive():
            if end.over():
                raise TimeoutError
            worker.join(min(0.2, end.left()))
    except (KeyboardInterrupt, TimeoutError):
        abandon(worker)
        raise
    if problems:
        raise problems[0]
    return results[0]


def ready() -> None:
    """Return when z3 may be used.

    Raises:
        SolverError: work that was abandoned is still using it.
    """
    try:
        wait_for_abandoned()
    except StillBusy as busy:
        raise SolverError(str(busy)) from None


def plain(reason: str) -> str:
    """Return z3's reason in the words of a report."""
    if any(sign in reason for sign in ("timeout", "canceled", "interrupted")):
        return "out of time"
    if "memout" in reason or "memory" in reason:
        return "out of memory"
    return reason or "z3 gave no reason"


def ask(assertions: Iterable[z3.BoolRef], **settings: Any) -> Result:
    """Run a single query: whether the assertions have a model. `settings` are those of `Solver`."""
    solver = Solver(**settings)
    solver.add(*assertions)
    return solver.check()
