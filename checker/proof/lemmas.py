"""Lemmas under the proof: that quorums intersect, how many crashes they survive, and zxids as 64-bit words."""

from __future__ import annotations

from dataclasses import dataclass

import z3

from checker.proof.ensemble import Ensemble
from checker.solver import Answer, Result, Solver, ask

__all__ = ["Lemma", "Survival", "arithmetic", "intersection", "survival", "zxid_lemmas"]


@dataclass(frozen=True)
class Lemma:
    """A statement, its answer, and an example: what the model shows where it is not true."""

    name: str
    answer: Answer
    seconds: float
    example: str = ""


# --- quorums of a configuration ------------------------------------------------------------------


def quorum(ensemble: Ensemble, chosen: dict[int, z3.BoolRef]) -> z3.BoolRef:
    """That the chosen servers are a quorum, as ZooKeeper counts."""
    blocks = ensemble.blocks()
    won = []
    for _, members in blocks:
        mine = z3.Sum([z3.If(chosen[s], ensemble.weights[s], 0) for s in members])
        won.append(z3.If(2 * mine > ensemble.weight(members), 1, 0))
    return 2 * z3.Sum(won) > len(blocks) if won else z3.BoolVal(False)


def variables(ensemble: Ensemble, name: str) -> dict[int, z3.BoolRef]:
    return {s: z3.Bool(f"{name}{s}") for s in ensemble.participants}


def servers(result: Result, chosen: dict[int, z3.BoolRef]) -> frozenset[int]:
    """Whom the model chooses."""
    assert result.model is not None
    return frozenset(s for s, v in chosen.items() if z3.is_true(result.model.eval(v, model_completion=True)))


def intersection(ensemble: Ensemble, seconds: float, seed: int) -> tuple[Result, tuple[frozenset[int], ...]]:
    """Whether any two quorums intersect (II.1): proved, or two that do not."""
    one, other = variables(ensemble, "one "), variables(ensemble, "other ")
    disjoint = [z3.Not(z3.And(one[s], other[s])) for s in ensemble.participants]
    result = ask([quorum(ensemble, one), quorum(ensemble, other), *disjoint], seconds=seconds, seed=seed)
    return result, (() if result.model is None else (servers(result, one), servers(result, other)))


@dataclass(frozen=True)
class Survival:
    """How many crashes leave a quorum: `any_of` whichever servers they are, `stopped_by` the smallest set that
    stops the ensemble; `some_of` when they are well chosen, all but `enough`. None: undecided."""

    any_of: int
    stopped_by: frozenset[int]
    some_of: int
    enough: frozenset[int]


def survival(ensemble: Ensemble, seconds: float, seed: int) -> Survival | str:
    """What the ensemble survives, or the reason why that was not decided. Weights must not be negative."""
    up, size = variables(ensemble, "up "), len(ensemble.participants)
    count = z3.Sum([z3.If(v, 1, 0) for v in up.values()])
    solver = Solver(seconds=seconds, seed=seed)
    for crashes in range(size + 1):
        result = asked(solver, z3.Not(quorum(ensemble, up)), count == size - crashes)
        if result.answer is Answer.UNDECIDED:
            return result.reason
        if result.model is not None:
            stopped = frozenset(ensemble.participants) - servers(result, up)
            break
    for enough in range(size + 1):
        result = asked(solver, quorum(ensemble, up), count == enough)
        if result.answer is Answer.UNDECIDED:
            return result.reason
        if result.model is not None:
            return Survival(crashes - 1, stopped, size - enough, servers(result, up))
    return Survival(-1, frozenset(), -1, frozenset())


def asked(solver: Solver, *formulas: z3.BoolRef) -> Result:
    """One question, forgotten afterwards."""
    solver.push()
    solver.add(*formulas)
    result = solver.check()
    solver.pop()
    return result


# --- for any sizes -------------------------------------------------------------------------------


def arithmetic(seconds: float, seed: int) -> list[Lemma]:
    """Why they intersect, for any number of servers and groups and any weights that are not negative."""
    mine, yours, both, whole = z3.Ints("mine yours both whole")
    # two sets of members of weights `mine` and `yours`; `both` is what they share
    sets = [mine >= 0, yours >= 0, both >= 0, both <= mine, both <= yours, mine + yours - both <= whole]
    return [
        lemma(
            "two sets with more than half of the weight share some weight, so a member (majorities: weight 1 each)",
            [*sets, 2 * mine > whole, 2 * yours > whole, both <= 0], seconds, seed,
        ),
        lemma(
            "two majorities of the groups share a group, in which both have more than half of the weight",
            [*sets, whole >= 1, 2 * mine > whole, 2 * yours > whole, both < 1], seconds, seed,
        ),
        lemma(
            "with exactly half of the weight they need not share any",
            [*sets, whole >= 1, 2 * mine >= whole, 2 * yours >= whole, both <= 0], seconds, seed,
        ),
    ]  # fmt: skip


def lemma(name: str, negated: list[z3.BoolRef], seconds: float, seed: int) -> Lemma:
    """A statement given by the formulas that it says cannot hold together."""
    result = ask(negated, seconds=seconds, seed=seed)
    example = ""
    if result.model is not None:
        values = {d.name(): result.model[d] for d in result.model.decls()}
        example = ", ".join(f"{name} = {shown(values[name])}" for name in sorted(values))
    return Lemma(name, result.answer, result.seconds, example)


def shown(value: z3.ExprRef) -> str:
    return hex(value.as_long()) if isinstance(value, z3.BitVecNumRef) else str(value)


# --- zxids ---------------------------------------------------------------------------------------


def zxid_lemmas(seconds: float, seed: int) -> list[Lemma]:
    """The zxid as ZooKeeper has it: a signed 64-bit word, the epoch in its high half, the counter in its low."""
    e, c, e2, c2 = z3.BitVecs("epoch counter epoch2 counter2", 32)
    word, word2 = z3.Concat(e, c), z3.Concat(e2, c2)
    pairs = z3.Or(z3.ULT(e, e2), z3.And(e == e2, z3.ULT(c, c2)))
    positive = [e >= 0, e2 >= 0]  # signed: below 2**31
    following = word + 1
    same_epoch = z3.Extract(63, 32, following) == e
    next_counter = z3.And(z3.UGT(z3.Extract(31, 0, following), c), same_epoch)
    return [
        lemma(
            "zxids in the order of words are in the order of (epoch, counter), for epochs below 2**31",
            [*positive, (word < word2) != pairs], seconds, seed,
        ),
        lemma(
            "the same for epochs up to 2**32 - 1, compared as signed words",
            [(word < word2) != pairs], seconds, seed,
        ),
        lemma(
            "zxid + 1 is of the same epoch with a later counter, below counter 2**32 - 1",
            [c != 0xFFFFFFFF, z3.Not(next_counter)], seconds, seed,
        ),
        lemma(
            "the same at counter 2**32 - 1 (the counter wraps: zxid + 1 is of the next epoch, counter 0)",
            [c == 0xFFFFFFFF, e >= 0, z3.Not(next_counter)], seconds, seed,
        ),
        lemma(
            "zxid + 1 is later than zxid, whatever the counter, for epochs below 2**31 - 1",
            [e >= 0, e != 0x7FFFFFFF, z3.Not(following > word)], seconds, seed,
        ),
        lemma(
            "no two primaries give one zxid: counting on from zxid never meets a zxid of a later epoch",
            [e >= 0, e2 == e + 1, e2 > 0, c2 == 1, word + 2 == word2], seconds, seed,
        ),
    ]  # fmt: skip
