"""Breadth-first exploration of a model (section 1)."""

from __future__ import annotations

from dataclasses import dataclass, field

from zabspec.second.kinds import Fault
from zabspec.second.properties import Judge, Property
from zabspec.second.world import World


@dataclass
class Graph:
    """What an exploration reached.

    `errors` has the state, the label of the step (`guard` for R2) and the text of each error, and whether it is one of
    capacity (R4); `expanded` is how many states have all their edges here: the first so many.
    """

    states: list[tuple] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)
    edges: list[tuple[int, str, int]] = field(default_factory=list)
    errors: list[tuple[int, str, str, bool]] = field(default_factory=list)
    terminal: list[int] = field(default_factory=list)
    expanded: int = 0

    def author_error(self) -> int | None:
        """Return the depth at which `no-runtime-error` is violated (P8), or None."""
        depths = (self.depth[i] + 1 if i >= 0 else 0 for i, _, _, capacity in self.errors if not capacity)  # -1: R5
        return min(depths, default=None)


def explore(world: World, properties: list[Property], max_states: int, max_depth: int) -> tuple[Graph, Judge]:
    """Explore a model breadth-first.

    Args:
        world: the model.
        properties: what to judge on the way.
        max_states: no state is expanded once so many are known.
        max_depth: no state of this depth or a greater one is expanded.

    Returns:
        What was reached, and the judge.
    """
    graph, judge = Graph(), Judge(world, properties)
    try:
        starts = list(dict.fromkeys(world.initials()))
    except (Fault, ZeroDivisionError) as error:  # R5
        graph.errors.append((-1, "initial", str(error), getattr(error, "capacity", False)))
        return graph, judge
    numbers = {first: k for k, first in enumerate(starts)}
    graph.states += starts
    graph.depth += [0] * len(starts)
    for first in starts:
        judge.state(first, 0)
    while graph.expanded < len(graph.states):
        i = graph.expanded
        if graph.depth[i] >= max_depth or len(graph.states) >= max_states:
            break
        _expand(world, graph, judge, numbers, i)
        graph.expanded += 1
    return graph, judge


def _expand(world: World, graph: Graph, judge: Judge, numbers: dict[tuple, int], i: int) -> None:
    """Take every step of state i (M4, R2)."""
    state, depth = graph.states[i], graph.depth[i] + 1
    try:
        steps = world.steps(state)
    except Fault as fault:
        graph.errors.append((i, "guard", str(fault), fault.capacity))
        return
    if not steps:
        graph.terminal.append(i)
        judge.state(state, depth - 1, terminal=True)
    edges: dict[tuple[int, str, int], None] = {}
    errors: dict[tuple[int, str, str, bool], None] = {}
    for step in steps:
        for result in world.outcomes(state, step):
            if isinstance(result, Fault):
                errors[i, step.label, str(result), result.capacity] = None
                continue
            j = numbers.setdefault(result, len(graph.states))
            if j == len(graph.states):
                graph.states.append(result)
                graph.depth.append(depth)
                judge.state(result, depth)
            edges[i, step.label, j] = None
            if judge.steps:
                judge.step(state, step, result, depth)
    graph.edges += edges
    graph.errors += errors
