"""The abstract part of a refined state as a finite instance: the input of the proof's own reader of formulas.

It shares no code with what the explorer runs: tests compare the generated functions with it, and a counterexample uses
it to name the elements for which a clause fails.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from checker.proofs.prove.finite import Finite, Instance, Table
from checker.proofs.refine.model import RefinedModel
from checker.proofs.refine.shapes import KEPT
from traces.explain.names import process_name
from zabspec.language import StateView
from zabspec.proofs.abstract.logic import ATTEMPT, COUNTER, EPOCH, HISTORY, PROCESS, QUORUM, Sort, Symbol
from zabspec.proofs.abstract.vocabulary import counter, ep, epoch, leads, prefix
from zabspec.quorums import system_of


def instance_of(model: RefinedModel) -> Instance:
    """Return the finite instance that the configuration bounds. Attempt 0 is the beginning.

    Then each process's epochs.
    """
    c = model.configuration
    n, txns = c.nodes, c.txns
    sets = [frozenset(p for p in range(n) if mask >> p & 1) for mask in range(1 << n)]
    if c.quorums:
        quorums = tuple(sets[mask] for mask in system_of(c.quorums).quorums)
    else:
        quorums = tuple(q for q in sets if len(q) >= c.smallest_quorum)
    return Instance(
        quorums=quorums,
        processes=n,
        attempts=1 + n * model.epochs,
        histories=txns + 1,
        epochs=model.epochs + 1,
        counters=txns + 1,
    )


def attempt_of(model: RefinedModel, c: int) -> tuple[int, int]:
    """Return the process and the epoch of an attempt's number."""
    return (0, 0) if c == 0 else ((c - 1) // model.epochs, (c - 1) % model.epochs + 1)


def table_of(model: RefinedModel, s: StateView) -> Table:
    """Return the abstract state as a table."""
    instance = instance_of(model)
    values: dict[Symbol, dict[tuple[int, ...], Any]] = {
        symbol: {place: entry(model, s, symbol, place) for place in instance.tuples(symbol.arguments)}
        for symbol in KEPT
    }
    attempts, histories = range(instance.attempts), range(instance.histories)
    values[ep] = {(c,): attempt_of(model, c)[1] for c in attempts}
    values[leads] = {
        (p, c): c > 0 and attempt_of(model, c)[0] == p for p, c in product(range(instance.processes), attempts)
    }
    values[epoch] = {(x,): s.abcast_txn[x - 1].epoch if x else 0 for x in histories}
    values[counter] = {(x,): s.abcast_txn[x - 1].counter if x else 0 for x in histories}
    return Table(Finite(instance), values)


def entry(model: RefinedModel, s: StateView, symbol: Symbol, arguments: tuple[int, ...]) -> Any:
    """Return one value, read at its location according to `shapes`."""
    pairs = list(zip(symbol.arguments, arguments, strict=True))
    if symbol is prefix:
        pairs.reverse()
    attempts = [attempt_of(model, k) for sort, k in pairs if sort == ATTEMPT]
    index = [l for l, _ in attempts] + [k for sort, k in pairs if sort == PROCESS]
    index += [e for _, e in attempts] + [k for sort, k in pairs if sort not in (ATTEMPT, PROCESS)]
    at = getattr(s, f"a_{symbol.name}")
    for k in index[:-1]:
        at = at[k]
    return index[-1] in at if symbol.result is None else at[index[-1]]


def named(model: RefinedModel, sort: Sort, k: int) -> str:
    """Return the name of an element for messages."""
    if sort == ATTEMPT:
        l, e = attempt_of(model, k)
        return "the beginning" if k == 0 else f"{process_name(l)}'s attempt at epoch {e}"
    if sort == QUORUM:
        return "{" + ", ".join(process_name(p) for p in sorted(instance_of(model).quorums[k])) + "}"
    if sort == HISTORY:
        return "the empty history" if k == 0 else f"t{k}"
    return {PROCESS: process_name(k), EPOCH: f"epoch {k}", COUNTER: f"counter {k}"}[sort]
