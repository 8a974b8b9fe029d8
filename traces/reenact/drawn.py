"""Runs drawn at random in the text of a release, to be played: does the text do what servers do?"""

from __future__ import annotations

import random

from traces.record.runner import Runner
from traces.record.trace import Step, StepWord, TraceError
from traces.record.values import state_json
from traces.reenact.mapping import row_of
from traces.reenact.plan import Plan, by_itself, writes_own_epoch
from zabspec.model import Configuration, Model

__all__ = ["drawn", "kind"]

IDS = (3, 2, 1)
BUDGETS = "elections=3,proposals=2,write_errors=0"
LONGEST = 60  # steps of a run
RARE = {  # beside 1 for any other step
    "crash": 0.06, "lose_connection": 0.06, "partition": 0.06, "follower_learns": 0.25, "leader_learns": 0.25,
}  # fmt: skip


def drawn(variant: str, seed: int) -> Plan:
    """A run.

    Args:
        variant: the release, as the text has it.
    """
    c = Configuration(
        "zookeeper", variant, start="established", timeouts=0, crashes=2, losses=2, partitions=1, budgets=BUDGETS
    )
    draw, model = random.Random(f"{variant} {seed}"), Model(c)
    runner = Runner(model)
    names = list(model.program.actions)
    initial = state_json(runner.state)
    steps: list[Step] = []
    while len(steps) < LONGEST:
        words = [w for w in map(StepWord.of, runner.possible()) if can(runner, w)]
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


def can(runner: Runner, word: StepWord) -> bool:
    """Whether a step can be forced: the larger id wins where votes are equal."""
    if word.kind != "elect":
        return True
    l, quorum = word.operands["leader"], word.operands["quorum"]
    return all(IDS[l] > IDS[f] or not equal(runner, f, l) for f in range(3) if quorum >> f & 1)


def equal(runner: Runner, f: int, l: int) -> bool:
    """Whether two servers' votes are equal but for their ids."""
    s = runner.state
    return bool(s.current_epoch[f] == s.current_epoch[l] and s.last_processed[f] == s.last_processed[l])


def kind(step: Step) -> str:
    """What the steps of a run are counted by."""
    assert row_of(step) is not None
    return step.label if step.word.kind == "action" else step.word.kind.replace("_", " ")
