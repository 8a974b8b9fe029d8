"""Lemmas of the proof: that quorums intersect, how many crashes they survive, and zxids as 64-bit words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import z3

from checker.proofs.symbolic.solver import Result, SolverAnswer, ask
from zabspec.ensemble import Ensemble

APPLIED = 2  # the first lemmas of `arithmetic`: they hold for every ensemble without negative weights


@dataclass(frozen=True)
class Lemma:
    """A statement, its answer, and an example: the values of the model if it is not true."""

    name: str
    answer: SolverAnswer
    seconds: float
    example: str = ""


# --- quorums of a configuration ------------------------------------------------------------------


def quorum(ensemble: Ensemble, chosen: dict[int, z3.BoolRef]) -> z3.BoolRef:
    """Return the formula that the chosen servers are a quorum, as ZooKeeper counts."""
    won = []
    for members, half in ensemble.blocks():
        mine = z3.Sum([z3.If(chosen[s], ensemble.weights[s], 0) for s in members])
        won.append(z3.If(z3.And(z3.Or([chosen[s] for s in members]), mine > half), 1, 0))
    return z3.Sum(won) > ensemble.counted // 2


def variables(ensemble: Ensemble, name: str) -> dict[int, z3.BoolRef]:
    return {s: z3.Bool(f"{name}{s}") for s in ensemble.participants}


def servers(result: Result, chosen: dict[int, z3.BoolRef]) -> frozenset[int]:
    """Return the servers that the model chooses."""
    assert result.model is not None
    return frozenset(s for s, v in chosen.items() if z3.is_true(result.model.eval(v, model_completion=True)))


def intersection(
    ensemble: Ensemble, seconds: float, seed: int, lemmas: Sequence[Lemma] = ()
) -> tuple[Result, tuple[frozenset[int], ...]]:
    """Prove that any two quorums intersect (II.1), or return two that do not.

    Without negative weights they do by the first two lemmas, whatever the ensemble; else its sets are searched.

    Args:
        lemmas: those of `arithmetic`; proved here if not given.
    """
    if ensemble.doubtful:
        alone = [frozenset((s,)) for s in ensemble.participants]
        return Result(SolverAnswer.COUNTEREXAMPLE, 0.0), tuple(alone) if len(alone) == 2 else (alone[0], frozenset())
    if ensemble.lightest >= 0:
        applied = [*(lemmas or arithmetic(seconds, seed))][:APPLIED]
        undecided = [x for x in applied if x.answer is not SolverAnswer.PROVED]
        took = sum(x.seconds for x in applied)
        if undecided:
            return Result(SolverAnswer.UNDECIDED, took, reason=f"a lemma is undecided: {undecided[0].name}"), ()
        return Result(SolverAnswer.PROVED, took), ()
    one, other = variables(ensemble, "one "), variables(ensemble, "other ")
    disjoint = [z3.Not(z3.And(one[s], other[s])) for s in ensemble.participants]
    result = ask([quorum(ensemble, one), quorum(ensemble, other), *disjoint], seconds=seconds, seed=seed)
    return result, (() if result.model is None else (servers(result, one), servers(result, other)))


def any_quorum(ensemble: Ensemble, seconds: float, seed: int) -> bool:
    """Return whether some servers are a quorum; also if that is undecided."""
    return (
        ask([quorum(ensemble, variables(ensemble, "some "))], seconds=seconds, seed=seed).answer
        is not SolverAnswer.PROVED
    )


@dataclass(frozen=True)
class Survival:
    """The numbers of crashes that leave a quorum, in the worst and in the best case.

    `any_of` crashes leave one whichever servers they are, and `stopped_by` is the smallest set that stops the ensemble.
    `some_of` crashes leave one if they are well chosen: all servers but `enough`.
    """

    any_of: int
    stopped_by: frozenset[int]
    some_of: int
    enough: frozenset[int]


def survival(ensemble: Ensemble) -> Survival:
    """Return what an ensemble survives that has a quorum and no negative weight.

    The fewest crashes remove the majority of just as many groups as are needed, in each its heaviest members; the
    smallest quorum is found in the same way.
    """
    needed = ensemble.counted // 2
    blocks = [(members, half) for members, half in ensemble.blocks() if ensemble.weight(members) > half]
    stopped = fewest(ensemble, blocks, len(blocks) - needed, lambda left, whole, half: left <= half)
    enough = fewest(ensemble, blocks, needed + 1, lambda left, whole, half: whole - left > half)
    return Survival(len(stopped) - 1, stopped, len(ensemble.participants) - len(enough), enough)


def fewest(
    ensemble: Ensemble,
    blocks: Sequence[tuple[tuple[int, ...], int]],
    count: int,
    taken: Callable[[int, int, int], bool],
) -> frozenset[int]:
    """Return the fewest members that take `count` of the groups.

    Args:
        taken: whether a group is taken, by the weight of its other members, of all of them, and what they must exceed.
    """
    sets = []
    for members, half in blocks:
        whole = left = ensemble.weight(members)
        heaviest: list[int] = []
        for s in sorted(members, key=lambda s: -ensemble.weights[s]):
            if taken(left, whole, half):
                break
            heaviest.append(s)
            left -= ensemble.weights[s]
        sets.append(heaviest)
    return frozenset(s for chosen in sorted(sets, key=len)[:count] for s in chosen)


# --- for any sizes -------------------------------------------------------------------------------


def arithmetic(seconds: float, seed: int) -> list[Lemma]:
    """Prove that quorums intersect, for any number of servers and groups and any weights that are not negative."""
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
            "with exactly half of the weight they may share none",
            [*sets, whole >= 1, 2 * mine >= whole, 2 * yours >= whole, both <= 0], seconds, seed,
        ),
    ]  # fmt: skip


def lemma(name: str, negated: list[z3.BoolRef], seconds: float, seed: int) -> Lemma:
    """Prove a statement, given by formulas that it says cannot all hold."""
    result = ask(negated, seconds=seconds, seed=seed)
    example = ""
    if result.model is not None:
        values = {d.name(): result.model[d] for d in result.model.decls()}
        example = ", ".join(f"{name} = {value_text(values[name])}" for name in sorted(values))
    return Lemma(name, result.answer, result.seconds, example)


def value_text(value: z3.ExprRef) -> str:
    return hex(value.as_long()) if isinstance(value, z3.BitVecNumRef) else str(value)


# --- zxids ---------------------------------------------------------------------------------------


def zxid_lemmas(seconds: float, seed: int) -> list[Lemma]:
    """Prove the lemmas about zxids as ZooKeeper has them: signed 64-bit words, the epoch high, the counter low."""
    e, c, e2, c2 = z3.BitVecs("epoch counter epoch2 counter2", 32)
    word, word2 = z3.Concat(e, c), z3.Concat(e2, c2)
    pairs = z3.Or(z3.ULT(e, e2), z3.And(e == e2, z3.ULT(c, c2)))
    positive = [e >= 0, e2 >= 0]  # signed: below 2**31
    following = word + 1
    same_epoch = z3.Extract(63, 32, following) == e
    next_counter = z3.And(z3.UGT(z3.Extract(31, 0, following), c), same_epoch)
    return [
        lemma(
            "the order of zxids as words is the order of (epoch, counter), for epochs below 2**31",
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
            "no two primaries use one zxid: incrementing a zxid never reaches a zxid of a later epoch",
            [e >= 0, e2 == e + 1, e2 > 0, c2 == 1, word + 2 == word2], seconds, seed,
        ),
    ]  # fmt: skip
