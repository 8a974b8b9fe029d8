"""Random runs that are compared in both worlds, and replayed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from checker.explore.compiled import Compiled
from tests.models import python_successors
from traces import Runner, Step, Trace, state_json
from traces.replay.replay import replay
from zabspec.model import Model


def random_run(
    code: Compiled,
    seed: int,
    choose: Callable[[random.Random, Sequence[int]], int],
    compared: Callable[[int], bool],
    length: int = 14,
) -> Trace:
    """A run of at most so many steps, which replays to the same.

    Args:
        choose: one of the steps that are possible.
        compared: after how many steps both worlds are asked what is possible.
    """
    configuration = code.model.configuration
    chance, runner = random.Random(seed), Runner(Model(configuration))
    initial, taken = state_json(runner.state), list[Step]()
    for _ in range(length):
        after = code.next_states(runner.state.key())
        if not after:
            break
        if compared(len(taken)):
            assert after == list(python_successors(configuration, runner.state.key()))
        taken.append(runner.step(choose(chance, [word for word, _ in after])))
    trace = Trace(configuration, "", "", "", initial, tuple(taken), "test")
    assert replay(trace).steps == trace.steps
    return trace
