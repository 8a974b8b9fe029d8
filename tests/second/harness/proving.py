"""z3's words: what `induct` proves holds with two more of each budget, and what `bmc` finds, or does not, is so."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from checker.proofs.report.induction import proved_of
from checker.proofs.symbolic import pool
from checker.proofs.symbolic.assumptions import beside, counts, sized
from checker.proofs.symbolic.bmc import Bounds, check
from checker.proofs.symbolic.pool import Outcome, Verdict
from invariants.registry import STEP, TERMINAL, Property
from tests.second.harness.book import Book
from tests.second.harness.differences import Difference, Undecided
from tests.second.harness.question import Question
from zabspec.model import Model
from zabspec.proofs.symbolic import Untranslatable

DEPTH = 3  # steps of bounded checking
MORE = 2  # of each budget that is not 0 and not counted
STATES = 4000  # of the exploration with more
QUERY = 0.5  # seconds of a query
LONGEST = 15.0  # CPU seconds of an induction


def compared(
    question: Question, book: Book, explore: Callable[[Mapping[str, Any]], Book]
) -> Difference | Undecided | str | None:
    """Hold `bmc` and `induct` against the reference."""
    if question.model.fails:
        return "z3 does not take protocols with disks"
    judged = [p for p in question.properties if p.of != TERMINAL]
    try:
        if wrong := bounded(question, book, judged):
            return wrong
        outcome = proved(question, [p for p in judged if book.verdicts[p.name]["result"] != "violated"])
    except Untranslatable as why:
        return str(why)
    if outcome is None:
        return None
    if outcome.second is not None and outcome.second.difference:
        return Difference("proving", "the second opinion differs", [outcome.second.difference])
    holding, supposed = proved_of(outcome)
    if not holding or supposed:
        return Undecided("; ".join(outcome.obstacles[:1]) or "a query") if outcome.unasked else None
    given = question.request["budgets"]
    budgets = {name: n + MORE if n and not counts(question.model, name) else n for name, n in given.items()}
    more = explore({**question.request, "budgets": budgets, "max_states": STATES, "max_depth": None})
    wrong_words = [f"{name} at depth {v['depth']}" for name, v in more.verdicts.items()
                   if name in holding and v["result"] == "violated"]  # fmt: skip
    return Difference("proving", "proved, and violated", wrong_words) if wrong_words else None


def bounded(question: Question, book: Book, judged: Sequence[Property]) -> Difference | None:
    """Hold what `bmc` says of a few steps against the verdicts, as far as the reference has gone."""
    model = Model(sized(question.configuration))
    found = check(model, judged, Bounds(min(DEPTH, book.last_level()), seconds=LONGEST, query_seconds=QUERY))
    if found.second.difference:
        return Difference("proving", "the second opinion of bmc differs", [found.second.difference])
    depths = {n: v["depth"] for n, v in book.verdicts.items() if v["result"] == "violated"}
    within = found.depth if found.depth and not found.left_range else -1
    missed = [f"{p.name} at depth {depths[p.name]}" for p in judged if depths.get(p.name, 1 << 30) <= within]
    if missed:
        return Difference("proving", "bmc misses a violation", missed)
    wrong = [p.name for p in found.broken if depths.get(p.name, 1 << 30) > len(found.schedule)]
    return Difference("proving", "bmc finds what is not", wrong) if wrong else None


def proved(question: Question, judged: Sequence[Property]) -> Outcome | None:
    """What `induct` says of the properties that are inductive together; None if there are none."""
    c = sized(question.configuration)
    own, end = [p.name for p in judged if p.of != STEP], time.process_time() + LONGEST
    steps = [p.name for p in judged if p.of == STEP]
    while own or steps:
        outcome = asked(c, (*(p.name for p in beside(c)), *own), steps, end)
        open_ = {v.clause.name for v in outcome.verdicts if v.failing is not None}
        if outcome.unasked or not open_:
            return outcome
        own, steps = [n for n in own if n not in open_], [n for n in steps if n not in open_]
    return None


def asked(c: Any, clauses: tuple[str, ...], steps: Sequence[str], end: float) -> Outcome:
    """What comes of an induction in this process, each clause as long as nothing violates it."""
    for kept in (pool.induction, pool.possible, pool.told_apart):
        kept.cache_clear()
    asking = pool.Question(c, clauses, targets=tuple(steps), seconds=QUERY)
    induction, possible = pool.induction(asking), pool.possible(asking)
    verdicts = {p.name: Verdict(p) for p in asking.named(asking.asked)}
    outcome = Outcome(asking, list(verdicts.values()), [possible.enabled()])
    pool.note(verdicts, induction.initially())
    for k, move in enumerate(induction.moves):
        names = [n for n, v in verdicts.items() if v.failing is None]
        if time.process_time() > end or not names:
            outcome.unasked = len(induction.moves) - k if names else 0
            return replace(outcome, second=None)
        outcome.taken.append(taken := possible.of(move))
        if not taken.impossible:
            pool.note(verdicts, induction.ask(move, names))
    kept = {n: v.k for n, v in verdicts.items() if v.holds}
    outcome.second = pool.opinion((asking, kept, frozenset(outcome.impossible), outcome.erring))
    return outcome
