"""Progress properties of user protocols: a search for fair cycles in the stable phase (section 14)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from zabspec.second.connections import UNORDERED, Connections
from zabspec.second.kinds import Fault
from zabspec.second.world import Step, World


@dataclass
class Stable:
    """The stable phase: its states, the classes of fair steps enabled in each, and its edges with their classes.

    The first states have all their edges: as many as `enabled` has entries.
    """

    states: list[tuple] = field(default_factory=list)
    enabled: list[set[tuple]] = field(default_factory=list)
    edges: list[tuple[int, int, tuple | None]] = field(default_factory=list)


def fair_class(world: World, step: Step) -> tuple | None:
    """Return the class of a step that a fair run has to take, or None (G1)."""
    if step.label == "receive":
        return ("receive", step.process, step.peer, step.message and step.message.raw)
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
    return ":" in which[0] and which[2]


def stable_steps(world: World, state: tuple, named: int) -> list[Step]:
    """Return the steps of a state of the stable phase (G2, G3)."""
    steps = world.steps(state)
    if not isinstance(world, Connections):
        return [step for step in steps if step.message is None or step.label != "receive" or step.message.ahead == 0]
    steps = [step for step in steps if step.label != "oracle" or step.peer == named]
    s = world.s
    for p in range(world.n):
        apart = s.leader[p] != named or (p != named and s.link[p][named] != 1)
        if world.alive[p] and s.role[p] != 0 and apart and world.ask("may_time_out", True, p):
            steps.append(Step("give_up", 7, lambda p=p: world.handle("on_timeout", p), p))
    return steps


def stable_phase(world: World, states: Iterable[tuple], named: int, may: Callable[[], bool]) -> Stable:
    """Explore the stable phase from some states; over connections from those in which `named` is up.

    Args:
        may: whether one more state may be explored.

    Raises:
        ValueError: a step of it meets an error.
    """
    budgets = [world.left[b] for b in world.left if b not in world.model.own]
    stable, numbers = Stable(), {}

    def number(state: tuple) -> int:
        if state not in numbers:
            numbers[state] = len(stable.states)
            stable.states.append(state)
        return numbers[state]

    for state in states:
        world.s.__load__(state)
        if named >= 0 and not world.up(named):
            continue
        cells = list(state)
        for place in budgets:
            cells[place] = 0
        number(tuple(cells))
        while len(stable.enabled) < len(stable.states):
            if not may():
                return stable
            expand(world, stable, number, named)
    return stable


def expand(world: World, stable: Stable, number: Callable[[tuple], int], named: int) -> None:
    """Take every step of the first state of the stable phase of which none was taken.

    Raises:
        ValueError: one meets an error.
    """
    i = len(stable.enabled)
    try:
        steps = stable_steps(world, stable.states[i], named)
    except Fault as fault:
        raise ValueError(f"listing the steps meets an error: {fault}") from None
    enabled: set[tuple] = set()
    for step in steps:
        for result in world.outcomes(stable.states[i], step):
            if isinstance(result, Fault):
                raise ValueError(f"a step meets an error: {result}")
            if result != stable.states[i]:  # one that changes nothing is not taken, nor enabled by that
                which = fair_class(world, step)
                enabled |= {which} if which else set()
                stable.edges.append((i, number(result), which))
    stable.enabled.append(enabled)


def starves(stable: Stable, waits: list[bool], again: bool) -> bool:
    """Whether a process waits forever in a fair run, or infinitely often if `again` is set (G1, G4)."""
    if any(waiting and not stable.enabled[i] for i, waiting in enumerate(waits)):
        return True  # a run may end there
    through = {i for i, waiting in enumerate(waits) if waiting}
    return stays(stable, set(range(len(waits))) if again else through, through)


def stays(stable: Stable, among: set[int], through: set[int]) -> bool:
    """Whether a fair run can stay among some states, and visit some of `through` infinitely often."""
    edges = [edge for edge in stable.edges if edge[0] in among and edge[1] in among]
    for states in components(among, edges):
        within = [which for i, j, which in edges if i in states and j in states]
        if not within or not states & through:
            continue
        always = set.intersection(*(stable.enabled[i] for i in states))
        if not always <= set(within):
            continue
        ever = set.union(*(stable.enabled[i] for i in states))
        missed = {which for which in ever - set(within) if is_strong(which)}
        if not missed or stays(stable, {i for i in states if not stable.enabled[i] & missed}, through):
            return True
    return False


def components(among: set[int], edges: list[tuple[int, int, Any]]) -> Iterator[set[int]]:
    """Yield the strongly connected components of some states (Kosaraju's algorithm)."""
    onward: dict[int, list[int]] = {i: [] for i in among}
    back: dict[int, list[int]] = {i: [] for i in among}
    for i, j, _ in edges:
        onward[i].append(j)
        back[j].append(i)
    seen: set[int] = set()
    order = [i for root in among if root not in seen for i in visited(root, onward, seen)]
    seen.clear()
    for root in reversed(order):
        if root not in seen:
            yield set(visited(root, back, seen))


def visited(root: int, ways: dict[int, list[int]], seen: set[int]) -> list[int]:
    """Return what a state leads to and was not seen, each behind what it leads to itself."""
    seen.add(root)
    found, stack = [], [(root, iter(ways[root]))]
    while stack:
        here, rest = stack[-1]
        further = next((j for j in rest if j not in seen), None)
        if further is None:
            found.append(here)
            stack.pop()
        else:
            seen.add(further)
            stack.append((further, iter(ways[further])))
    return found


def goals(world: World, states: list[tuple], may: Callable[[], bool] = lambda: True) -> dict[str, dict[str, Any]]:
    """Judge every `@progress` of a user protocol.

    Args:
        world: the model.
        states: those that the stable phase may begin in.
        may: whether one more state of the stable phase may be explored; without it none is violated that could be.

    Returns:
        `{"result": "held" or "violated"}` by goal.

    Raises:
        ValueError: the model is one that is refused (G3), or a step of the stable phase meets an error.
    """
    linked = isinstance(world, Connections)
    if linked and (world.model.network == UNORDERED or world.model.elects):
        raise ValueError("progress is not defined on `unordered`, nor with elections in one step")
    verdicts = {}
    marked = world.program.marked("progress")
    phases = {named: stable_phase(world, states, named, may) for named in (range(world.n) if linked else [-1])}
    for name, mark, function in marked:
        violated = any(
            starves(stable, waiting(world, stable, function, p, named), mark.again)
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
    """Return whether p waits, in each state of the stable phase that has all its edges."""
    s, extra = world.s, (named,) if function.__code__.co_argcount == 3 else ()
    result = []
    for state in stable.states[: len(stable.enabled)]:
        s.__load__(state)
        try:
            result.append(bool(function(s, p, *extra)))
        except (Fault, ZeroDivisionError):
            result.append(False)
    return result
