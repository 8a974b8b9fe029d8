"""The questions to a graph, against what their words mean: every path of small random graphs is looked at."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import networkx as nx
import pytest

from checker.graph.build import FIRST, names_of_step
from checker.graph.questions import answers, certainty, dominators, least_budgets, steps_of_all

NAME = "safe"
Path = tuple[int, ...]


def made(seed: int) -> nx.DiGraph[int]:
    """A small random graph in the form of a graph of states."""
    source = random.Random(seed)
    count = source.randint(1, 7)
    graph: nx.DiGraph[int] = nx.DiGraph(properties=(NAME,), budgets=("crashes", "losses"))
    cut = source.choice((0.0, 0.0, 0.3))
    for n in range(count):
        graph.add_node(
            n, depth=n, expanded=source.random() >= cut, violates=(NAME,) if source.random() < 0.2 else (),
            spent=(source.randrange(3), source.randrange(3)),
        )  # fmt: skip
    for a in range(count):
        for b in range(count):
            if source.random() < (0.3 if graph.nodes[a]["expanded"] else 0.1):  # some of its steps may be known
                steps = tuple(source.sample(["f.1", "f.2", "f.1, f.3", "crash"], source.randint(1, 2)))
                some = source.random() < 0.1
                graph.add_edge(
                    a,
                    b,
                    steps=steps,
                    violates=(NAME,) * some,
                    violates_always=((NAME,) if some and source.random() < 0.5 else ()),
                )
    reached = nx.descendants(graph, FIRST) | {FIRST}
    return nx.DiGraph(graph.subgraph(reached))


def violates(graph: nx.DiGraph[int], path: Path) -> bool:
    """Whether a path ends with a violation, by its last state or by its last edge."""
    if graph.nodes[path[-1]]["violates"]:
        return True
    return len(path) > 1 and bool(graph.edges[path[-2], path[-1]]["violates"])


def paths(graph: nx.DiGraph[int], start: int) -> Iterator[Path]:
    """Every path from a state that violates at its end, and no state of which does before; none passes a state twice,
    but for its last."""

    def go_on(path: Path) -> Iterator[Path]:
        if violates(graph, path):
            yield path
        if graph.nodes[path[-1]]["violates"] or path[-1] in path[:-1]:
            return
        if len(path) > 1 and graph.edges[path[-2], path[-1]]["violates_always"]:
            return
        for b in graph.adj[path[-1]]:
            yield from go_on((*path, b))

    yield from go_on((start,))


def edges_of(path: Path) -> list[tuple[int, int]]:
    return list(pairwise(path))


def gone_through(graph: nx.DiGraph[int], path: Path) -> set[Any]:
    """The states and edges of a path that ends with its first violation; a step that violates has not arrived yet."""
    by_step = len(path) > 1 and graph.edges[path[-2], path[-1]]["violates"]
    return {*(path[:-1] if by_step else path), *edges_of(path)}


def takes(graph: nx.DiGraph[int], path: Path, part: str) -> bool:
    """Whether one of a path's edges is of steps that all have a name."""
    return any(all(part in names_of_step(x) for x in graph.edges[e]["steps"]) for e in edges_of(path))


def avoids(graph: nx.DiGraph[int], path: Path) -> bool:
    """Whether a run that begins so can go on as long as it can, or leave the graph, without a violation."""
    at = path[-1]
    if graph.nodes[at]["violates"]:
        return False
    if not graph.nodes[at]["expanded"] or at in path[:-1] or not graph.adj[at]:
        return True
    return any(avoids(graph, (*path, b)) for b in graph.adj[at] if not graph.edges[at, b]["violates_always"])


def leaves(graph: nx.DiGraph[int], path: Path) -> bool:
    """Whether a run that begins so can leave the graph without a violation."""
    at = path[-1]
    if graph.nodes[at]["violates"] or at in path[:-1]:
        return False
    if not graph.nodes[at]["expanded"]:
        return True
    return any(leaves(graph, (*path, b)) for b in graph.adj[at] if not graph.edges[at, b]["violates_always"])


def test_every_answer_is_what_the_paths_say() -> None:
    seen = {"steps": 0, "dominators": 0, "violations": 0, "several": 0}
    for seed in range(1200):
        graph = made(seed)
        every = list(paths(graph, FIRST))
        found = answers(graph, NAME)
        assert (found is None) == (not every), seed
        if found is None:
            continue
        seen["violations"] += 1
        parts = {p for _, _, steps in graph.edges(data="steps") for label in steps for p in names_of_step(label)}
        wanted = {part for part in parts if all(takes(graph, p, part) for p in every)}
        assert set(found.steps) == wanted, seed
        on_all = set.intersection(*(gone_through(graph, p) for p in every))
        assert set(found.dominators) == on_all - {FIRST}, seed
        for p in every:
            in_order: list[Any] = [FIRST, *(x for e in edges_of(p) for x in (e, e[1]))]
            assert tuple(dict.fromkeys(x for x in in_order if x in found.dominators)) == found.dominators
        seen["steps"] += bool(wanted)
        seen["dominators"] += len(found.dominators) > 2
        ends = {graph.nodes[p[-1]]["spent"] for p in every}
        least = {s for s in ends if not any(t != s and t[0] <= s[0] and t[1] <= s[1] for t in ends)}
        assert {(b.get("crashes", 0), b.get("losses", 0)) for b in found.least} == least, seed
        seen["several"] += len(least) > 1
    assert min(seen.values()) > 20, seen


def test_states_are_doomed_safe_or_neither_as_runs_from_them_are() -> None:
    seen = dict.fromkeys(("doomed", "safe", "avoidable", "possible", "unknown", "no_return", "ways_out"), 0)
    for seed in range(1200):
        graph = made(seed)
        c = certainty(graph, NAME)
        for n in graph:
            reaches = any(paths(graph, n))
            doomed = not avoids(graph, (n,))
            open_end = leaves(graph, (n,))
            word = "doomed" if doomed else "safe" if not reaches else "avoidable"
            if open_end and not doomed:
                word = "possible" if reaches else "unknown"
            assert [name for name in seen if name in vars(c) and n in getattr(c, name)] == [word], (seed, n)
            seen[word] += 1
        no_return = {
            (a, b)
            for a, b in graph.edges
            if avoids(graph, (a,)) and (not avoids(graph, (b,)) or graph.edges[a, b]["violates"])
        }
        assert set(c.no_return) == no_return, seed
        ways_out = {
            (a, b)
            for a, b in graph.edges
            if avoids(graph, (a,)) and any(paths(graph, a)) and b in c.safe and not graph.edges[a, b]["violates_always"]
        }
        assert set(c.ways_out) == ways_out, seed
        seen["no_return"] += len(no_return)
        seen["ways_out"] += len(ways_out)
    assert min(seen.values()) > 20, seen


def test_a_first_state_that_violates_is_every_run() -> None:
    graph: nx.DiGraph[int] = nx.DiGraph(properties=(NAME,), budgets=())
    graph.add_node(0, depth=0, expanded=True, violates=(NAME,), spent=())
    graph.add_node(1, depth=1, expanded=True, violates=(), spent=())
    graph.add_edge(0, 1, steps=("f.1",), violates=(), violates_always=())
    assert steps_of_all(graph, NAME) == dominators(graph, NAME) == ()
    assert least_budgets(graph, NAME) == ({},)
    assert certainty(graph, NAME).doomed == {0}
    with pytest.raises(ValueError, match="not checked against 'other'; it is checked against safe"):
        answers(graph, "other")
