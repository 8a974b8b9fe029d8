"""Describe states, steps and runs of the finite instance in words."""

from __future__ import annotations

from collections.abc import Collection

from checker.proofs.prove.finite import Table
from checker.proofs.prove.stepping import Induction, ProofRun, Step
from zabspec.proofs.abstract.connections import between
from zabspec.proofs.abstract.logic import (
    ATTEMPT,
    CONNECTION,
    COUNTER,
    EPOCH,
    HISTORY,
    PROCESS,
    QUORUM,
    SORT_OF,
    Sort,
    Symbol,
    mentions,
)
from zabspec.proofs.abstract.vocabulary import counter, ep, epoch, leads, prefix


def named(table: Table, sort: Sort, k: int) -> str:
    """Return an element's name."""
    if sort == QUORUM:
        return "{" + ", ".join(f"p{p + 1}" for p in sorted(table.world.instance.quorums[k])) + "}"
    if sort in (ATTEMPT, HISTORY) and k == 0:
        return "the beginning" if sort == ATTEMPT else "-"
    return {
        PROCESS: f"p{k + 1}",
        CONNECTION: f"i{k + 1}",
        ATTEMPT: f"a{k}",
        HISTORY: f"h{k}",
        EPOCH: f"e{k}",
        COUNTER: f"n{k}",
    }[sort]


def step_words(table: Table, taken: Step) -> str:
    """Return the paper's name of a step, and its parameters."""
    names = [
        f"{v.name}={named(table, v.sort, k)}" for v, k in zip(taken.action.parameters, taken.arguments, strict=True)
    ]
    return f"{taken.action.name}({', '.join(names)})"


def setting_lines(table: Table, attempts: Collection[int], histories: Collection[int]) -> list[str]:
    """Return lines on the process of each attempt, and the history that each history extends."""
    lines = []
    for c in sorted(set(attempts) - {0}):
        who = [f"p{p + 1}" for p in range(table.world.instance.processes) if table.entry(leads, (p, c))]
        lines.append(f"a{c}: of {' or '.join(who) or 'nobody'}, epoch e{table.entry(ep, (c,))}")
    for x in sorted(set(histories) - {0}):
        below = [y for y in range(x) if table.entry(prefix, (y, x))]
        zxid = f"zxid (e{table.entry(epoch, (x,))}, n{table.entry(counter, (x,))})"
        lines.append(f"h{x}: after {named(table, HISTORY, below[-1])}, {zxid}")
    for (p, c, i), there in table.values.get(between, {}).items():
        if there:
            lines.append(f"i{i + 1}: a connection of p{p + 1} to {named(table, ATTEMPT, c)}")
    return lines


def facts(table: Table, symbols: Collection[Symbol]) -> dict[tuple[Symbol, tuple[int, ...]], str]:
    """Return what is true of the symbols, in words, except about the empty history and the beginning."""
    found = {}
    for symbol in table.values:
        if symbol.rigid or symbol not in symbols:
            continue
        for place, value in table.values[symbol].items():
            sorts = symbol.arguments
            dull = any(k == 0 and s in (HISTORY, ATTEMPT) for k, s in zip(place, sorts, strict=True))
            if dull or value is False:
                continue
            words = ", ".join(named(table, s, k) for k, s in zip(place, sorts, strict=True))
            result = "" if symbol.result is None else f" = {named(table, symbol.result, value)}"
            found[symbol, place] = f"{symbol.name}({words}){result}"
    return found


def induction_lines(found: Induction) -> list[str]:
    """Return the lines of a counterexample to induction: the relevant facts before, the step, and what it changes."""
    action = found.step.action
    symbols = mentions(found.clause.formula) | mentions(action.guard) | action.updates.keys()
    before, after = facts(found.before, symbols), facts(found.after, symbols)
    of: dict[Sort, set[int]] = {ATTEMPT: set(), HISTORY: set()}
    for (symbol, place), _ in [*before.items(), *after.items()]:
        for sort, k in zip(symbol.arguments, place, strict=True):
            if sort in of:
                of[sort].add(k)
    where = ", ".join(f"{n} = {named(found.before, SORT_OF[n[0]], k)}" for n, k in found.where.items())
    return [
        *setting_lines(found.before, of[ATTEMPT], of[HISTORY]),
        "before: " + ("; ".join(before.values()) or "nothing"),
        "step:   " + step_words(found.before, found.step),
        "after:  " + ("; ".join(text for key, text in after.items() if before.get(key) != text) or "nothing new"),
        *(["gone:   " + "; ".join(gone)] if (gone := [t for k, t in before.items() if k not in after]) else []),
        f"fails:  {found.clause.name}, with {where}" if where else f"fails:  {found.clause.name}",
    ]


def run_lines(run: ProofRun) -> list[str]:
    """Return the lines of a run, step by step."""
    first = run.states[0]
    instance = first.world.instance
    return [
        *setting_lines(first, range(instance.attempts), range(instance.histories)),
        *(f"{k + 1:3}. {step_words(first, s)}" for k, s in enumerate(run.steps)),
    ]
