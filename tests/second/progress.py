"""Progress properties of user protocols: a search for fair cycles in the stable phase (section 14)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import networkx as nx

from tests.second.explore import Graph
from zabspec.second.connections import UNORDERED, Connections
from zabspec.second.kinds import Fault
from zabspec.second.world import Step, World


@dataclass
class Stable:
    """The stable phase: its states, the classes of fair steps enabled in each, and its edges with their classes."""

    states: list[tuple] = field(default_factory=list)
    enabled: list[set[tuple]] = field(default_factory=list)
    edges: list[tuple[int, int, tuple | None]] = field(default_factory=list)


def fair_class(world: World, step: Step) -> tuple | None:
    """Return the class of a step that a fair run has to take, or None (G1)."""
    if step.label == "receive":
        return ("receive", step.process, step.peer, step.message.raw)
    if step.label in ("oracle", "give_up"):
        return ("oracle", step.process)
    if step.label in ("to_follower", "follower_learns"):
        return ("to_follower", step.process)
    if step.label in ("to_leader", "leader_learns"):
        return ("to_leader", step.process, step.peer)
    if step.label in world.fair:
        mark = world.fair[step.label]
        whose = None if mark.fair_to == "action" else step.process
        return (step.label, whose, mark.fair == "strong")
    return None


def is_strong(which: tuple) -> bool:
    """Return whether a fair run takes a class that is enabled again and again (G1)."""
    return which[0].startswith("action:") and which[2]


def stable_steps(world: World, state: tuple, named: int) -> list[Step]:
    """Return the steps of a state of the stable phase (G2, G3)."""
    steps = world.steps(state)
    if not isinstance(world, Connections):
        return [step for step in steps if step.label != "receive" or step.message.ahead == 0]
    steps = [step for step in steps if step.label != "oracle" or step.peer == named]
    s = world.s
    for p in range(world.n):
        apart = s.leader[p] != named or (p != named and s.link[p][named] != 1)
        if world.alive[p] and s.role[p] != 0 and apart and world.ask("may_time_out", True, p):
            steps.append(Step("give_up", 7, lambda p=p: world.handle("on_timeout", p), p))
    return steps


def stable_phase(world: World, graph: Graph, named: int) -> Stable:
    """Explore the stable phase from every reached state; over connections those in which `named` is up."""
    budgets = [world.left[b] for b in world.left if b not in world.model.own]
    stable, numbers = Stable(), {}

    def number(state: tuple) -> int:
        if state not in numbers:
            numbers[state] = len(stable.states)
            stable.states.append(state)
        return numbers[state]

    for state in graph.states:
        world.s.load(state)
        if named < 0 or world.up(named):
            cells = list(state)
            for place in budgets:
                cells[place] = 0
            number(tuple(cells))
    for i, state in enumerate(stable.states):
        try:
            steps = stable_steps(world, state, named)
        except Fault:
            steps = []
        stable.enabled.append({c for c in (fair_class(world, step) for step in steps) if c})
        for step in steps:
            for result in world.outcomes(state, step):
                if not isinstance(result, Fault):
                    stable.edges.append((i, number(result), fair_class(world, step)))
    return stable


def starves(stable: Stable, waits: list[bool]) -> bool:
    """Whether a fair run stays in states that wait for ever (G1, G4)."""
    if any(waiting and not stable.enabled[i] for i, waiting in enumerate(waits)):
        return True  # a run may end there
    return stays(stable, {i for i, waiting in enumerate(waits) if waiting})


def stays(stable: Stable, among: set[int]) -> bool:
    """Whether a fair run goes on for ever among some states."""
    edges = [edge for edge in stable.edges if edge[0] in among and edge[1] in among]
    inside = nx.DiGraph(edge[:2] for edge in edges)
    for states in list(nx.strongly_connected_components(inside)):
        within = [which for i, j, which in edges if i in states and j in states]
        if not within:
            continue
        always = set.intersection(*(stable.enabled[i] for i in states))
        if not always <= set(within):
            continue
        ever = set.union(*(stable.enabled[i] for i in states))
        missed = {which for which in ever - set(within) if is_strong(which)}
        if not missed or stays(stable, {i for i in states if not stable.enabled[i] & missed}):
            return True
    return False


def goals(world: World, graph: Graph) -> dict[str, dict[str, Any]]:
    """Judge every `@progress` of a user protocol.

    Args:
        world: the model.
        graph: all states that it reaches.

    Returns:
        `{"result": "held" or "violated"}` by goal.

    Raises:
        ValueError: the model is one that is refused (G3).
    """
    linked = isinstance(world, Connections)
    if linked and (world.model.network == UNORDERED or world.model.elects):
        raise ValueError("progress is not defined on `unordered`, nor with elections in one step")
    verdicts = {}
    marked = world.program.marked("progress")
    phases = {named: stable_phase(world, graph, named) for named in (range(world.n) if linked else [-1])}
    for name, mark, function in marked:
        violated = any(
            starves(stable, waiting(world, stable, function, p, named))
            for named, stable in phases.items()
            for p in of_its_role(world, function)
        )
        called = mark.name or name.replace("_", "-")
        verdicts[called] = {"result": "violated" if violated else "held"}
    return verdicts


def of_its_role(world: World, function: Callable) -> range:
    """Return the processes that a progress property is of: those of the role that its parameter is annotated with."""
    kind, first = str(function.__annotations__.get(function.__code__.co_varnames[1], "")), 0
    for role, count in world.model.counts.items():
        if "".join(part.capitalize() for part in role.split("_")) == kind:
            return range(first, first + count)
        first += count
    return range(world.n)


def waiting(world: World, stable: Stable, function: Callable, p: int, named: int) -> list[bool]:
    """Return whether p waits, in each state of the stable phase."""
    s, extra = world.s, (named,) if function.__code__.co_argcount == 3 else ()
    result = []
    for state in stable.states:
        s.load(state)
        try:
            result.append(bool(function(s, p, *extra)))
        except (Fault, ZeroDivisionError):
            result.append(False)
    return result
