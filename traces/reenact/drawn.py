"""Runs drawn at random in the text of a release, to be played: does the text do what servers do?"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from traces.record.runner import Runner
from traces.record.trace import Step, StepWord, TraceError
from traces.record.values import state_json
from traces.reenact.mapping import row_of
from traces.reenact.plan import Plan, by_itself, writes_own_epoch
from traces.reenact.reenactment import Run
from zabspec.model import Configuration, Model
from zabspec.protocols.zookeeper.state import TO_ACK

__all__ = ["Tally", "drawn"]

IDS = (3, 2, 1)
BUDGETS = "elections=2,proposals=1,write_errors=0"
LONGEST = 40  # steps of a run
RARE = {"crash": 0.08, "lose_connection": 0.08, "partition": 0.08}  # beside 1 for any other step


def drawn(variant: str, seed: int) -> Plan:
    """A run.

    Args:
        variant: the release, as the text has it.
    """
    c = Configuration(
        "zookeeper", variant, start="established", timeouts=0, crashes=2, losses=1, partitions=1, budgets=BUDGETS
    )
    draw, model = random.Random(f"{variant} {seed}"), Model(c)
    runner = Runner(model)
    names = list(model.program.actions)
    initial = state_json(runner.state)
    steps: list[Step] = []
    while len(steps) < LONGEST:
        words = [w for w in map(StepWord.of, runner.possible()) if can(runner, w, names)]
        if not words:
            break
        word = draw.choices(words, [RARE.get(w.kind, 1.0) for w in words])[0]
        p = word.process
        try:
            if word.kind == "leader_learns" and p is not None and writes_own_epoch(runner, p, names):
                steps.append(runner.step((by_itself(runner, p, names) or word).word))
            steps.append(runner.step(word.word))
        except TraceError:  # a sequence is full
            break
    return Plan(c, initial, tuple(steps), IDS, (), (), ())


def can(runner: Runner, word: StepWord, names: Sequence[str]) -> bool:
    """Whether a step can be forced: the larger id wins where votes are equal; and a sync thread's ACK does not wait for
    the lock of a main thread that is held where it sends."""
    s = runner.state
    label = names[word.operands["which"]] if word.kind == "action" else word.kind
    if word.kind == "elect":
        l, quorum = word.operands["leader"], word.operands["quorum"]
        return all(IDS[l] > IDS[f] or not equal(runner, f, l) for f in range(3) if quorum >> f & 1)
    if label == "sync thread" and word.process is not None:
        return bool(s.phase[word.process] != TO_ACK)
    return True


def equal(runner: Runner, f: int, l: int) -> bool:
    """Whether two servers' votes are equal but for their ids."""
    s = runner.state
    return bool(s.current_epoch[f] == s.current_epoch[l] and s.last_processed[f] == s.last_processed[l])


class Tally:
    """How many steps of each kind agreed, and at which runs differed."""

    def __init__(self) -> None:
        self.agreed: Counter[str] = Counter()
        self.differed: Counter[str] = Counter()
        self.runs = self.whole = self.unstarted = 0

    def add(self, plan: Plan, run: Run) -> None:
        self.runs += 1
        self.whole += run.agreed
        self.unstarted += bool(run.trouble)
        for step in plan.steps[: run.played.steps]:
            self.agreed[kind(step)] += 1
        if run.played.differs:
            self.differed[kind(plan.steps[run.played.steps])] += 1

    def told(self) -> list[tuple[str, str, str]]:
        """A row a kind: its name, how many agreed, how many did not."""
        names = sorted({*self.agreed, *self.differed})
        return [(name, str(self.agreed[name]), str(self.differed[name] or "")) for name in names]


def kind(step: Step) -> str:
    assert row_of(step) is not None
    return step.label if step.word.kind == "action" else step.word.kind.replace("_", " ")
