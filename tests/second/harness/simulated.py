"""The simulator: every step of simulated runs is among the reference's edges."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from tests.second.harness.book import Book
from tests.second.harness.differences import Difference, apart, run_to
from tests.second.harness.question import Question
from tests.second.harness.stepping import Interpreted
from traces import TraceError
from traces.record.simulated import simulated_trace
from traces.record.trace import Trace
from zabspec.language.python.reference import StateView
from zabspec.simulator.run import Fault, Run
from zabspec.worlds.steps import BUDGETS, KINDS

RUNS = 4
ROUNDS = 120
# What is no difference; the third: more is in flight than a configuration has room for; the last: a user protocol whose
# timers or crashes exceed the budgets, which stay as asked.
BEYOND = re.compile(
    "the run is larger than every configuration|the simulated run ends in an error"
    r"|step \d+, word: .* fails, as (in_flight|to_leader|to_follower) would hold more than \d+; widen it with --channel"
    r"|step \d+, word: (heartbeat|election_timeout|timeout|crash)\(.* is not possible there"
)
OF_ACTION = re.compile(r"step \d+, word: action\(process=\d+, which=(\d+)\) is not possible there")
ENOUGH = 500  # states of a request with what a run has spent: the steps in those beyond are not held


def compared(question: Question, explore: Callable[[Mapping[str, Any]], Book]) -> Difference | str | None:
    """Hold simulated runs against the reference, which is asked with the budgets that a run has spent."""
    looked, why = 0, "no run of it is a trace"
    for seed in range(RUNS):
        try:
            trace = simulated_trace(run_of(question, seed))
        except TraceError as problem:
            if not BEYOND.match(str(problem)) and not spends_faults(question, str(problem)):
                return Difference("simulated", "the simulator and the explorer's step", [str(problem)])
            why = str(problem)
            continue
        c = trace.configuration
        asked_for = question.request["budgets"]
        spent = {name: amount for name, amount in c.budget.items() if amount or name in asked_for}
        sizes = {name: n for name in ("txns", "max_epoch", "channel") if (n := getattr(c, name))}
        more = {"budgets": spent, "sizes": sizes, "max_states": ENOUGH, "max_depth": None, "properties": []}
        request = {**question.request, **more}
        asked = Question(request)
        book = explore(request)
        found = along(asked, book, trace)
        if isinstance(found, Difference):
            return found
        looked += found
    return None if looked else why


def spends_faults(question: Question, problem: str) -> bool:
    """Return whether an action is impossible that spends the budget of a fault itself: the faults of the schedule have
    spent it too, and it stays as asked."""
    found = OF_ACTION.match(problem)
    return found is not None and question.model.spends(KINDS["action"], int(found[1])) in BUDGETS


def run_of(question: Question, seed: int) -> Run:
    """A run with faults that the request has budgets for."""
    c, random = question.configuration, Random(f"{seed} simulated")
    faults: list[Fault] = []
    if c.crashes and random.random() < 0.7:
        tick, p = random.randrange(ROUNDS // 2), random.randrange(c.nodes)
        faults += [Fault(tick, "crash", p), Fault(tick + 30, "recover", p)]
    proposals = random.choice((0, 1, 2)) if question.model.protocol.transactions else 0
    return Run(
        seed, c.nodes, ROUNDS, proposals=proposals, faults=tuple(faults), delays=random.choice((3, 12)),
        protocol=c.protocol, variant=c.variant, network=c.network, budgets=c.budgets, parameters=c.parameters,
        start=c.start,
    )  # fmt: skip


def along(question: Question, book: Book, trace: Trace) -> Difference | int:
    """Hold the steps of a run against the reference's edges; how many there were to be held."""
    engine, plain = Interpreted(question), question.plain
    _, number = trace.configuration.named_start
    state, looked = next(s for s, n in question.model.program.starts.items() if n == number), 0
    names: Callable[..., Any] = engine.engine.names["apply"]
    for step in trace.steps:
        after = StateView(plain.layout, state)
        names(after, step.word.word)
        data = bytes(after.key())
        k, text = book.number.get(plain.text(state)), plain.text(data)
        if k is not None and k in book.expanded_set:
            looked += 1
            if text not in book.steps(k):
                lines = [question.label(step.word.word), *apart(book.keys[k], text), *run_to(book, k)]
                return Difference("simulated", "a step that is not among the edges", lines)
        state = data
    return looked
