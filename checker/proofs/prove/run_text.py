"""Convert a run in words to a run: its finite instance, its steps, and whether they are enabled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checker.proofs.prove.finite import Finite, Instance, Table
from checker.proofs.prove.meaning import meaning
from checker.proofs.prove.stepping import ProofRun, Step, beginning, may, step, truth
from zabspec.proofs.abstract.connections import between
from zabspec.proofs.abstract.logic import ATTEMPT, CONNECTION, HISTORY, PROCESS, QUORUM, Sort, Symbol
from zabspec.proofs.abstract.runs import Story
from zabspec.proofs.abstract.theory import Theory
from zabspec.proofs.abstract.vocabulary import counter, ep, epoch, leads, prefix

LETTER = {PROCESS: "p", QUORUM: "q", ATTEMPT: "a", HISTORY: "h", CONNECTION: "i"}


@dataclass(frozen=True)
class Refused:
    """A run that is not possible: the step (from 1) and the guard, or else the axiom, that refuses it."""

    at: int
    step: Step | None
    by: str


def take(theory: Theory, story: Story) -> ProofRun | Refused:
    """Take the run in words in a theory.

    Raises:
        ValueError: a step is not written with the action's parameters.
    """
    quorums = tuple(frozenset(int(d) - 1 for d in q) for q in story.quorums)
    attempts = [("p1", "e0"), *(tuple(a.split()) for a in story.attempts)]
    histories = [("-", "e0", "n0"), *(tuple(h.split()) for h in story.histories)]
    ends = [tuple(i.split()) for i in story.connections]
    instance = Instance(quorums, 3, len(attempts), len(histories), 4, 3, max(1, len(ends)))
    world = Finite(instance)
    parents = [number(h[0]) for h in histories]
    values: dict[Symbol, dict[tuple[int, ...], Any]] = {
        leads: {(p, c): attempts[c][0] == f"p{p + 1}" for p, c in instance.tuples([PROCESS, ATTEMPT])},
        ep: {(c,): int(a[1][1:]) for c, a in enumerate(attempts)},
        prefix: {(x, y): below(x, y, parents) for x, y in instance.tuples([HISTORY, HISTORY])},
        epoch: {(x,): int(h[1][1:]) for x, h in enumerate(histories)},
        counter: {(x,): int(h[2][1:]) for x, h in enumerate(histories)},
        between: {
            (p, c, i): (f"p{p + 1}", f"a{c}") in ends[i : i + 1]
            for p, c, i in instance.tuples([PROCESS, ATTEMPT, CONNECTION])
        },
    }
    state = beginning(theory, Table(world, values))
    for name, axiom in theory.axioms.items():
        if not truth(axiom, state):
            return Refused(0, None, name)
    steps, states = [s for line in story.steps for s in read(line, theory, story)], [state]
    for k, taken in enumerate(steps):
        if not may(states[-1], taken):
            bound = dict(zip(taken.action.parameters, taken.arguments, strict=True))
            by = next(n for n, g in taken.action.guards.items() if meaning(g, bound, states[-1]) is not True)
            return Refused(k + 1, taken, by)
        states.append(step(states[-1], taken))
    broken = tuple(p.name for p in theory.properties if not truth(p.formula, states[-1]))
    return ProofRun(tuple(steps), tuple(states), broken)


def number(name: str) -> int:
    """Return the number of a history or attempt from its name; `-` is 0."""
    return 0 if name == "-" else int(name[1:])


def below(x: int, y: int, parents: list[int]) -> bool:
    """Return whether x is y or among what y extends."""
    while y > x:
        y = parents[y]
    return x == y


def read(line: str, theory: Theory, story: Story) -> list[Step]:
    """Return the steps of a line: one for each process of `p1+p2`."""
    name, *words = line.split()
    action = next((a for a in theory.actions if a.name == name), None)
    if action is None or len(words) != len(action.parameters):
        raise ValueError(f"not a step: {line}")
    options = [
        [element(w, v.sort, story) for w in word.split("+")] for v, word in zip(action.parameters, words, strict=True)
    ]
    several = max(map(len, options))
    return [Step(action, tuple(o[k % len(o)] for o in options)) for k in range(several)]


def element(word: str, sort: Sort, story: Story) -> int:
    """Return the number of an element from its name."""
    if word != "-" and word[0] != LETTER[sort]:
        raise ValueError(f"{word} is no {sort.name}")
    if sort == QUORUM:
        return story.quorums.index(word[1:])
    return number(word) - (1 if sort in (PROCESS, CONNECTION) else 0)
