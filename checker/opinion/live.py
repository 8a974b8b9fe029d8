"""Hold a liveness check against the interpreter, and against the second semantics.

The interpreter judges machine code: steps, the stable phase, and who waits in it. The second semantics searches a part
of the stable phase for fair runs in which a process waits forever.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

from checker.live.code import LiveCode
from checker.live.run import Live
from checker.opinion.compiled import STATES, CompiledOpinion
from checker.opinion.outcome import BY_SECOND, Differs, SecondOpinion
from checker.opinion.searched import request_of
from traces.record.fair import StableWorld
from zabspec.language.python.reference import ERRORS, StateView
from zabspec.second import own
from zabspec.second.kinds import Fault
from zabspec.second.progress import goals
from zabspec.second.world import World

WORD = (1 << 32) - 1  # the bits of a step word without its choice
ON = 4  # steps that a run goes on in the stable phase
RUNS, LENGTH = 30, 12  # random runs of the second semantics, and their steps before the stable phase begins
SECONDS = 0.5  # of CPU for the stable phase


class LiveOpinion(CompiledOpinion):
    """Compares the machine code of both phases with the interpreter, in one state at a time."""

    code: LiveCode

    def __init__(self, code: LiveCode, source: random.Random) -> None:
        super().__init__(code)
        self.world, self.source = StableWorld(code.model, code.phase), source

    def agree(self, data: bytes) -> None:
        """Compare everything about one state of the fault phase, and a few states of the stable phase after it.

        Raises:
            Differs: they do not agree.
        """
        super().agree(data)
        view = StateView(self.layout, data)
        for named in self.world.nodes if self.code.phase.names_one else [-1]:
            begins = bool(self.code.stable_begins(self.code.state(data), named) & 1)
            if begins != self.world.begins(view, named):
                raise Differs("the stable phase may begin in some state, or machine code says so, but not both")
            state = self.code.stable(data)
            for _ in range(ON if begins else 0):
                if not (ways := self.stable(state, named)):
                    break
                state = self.source.choice(ways)

    def stable(self, data: bytes, named: int) -> list[bytes]:
        """Compare one state of the stable phase; return the states after it.

        Raises:
            Differs: they do not agree.
        """
        self.states += 1
        view, size = StateView(self.layout, data), self.code.nodes
        waiting = self.code.waiting(data, named)
        for k, goal in enumerate(self.code.phase.goals):
            for p in self.world.nodes:
                if self.world.waits(goal, view, p, named) != bool(waiting >> (p + k * size) & 1):
                    raise Differs(f"a process waits in some state for {goal.name}, or machine code says so, only")
        try:
            steps = self.code.stable_steps(data, named)
            if {word & WORD for word, _ in steps} != {*self.world.choices(view, named)}:
                raise Differs("some state of the stable phase has other steps in machine code")
            for word, after in steps:
                self.steps += 1
                s = StateView(self.layout, data)
                self.world.names["apply"](s, word)
                if s.key() != after:
                    raise Differs("a step of the stable phase has another effect in machine code")
        except (ValueError, *ERRORS):
            return []  # what follows an error is no step
        return [after for _, after in steps]


def second_opinion(code: LiveCode, seed: int = 0) -> SecondOpinion:
    """Compare machine code that found no starvation with the interpreter, along random runs."""
    here = LiveOpinion(code, random.Random(seed))
    return here.opinion(lambda: here.walk(random.Random(seed), STATES // 2))


def walked(world: World, source: random.Random) -> Iterator[tuple[Any, ...]]:
    """Yield the states of random runs of the second semantics."""
    starts = [*world.initials()]
    for _ in range(RUNS):
        ways = starts
        for _ in range(LENGTH):
            state = source.choice(ways)
            yield state
            ways = [a for step in world.steps(state) for a in world.outcomes(state, step) if not isinstance(a, Fault)]
            if not ways:
                break


def opinion_of_fair_runs(code: LiveCode, live: Live, seed: int = 0) -> SecondOpinion:
    """Search a part of the stable phase, by the second semantics, for a fair run that starves a process."""
    model, explored = code.model, 0
    if not model.protocol.text.goals or not live.exploration.complete:
        return SecondOpinion(none="the second semantics judges fair runs of user protocols whose states are all found")
    end = time.process_time() + SECONDS

    def may() -> bool:
        nonlocal explored
        explored += 1
        return time.process_time() < end

    try:
        world = own.build(request_of(model.configuration))
        said = goals(world, list(dict.fromkeys(walked(world, random.Random(seed)))), may)
        names = ", ".join(g.name for g in live.goals if said[g.name]["result"] == "violated")
    except Exception as problem:  # whatever it lacks, the verdict stands
        return SecondOpinion(none=f"the second semantics does not judge fair runs: {type(problem).__name__}: {problem}")
    difference = f"a fair run starves a process, against {names}" if names else ""
    return SecondOpinion(BY_SECOND, explored, seed=seed, difference=difference)
