"""The door to z3: three answers, limits that hold, and Ctrl-C."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import z3

from checker.proofs.symbolic import abandoned
from checker.proofs.symbolic.solver import Solver, SolverAnswer, SolverError, ask, interruptibly
from tests.patience import HANG


def pigeons(holes: int) -> list[z3.BoolRef]:
    """One pigeon too many: no model, and long to find out."""
    sits = [[z3.Bool(f"p{p}h{h}") for h in range(holes)] for p in range(holes + 1)]
    pairs = [(p, q, h) for h in range(holes) for p in range(holes + 1) for q in range(p)]
    return [z3.Or(row) for row in sits] + [z3.Not(z3.And(sits[p][h], sits[q][h])) for p, q, h in pairs]


def test_a_limit_holds_and_the_solver_can_be_asked_again():
    solver = Solver(seconds=0.3)
    assert solver.whether(z3.And(pigeons(12))).answer is SolverAnswer.UNDECIDED
    assert solver.check().answer is SolverAnswer.COUNTEREXAMPLE
    assert solver.check(seconds=0).reason == "no time left"


def test_a_query_z3_refuses_is_an_error_and_not_an_answer():
    with pytest.raises(SolverError):
        Solver(logic="NO_SUCH_LOGIC").check()


@pytest.fixture
def default_sigint() -> Iterator[None]:
    """What started the tests may have SIGINT ignored, as shells do in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("default_sigint")
def test_control_c_stops_z3():
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    formula = pigeons(13)  # built before the timer starts: this is about an interrupt while z3 works
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ask(formula, seconds=HANG)
    abandoned.wait_for_abandoned()
    for thread in threading.enumerate():  # z3 has stopped, too, and does not work on to its limit
        if thread.name == "z3":
            assert thread.ident not in sys._current_frames(), "z3 works on"


BUILDS = """
import os, signal, threading, time, z3
from checker.proofs.symbolic.solver import interruptibly

def build():
    x = z3.Int("x")
    while True:
        z3.And(*(x > k for k in range(100)))

def send():
    sent.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)

sent = []
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.3, send).start()
try:
    interruptibly(build)
except KeyboardInterrupt:
    print(time.process_time() - sent[0], flush=True)
    os._exit(0)
"""


def test_control_c_stops_work_that_builds_terms():
    """In a process of its own: the work that is left behind goes on, and z3 does not stand two threads at once."""
    done = subprocess.run([sys.executable, "-c", BUILDS], capture_output=True, text=True, timeout=HANG, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert float(done.stdout) < 5, "CPU seconds"


TOLD = """
import z3
told = []
z3.Z3_enable_concurrent_dec_ref = told.append
import checker.proofs.symbolic.solver
assert [context.value for context in told] == [z3.main_ctx().ref().value]
"""


def test_z3_is_told_that_other_threads_free_terms():
    """Python's garbage collector frees terms in whichever thread it runs, while another is inside z3: that crashed z3
    within seconds on two idle cores, and can change an answer. z3 queues what is freed if it is told to expect it."""
    done = subprocess.run([sys.executable, "-c", TOLD], capture_output=True, text=True, timeout=HANG, check=False)
    assert (done.returncode, done.stderr) == (0, "")


ABANDONED = """
import os, signal, threading, z3
from checker.proofs.symbolic.solver import Solver, interruptibly

def build():
    begun.set()
    x = z3.Int("x")
    while True:
        z3.And(*(x > k for k in range(100)))

def again():
    p, q = z3.Bools("p q")
    solver = Solver()
    solver.add(z3.Or(p, q))
    return solver.check(z3.Not(p), z3.Not(q)).proved

begun = threading.Event()
for limit in (0.2, 0.1):
    try:
        interruptibly(build, seconds=limit)
    except TimeoutError:
        print([interruptibly(again) for _ in range(30)] == [True] * 30)
print(threading.active_count())
"""


@pytest.mark.slow(seconds=1)
def test_after_an_interrupted_request_z3_is_used_by_one_thread_alone():
    """In a process that goes on, as a notebook does: what was interrupted has ended before the next query begins."""
    done = subprocess.run([sys.executable, "-c", ABANDONED], capture_output=True, text=True, timeout=HANG, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\nTrue\n1\n", "")


@pytest.mark.parametrize(
    ("problem", "is_told"),
    [
        (abandoned.Abandoned(), False),
        (ctypes.ArgumentError("argument 1: Abandoned: "), False),
        (ctypes.ArgumentError("argument 1: TypeError: wrong type"), True),
        (ValueError("Abandoned"), True),
    ],
)
def test_only_what_ends_an_abandoned_thread_is_not_told(problem: BaseException, is_told: bool):
    told: list[object] = []
    abandoned._Hook(told.append)(SimpleNamespace(exc_type=type(problem), exc_value=problem))
    assert bool(told) == is_told


def test_z3_is_refused_while_an_interrupted_request_uses_it(monkeypatch: pytest.MonkeyPatch):
    over = threading.Event()

    def stubborn() -> None:
        while not over.is_set():
            try:
                over.wait(0.01)
            except abandoned.Abandoned:
                continue

    monkeypatch.setattr(abandoned, "LONGEST", 0.1)
    with pytest.raises(TimeoutError):
        interruptibly(stubborn, seconds=0.05)
    with pytest.raises(SolverError, match="start a new process"):
        Solver()
    with pytest.raises(SolverError, match="start a new process"):
        interruptibly(lambda: 7)
    over.set()
    monkeypatch.undo()
    assert interruptibly(lambda: 7) == 7


def test_what_work_raises_comes_out():
    assert interruptibly(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        interruptibly(lambda: 1 // 0)
