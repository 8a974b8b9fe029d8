"""The search for fair components, against networkx and against what the words mean; ways and loops in them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checker.live.graph import CLASS_AT, UNFAIR, Components, Graph, Ways, fair_components, fill_ways, no_components
from checker.live.loop import NoMail, loop_at, overtaken, unjust
from zabspec.language.native.kernels import machine

EXAMPLES = 200
ALL = (1 << 63) - 1
CLASSES = 3


@dataclass(frozen=True)
class Small:
    """A graph: of each node what is possible there besides what its edges say, whether it waits, and whether a run
    begins there, and after how many steps; edges with their classes."""

    possible: list[int]
    waits: list[bool]
    begins: list[int]  # -1: none does
    edges: list[tuple[int, int, int]]  # from, to, class
    strong: int = 0  # the classes that are to be strongly fair, as bits

    def graph(self) -> Graph:
        g = Graph(nodes_most=len(self.waits), edges_most=max(1, len(self.edges)), bytes_most=0, places=1)
        g.nodes = g.expanded = len(self.waits)
        for v in range(len(self.waits)):
            g.edge_begin[v] = g.edges
            g.possible[v] = self.possible[v]
            for a, b, kind in self.edges:
                if a == v:
                    g.edge[g.edges] = b | kind << CLASS_AT
                    g.edges += 1
                    if kind != UNFAIR:
                        g.possible[v] = g.possible[v] | 1 << kind
            g.edge_end[v] = g.edges
            g.waits[v] = int(self.waits[v])
            if self.begins[v] >= 0:
                g.origin[v], g.depth[v] = 1, self.begins[v]
        return g


@st.composite
def small_graphs(draw: st.DrawFn, most: int = 6) -> Small:
    n = draw(st.integers(1, most))
    nodes = st.integers(0, n - 1)
    kinds = st.sampled_from([*range(CLASSES), UNFAIR])
    return Small(
        draw(st.lists(st.sampled_from([0, 0, 0, 1, 2, 4]), min_size=n, max_size=n)),
        draw(st.lists(st.booleans() | st.just(True), min_size=n, max_size=n)),
        draw(st.lists(st.integers(-1, 4), min_size=n, max_size=n)),
        draw(st.lists(st.tuples(nodes, nodes, kinds), max_size=3 * n)),
        draw(st.sampled_from([0, 0, *range(1, 1 << CLASSES)])),
    )


def is_fair(g: Graph, inside: set[int], strong: int = 0) -> bool:
    """Whether a run that goes through these nodes, and every edge between them, for ever is fair."""
    always = ALL
    for v in inside:
        strong &= ~taken_by(g, v, inside)
    if any(g.possible[v] & strong for v in inside):
        return False
    for v in inside:
        always &= g.possible[v]
        for e in range(g.edge_begin[v], g.edge_end[v]):
            if g.edge[e] & (1 << CLASS_AT) - 1 in inside and g.edge[e] >> CLASS_AT != UNFAIR:
                always &= ~(1 << (g.edge[e] >> CLASS_AT))
    return not always


def taken_by(g: Graph, v: int, inside: set[int]) -> int:
    """The classes of a node's edges within a set of nodes."""
    taken = 0
    for e in range(g.edge_begin[v], g.edge_end[v]):
        if g.edge[e] & (1 << CLASS_AT) - 1 in inside and g.edge[e] >> CLASS_AT != UNFAIR:
            taken |= 1 << (g.edge[e] >> CLASS_AT)
    return taken


def fair_by(small: Small, sets: list[set[int]], g: Graph) -> set[int]:
    return set().union(*(inside for inside in sets if is_fair(g, inside)))


def found(g: Graph, compiled: bool, strong: int = 0, among: int = 1) -> tuple[int, set[int], Components]:
    c = Components(nodes=g.nodes)
    anew, search = (machine(no_components), machine(fair_components)) if compiled else (no_components, fair_components)
    anew(c, 0)
    count = search(g, c, among, ALL, strong)
    while c.again:
        anew(c, 1)
        count = search(g, c, among, ALL, strong)
    return count, {v for v in range(g.nodes) if c.fair[v]}, c


@pytest.mark.slow(seconds=2)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(small_graphs())
def test_fair_components_in_both_engines_are_those_of_networkx(small: Small) -> None:
    g = small.graph()
    whole: nx.DiGraph[int] = nx.DiGraph()
    whole.add_nodes_from(v for v in range(g.nodes) if small.waits[v])
    whole.add_edges_from((a, b) for a, b, _ in small.edges if small.waits[a] and small.waits[b])
    components = [set(c) for c in nx.strongly_connected_components(whole)]
    wanted = fair_by(small, components, g)
    count = sum(is_fair(g, c) for c in components)
    for compiled in (True, False):
        assert found(g, compiled)[:2] == (count, wanted)


@pytest.mark.slow(seconds=2)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(small_graphs(5))
def test_a_fair_run_exists_if_and_only_if_a_component_is_fair(small: Small) -> None:
    """The naive reading: of all sets of nodes that wait, each reachable from each within the set."""
    g = small.graph()
    waiting = [v for v in range(g.nodes) if small.waits[v]]
    some = set()
    for size in range(1, len(waiting) + 1):
        for chosen in combinations(waiting, size):
            inside: nx.DiGraph[int] = nx.DiGraph()
            inside.add_nodes_from(chosen)
            inside.add_edges_from((a, b) for a, b, _ in small.edges if a in chosen and b in chosen)
            if nx.is_strongly_connected(inside) and is_fair(g, set(chosen), small.strong):
                some |= set(chosen)
    # a set lies in one component, and what lies in the component beside it takes nothing away
    inside_fair = found(g, True, small.strong)[1]
    assert inside_fair >= some
    assert bool(inside_fair) == bool(some)
    assert found(g, False, small.strong)[1] == inside_fair


@pytest.mark.slow(seconds=1)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(small_graphs())
def test_a_loop_is_closed_lies_where_somebody_waits_and_does_justice(small: Small) -> None:
    g = small.graph()
    _, fair, c = found(g, True, small.strong)
    for v in fair:
        loop = loop_at(g, c, v, ALL, NoMail(), small.strong)
        at = v
        for e, w in loop:
            assert g.edge_begin[at] <= e < g.edge_end[at]
            assert g.edge[e] & (1 << CLASS_AT) - 1 == w
            assert small.waits[w]
            at = w
        assert at == v
        assert not unjust(g, v, loop, ALL, NoMail(), small.strong)
        around = {v, *(w for _, w in loop)}
        taken = sum({1 << (g.edge[e] >> CLASS_AT) for e, _ in loop if g.edge[e] >> CLASS_AT != UNFAIR})
        assert not any(g.possible[w] & small.strong & ~taken for w in around)


@pytest.mark.slow(seconds=1)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(small_graphs())
def test_ways_are_the_shortest_from_where_runs_begin(small: Small) -> None:
    g = small.graph()
    begins = sorted((v for v in range(g.nodes) if small.begins[v] >= 0), key=lambda v: small.begins[v])
    w = Ways(nodes=g.nodes)
    for k, v in enumerate(begins):
        w.begins[k] = v
    machine(fill_ways)(g, w, len(begins))
    whole: nx.DiGraph[int] = nx.DiGraph()
    whole.add_nodes_from(range(g.nodes))
    whole.add_edges_from((a, b, {"long": 1}) for a, b, _ in small.edges)
    whole.add_edges_from((-1, v, {"long": small.begins[v] + 1}) for v in begins)
    lengths = nx.single_source_dijkstra_path_length(whole, -1, weight="long") if begins else {}
    assert [w.length[v] for v in range(g.nodes)] == [lengths.get(v, 0) for v in range(g.nodes)]


def test_a_class_that_need_not_be_taken_makes_a_component_fair() -> None:
    """The mutant of the checker: without the fairness of one class a run may turn in a circle past it for ever."""
    small = Small([1, 1], [True, True], [0, -1], [(0, 1, 1), (1, 0, 1), (1, 1, UNFAIR)])
    g = small.graph()
    c = Components(nodes=2)
    assert machine(fair_components)(g, c, 1, ALL, 0) == 0
    no_components(c, 0)
    assert machine(fair_components)(g, c, 1, ALL & ~1, 0) == 1


@pytest.mark.parametrize("compiled", [True, False])
def test_a_part_of_a_component_is_strongly_fair(compiled: bool) -> None:
    """What is possible in the third node is done nowhere: a fair run leaves that node, and stays in the others."""
    small = Small([0, 0, 1], [True] * 3, [0, -1, -1], [(0, 1, 1), (1, 0, 1), (0, 2, 1), (2, 0, 1)])
    g = small.graph()
    assert found(g, compiled)[:2] == (1, {0, 1, 2})
    assert found(g, compiled, 1)[:2] == (1, {0, 1})
    assert found(g, compiled, 2)[:2] == (1, {0, 1, 2})


@dataclass(frozen=True)
class Letters:
    """Of each node what may be received there, and of each edge what it receives."""

    there: list[frozenset[bytes]]
    edges: list[bytes]

    def receivable(self, v: int) -> frozenset[bytes]:
        return self.there[v]

    def received(self, v: int, e: int) -> bytes:
        return self.edges[e]


MAIL = CLASSES - 1  # the class of receipts


@st.composite
def with_mail(draw: st.DrawFn) -> tuple[Small, Graph, Letters]:
    """A graph in which each receipt is of a message that is there."""
    small = draw(small_graphs(4))
    n = len(small.waits)
    there = draw(st.lists(st.frozensets(st.sampled_from([b"x", b"y"])), min_size=n, max_size=n))
    edges = [(a, b, kind) for a, b, kind in small.edges if kind != MAIL or there[a]]
    mail = 1 << MAIL
    possible = [(p | mail if there[v] else p & ~mail) for v, p in enumerate(small.possible)]
    small = Small(possible, small.waits, small.begins, edges)
    g = small.graph()
    received = [b""] * g.edges
    for v in range(n):
        for e in range(g.edge_begin[v], g.edge_end[v]):
            if g.edge[e] >> CLASS_AT == MAIL:
                received[e] = draw(st.sampled_from(sorted(there[v])))
    return small, g, Letters(there, received)


def is_fair_to_mail(g: Graph, mail: Letters, inside: set[int]) -> bool:
    edges = [e for v in inside for e in range(g.edge_begin[v], g.edge_end[v])]
    met = {mail.edges[e] for e in edges if g.edge[e] & (1 << CLASS_AT) - 1 in inside}
    return is_fair(g, inside) and frozenset.intersection(*(mail.there[v] for v in inside)) <= met


@pytest.mark.slow(seconds=2)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(with_mail())
def test_no_message_is_overtaken_for_ever_in_a_fair_component(
    drawn: tuple[Small, Graph, Letters],
) -> None:
    """The naive reading again: of all sets of nodes that a run may stay in, one is fair to each message."""
    small, g, mail = drawn
    waiting = [v for v in range(g.nodes) if small.waits[v]]
    some: set[int] = set()
    for size in range(1, len(waiting) + 1):
        for chosen in combinations(waiting, size):
            inside: nx.DiGraph[int] = nx.DiGraph()
            inside.add_nodes_from(chosen)
            inside.add_edges_from((a, b) for a, b, _ in small.edges if a in chosen and b in chosen)
            if nx.is_strongly_connected(inside) and is_fair_to_mail(g, mail, set(chosen)):
                some |= set(chosen)
    _, fair, c = found(g, True)
    components: dict[int, list[int]] = {}
    for v in fair:
        components.setdefault(c.component[v], []).append(v)
    kept = {v for nodes in components.values() if not overtaken(g, c, nodes, mail) for v in nodes}
    assert kept >= some
    assert bool(kept) == bool(some)
    for v in kept:
        assert not unjust(g, v, loop_at(g, c, v, ALL, mail), ALL, mail)
