"""Questions about a state graph: what every violating run does, its least budgets, and from where it is certain.

A violating run ends with the first state or step that violates the property. A statement about every violating run is
about each path of the graph that is one. A graph that is cut at a depth D has every run of at most D steps, and some
longer ones; states from which a run may leave it are never counted as safe.

- A step is **on every violating run** if without it no path of the graph leads to a violation.
- A **dominator** is a state, or an edge, that every path to a violation goes through. A step that violates ends it.
- The **least budgets** are the amounts with which a violation is reached, of which no smaller ones are enough.
- A state is **doomed** if every run from it that goes on as long as it can reaches a violation; it is **safe** if none
  does, and **avoidable** if some do and some do not. If the graph is cut a state may be **possible**, if a violation
  is reached and whether it can be avoided is not known, or **unknown**, if even that is not.
- A **point of no return** is an edge with which a run violates, or from a state that is not known to be doomed to one
  that is.
- A **way out** is an edge from a state that reaches a violation, and is not doomed, to a safe one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from checker.graph.build import FIRST, names_of_step

if TYPE_CHECKING:
    import networkx as nx

Edge = tuple[int, int]
SINK = -1  # represents every violation


@dataclass(frozen=True)
class Certainty:
    """From which states a violation is certain, possible or impossible.

    Attributes:
        doomed, safe, avoidable, possible, unknown: the states, each in one of these.
        no_return: the points of no return.
        ways_out: the ways out.
    """

    doomed: frozenset[int]
    safe: frozenset[int]
    avoidable: frozenset[int]
    possible: frozenset[int]
    unknown: frozenset[int]
    no_return: tuple[Edge, ...]
    ways_out: tuple[Edge, ...]

    @property
    def counts(self) -> dict[str, int]:
        """The number of states in each, by its name."""
        return {
            "doomed": len(self.doomed),
            "avoidable": len(self.avoidable),
            "safe": len(self.safe),
            "possible": len(self.possible),
            "unknown": len(self.unknown),
        }


@dataclass(frozen=True)
class Answers:
    """The facts that the graph shows about a property that it violates.

    Attributes:
        name: the property.
        depth: the number of steps of the shortest violating run.
        states: the states that violate it.
        edges: the edges that have a step which violates it.
        steps: the names of the steps that are on every violating run.
        dominators: the states (a number) and edges (two) that every violating run goes through, in its order, without
            the first state.
        least: the least budgets, each by name.
        certainty: from which states it is certain.
    """

    name: str
    depth: int
    states: tuple[int, ...]
    edges: tuple[Edge, ...]
    steps: tuple[str, ...]
    dominators: tuple[int | Edge, ...]
    least: tuple[Mapping[str, int], ...]
    certainty: Certainty


def answers(graph: nx.DiGraph[int], name: str) -> Answers | None:
    """Return all facts about a property, or None if the graph does not violate it.

    Raises:
        ValueError: the graph does not judge it.
    """
    states, edges = violating(graph, name)
    if not states and not edges:
        return None
    depth = min([graph.nodes[n]["depth"] for n in states] + [graph.nodes[a]["depth"] + 1 for a, _ in edges])
    return Answers(
        name,
        depth,
        states,
        edges,
        steps_of_all(graph, name),
        dominators(graph, name),
        least_budgets(graph, name),
        certainty(graph, name),
    )


def violating(graph: nx.DiGraph[int], name: str) -> tuple[tuple[int, ...], tuple[Edge, ...]]:
    """Return the states that violate a property, and the edges that have a step which does.

    Raises:
        ValueError: the graph does not judge it.
    """
    if name not in graph.graph["properties"]:
        raise ValueError(
            f"the graph is not checked against {name!r}; it is checked against {', '.join(graph.graph['properties'])}"
        )
    states = tuple(n for n, names in graph.nodes(data="violates") if name in names)
    return states, tuple((a, b) for a, b, names in graph.edges(data="violates") if name in names)


# --- what every violating run does -----------------------------------------------------------------


def steps_of_all(graph: nx.DiGraph[int], name: str) -> tuple[str, ...]:
    """Return the names of the steps on every violating run, in order of name; none if the first state violates."""
    states, edges = violating(graph, name)
    known = {part for _, _, steps in graph.edges(data="steps") for label in steps for part in names_of_step(label)}
    ends = set(states)
    return tuple(part for part in sorted(known) if not reached_without(graph, part, ends, frozenset(edges)))


def reached_without(graph: nx.DiGraph[int], part: str, states: set[int], edges: frozenset[Edge]) -> bool:
    """Return whether a violation is reached along steps that do not have a name.

    An edge that violates by one of its steps counts as violating by each: then a step may be missing in the answer, and
    none is in it that a violating run does not take.
    """
    seen, ahead = {FIRST}, [FIRST]
    while ahead:
        node = ahead.pop()
        if node in states:
            return True
        for target, data in graph.adj[node].items():
            if all(part in names_of_step(label) for label in data["steps"]):
                continue
            if (node, target) in edges:
                return True
            if target not in seen:
                seen.add(target)
                ahead.append(target)
    return False


def dominators(graph: nx.DiGraph[int], name: str) -> tuple[int | Edge, ...]:
    """Return the states and edges that every violating run goes through, in its order, without the first state.

    A run ends with its first violation."""
    import networkx as nx

    states, edges = violating(graph, name)
    if FIRST in states:
        return ()
    made: nx.DiGraph[Any] = nx.DiGraph()
    made.add_nodes_from((FIRST, SINK))
    made.add_edges_from((a, (a, b)) for a, b in graph.edges)
    made.add_edges_from(((a, b), b) for a, b in graph.edges)
    # what a run does after its first violation does not change what it has passed by then
    made.add_edges_from((end, SINK) for end in (*states, *edges))
    there = (nx.ancestors(made, SINK) & nx.descendants(made, FIRST)) | {FIRST, SINK}
    above = nx.immediate_dominators(made.subgraph(there), FIRST)
    out: list[Any] = []
    at = above[SINK]
    while at != FIRST:
        out.append(at)
        at = above[at]
    return tuple(reversed(out))


# --- what it costs ---------------------------------------------------------------------------------


def least_budgets(graph: nx.DiGraph[int], name: str) -> tuple[Mapping[str, int], ...]:
    """Return the least amounts of budgets with which a violation is reached; fewest first."""
    states, edges = violating(graph, name)
    ends, reached = set(states), unviolated(graph, name)
    spent = {graph.nodes[n]["spent"] for n in reached & ends}
    spent |= {graph.nodes[b]["spent"] for a, b in edges if a in reached - ends}
    least = [s for s in spent if not any(t != s and all(x <= y for x, y in zip(t, s, strict=True)) for t in spent)]
    names: Sequence[str] = graph.graph["budgets"]
    ordered = sorted(least, key=lambda s: (sum(s), tuple(-x for x in s)))
    return tuple({n: x for n, x in zip(names, s, strict=True) if x} for s in ordered)


def unviolated(graph: nx.DiGraph[int], name: str) -> set[int]:
    """Return the states that a run reaches up to its first violation."""
    states = set(violating(graph, name)[0])
    seen, ahead = {FIRST}, [FIRST]
    while ahead:
        node = ahead.pop()
        for target, names in () if node in states else ((b, d["violates_always"]) for b, d in graph.adj[node].items()):
            if target not in seen and name not in names:
                seen.add(target)
                ahead.append(target)
    return seen


# --- from where it is certain ----------------------------------------------------------------------


def certainty(graph: nx.DiGraph[int], name: str) -> Certainty:
    """Return from which states a violation is certain, possible or impossible, and the edges between these."""
    states, edges = violating(graph, name)
    ends, violates = set(states), set(edges)
    always = {(a, b) for a, b, names in graph.edges(data="violates_always") if name in names}
    doomed = doomed_in(graph, ends, always)
    reaches = backwards(graph, ends | {a for a, _ in edges}, set(), set())
    beyond = {n for n, expanded in graph.nodes(data="expanded") if not expanded} - ends
    cut = backwards(graph, beyond, ends, always)  # from these a run may leave the graph before a violation
    safe = set(graph) - reaches - cut
    return Certainty(
        frozenset(doomed),
        frozenset(safe),
        frozenset(reaches - doomed - cut),
        frozenset((reaches & cut) - doomed),
        frozenset(cut - reaches),
        tuple((a, b) for a, b in graph.edges if a not in doomed and (b in doomed or (a, b) in violates)),
        tuple((a, b) for a, b in graph.edges if a in reaches - doomed and b in safe and (a, b) not in always),
    )


def doomed_in(graph: nx.DiGraph[int], states: set[int], always: set[Edge]) -> set[int]:
    """Return the states from which every run that goes on as long as it can reaches a violation.

    They are the states that violate, and those that have steps, of which each violates or leads to such a state."""
    doomed = set(states)
    left = {n: 0 for n, expanded in graph.nodes(data="expanded") if expanded and n not in states}
    for a, b in graph.edges:
        if a in left and (a, b) not in always:
            left[a] += 1
    doomed |= {a for a, count in left.items() if not count and graph.out_degree(a)}
    ahead = list(doomed)
    while ahead:
        b = ahead.pop()
        for a in graph.pred[b]:
            if a in left and a not in doomed and (a, b) not in always:
                left[a] -= 1
                if not left[a]:
                    doomed.add(a)
                    ahead.append(a)
    return doomed


def backwards(graph: nx.DiGraph[int], ends: set[int], but: set[int], never: set[Edge]) -> set[int]:
    """Return the states from which one of `ends` is reached, these included.

    Args:
        but: states that are not passed.
        never: edges that are not taken.
    """
    seen, ahead = set(ends), list(ends)
    while ahead:
        b = ahead.pop()
        for a in graph.pred[b]:
            if a not in seen and a not in but and (a, b) not in never:
                seen.add(a)
                ahead.append(a)
    return seen


def grouped(graph: nx.DiGraph[int], edges: Sequence[Edge]) -> Iterator[tuple[str, int]]:
    """Return the numbers of edges with the same steps, the largest first."""
    counts = Counter(" or ".join(graph.edges[e]["steps"]) for e in edges)
    yield from sorted(counts.items(), key=lambda item: (-item[1], item[0]))
