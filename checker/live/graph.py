"""The graph of the stable phase, and the search for fair components in it: its memory, and stand-alone kernels.

A node is a state with the process that is named in it. Nothing about a model is known here: a node has the classes of
fair steps that are possible there and the progress properties that wait there, as bits, and an edge the class of its
step.
"""

from __future__ import annotations

from zabspec.language.analysis.structs import Struct, size, word, words
from zabspec.language.layout.wrapping import mulhi

UNFAIR = 63  # the class of steps that need never be taken
CLASS_AT = 40
PLACE_AT = 46
CLASSES = 63  # the bits of a class, once it is shifted down
TARGET = (1 << CLASS_AT) - 1


class Graph(Struct):
    """Nodes and edges. A node in which runs may begin has `origin`, from 1."""

    nodes_most = size()
    edges_most = size()
    bytes_most = size()  # bytes of packed states, which are stored elsewhere
    places = size()
    nodes = word()
    edges = word()
    used = word()  # bytes of packed states
    expanded = word()  # nodes whose edges are complete
    error = word()  # the site of the first error, from 1
    error_node = word()
    clash = word()  # two states had one fingerprint
    starts = word()  # nodes that runs begin in
    narrow = word()  # whether only one receipt is followed
    vain = word()  # the fair classes of which some step changes nothing somewhere
    left_out = word()  # steps after which the assumptions no longer hold
    at = words(nodes_most)  # where its packed state is
    name = words(nodes_most, width=1)  # the named process
    origin = words(nodes_most)  # the number of the state in the fault phase, from 1; 0 if no run begins here
    depth = words(nodes_most, width=4)  # the number of steps to it
    possible = words(nodes_most)  # the fair classes with a possible step
    waits = words(nodes_most)  # the progress properties that wait, a bit for each and its process
    edge_begin = words(nodes_most)
    edge_end = words(nodes_most)
    ahead = words(nodes_most, width=4)  # the nodes to be expanded, the last first
    height = word()  # their number
    edge = words(edges_most)  # target, class << CLASS_AT, and << PLACE_AT the place of the message received
    mark = words(places)  # fingerprints
    node_at = words(places, width=4)  # and their nodes


class Components(Struct):
    """The memory of a search for components."""

    nodes = size()
    count = word()  # fair components
    again = word()  # nodes were left out of components that are not fair: parts of these may be
    number = words(nodes, width=4)  # the order in which nodes are met, from 1
    low = words(nodes, width=4)
    component = words(nodes, width=4)  # of nodes whose component is whole: its number, from 1
    fair = words(nodes, width=1)  # whether that is fair
    gone = words(nodes, width=1)  # whether it is left out
    stack = words(nodes, width=4)
    called = words(nodes, width=4)
    next_edge = words(nodes)


class Ways(Struct):
    """Shortest paths from where runs begin."""

    nodes = size()
    reached = word()
    via = words(nodes, width=4)  # 1 + the node before; 0: runs begin there, or it is not reached
    length = words(nodes, width=4)  # steps from the initial state, from 1; 0: not reached
    queue = words(nodes, width=4)
    begins = words(nodes, width=4)  # where runs begin, by depth


def first_edge(g: Graph, v: int) -> int:
    """Return the index of the first edge of a node."""
    return g.edge_begin[v]


def no_components(c: Components, keep: int) -> None:
    """Reset the search; `keep`: without the nodes that are left out."""
    c.count = 0
    c.again = 0
    v = 0
    while v < c.nodes:
        if keep == 0:
            c.gone[v] = 0
        c.number[v] = 0
        c.component[v] = 0
        c.fair[v] = 0
        v = v + 1


def fair_components(g: Graph, c: Components, among: int, asked: int, strong: int) -> int:
    """Find the strong components of some nodes; return the number of those in which a fair run can stay.

    The algorithm is Tarjan's (1972), without recursion.

    A run that stays in a component can visit all of its nodes and edges infinitely often. It is fair if every class is
    impossible in one of the nodes, or taken by one of the edges; a run that ends is fair if no class is possible. If a
    class is possible in all nodes and taken by no edge, no part of the component is fair either.

    If a class that must be strongly fair is possible in some of the nodes and taken by no edge, a fair run visits none
    of these infinitely often: they are left out (`c.gone`), and the rest has to be searched again (`c.again`).

    Args:
        among: the bit of what waits in these nodes; 0: they are all.
        asked: the classes that must be fair.
        strong: those of them that must be strongly fair.
    """
    met = 0
    wholes = 0
    root = 0
    while root < g.nodes:
        if (g.waits[root] & among) == among and c.gone[root] == 0 and c.number[root] == 0:
            met = met + 1
            c.number[root] = met
            c.low[root] = met
            c.stack[0] = root
            height = 1
            c.called[0] = root
            c.next_edge[0] = first_edge(g, root)
            depth = 1
            while depth > 0:
                v = c.called[depth - 1]
                e = c.next_edge[depth - 1]
                if e < g.edge_end[v]:
                    c.next_edge[depth - 1] = e + 1
                    w = g.edge[e] & TARGET
                    if (g.waits[w] & among) == among and c.gone[w] == 0:
                        if c.number[w] == 0:
                            met = met + 1
                            c.number[w] = met
                            c.low[w] = met
                            c.stack[height] = w
                            height = height + 1
                            c.called[depth] = w
                            c.next_edge[depth] = first_edge(g, w)
                            depth = depth + 1
                        elif c.component[w] == 0:
                            c.low[v] = min(c.low[v], c.number[w])
                else:
                    depth = depth - 1
                    if depth > 0:
                        u = c.called[depth - 1]
                        c.low[u] = min(c.low[u], c.low[v])
                    if c.low[v] == c.number[v]:
                        wholes = wholes + 1
                        base = taken_off(c, v, height, wholes)
                        judge_component(g, c, base, height, asked, strong)
                        height = base
        root = root + 1
    return c.count


def taken_off(c: Components, v: int, height: int, number: int) -> int:
    """Take a complete component off the stack: the nodes from v on. Return the index at which it begins."""
    base = height
    last = -1
    while last != v:
        base = base - 1
        last = c.stack[base]
        c.component[last] = number
    return base


def judge_component(g: Graph, c: Components, base: int, height: int, asked: int, strong: int) -> None:
    """Return whether a fair run can stay in the component that is on the stack."""
    always = asked
    ever = 0
    taken = 0
    k = base
    while k < height:
        v = c.stack[k]
        always = always & g.possible[v]
        ever = ever | g.possible[v]
        e = first_edge(g, v)
        while e < g.edge_end[v]:
            if c.component[g.edge[e] & TARGET] == c.component[v]:
                kind = (g.edge[e] >> CLASS_AT) & CLASSES
                if kind != UNFAIR:
                    taken = taken | (1 << kind)
            e = e + 1
        k = k + 1
    missed = ever & strong & (-1 ^ taken)
    if (always & (-1 ^ taken)) == 0 and missed != 0:
        k = base
        while k < height:
            if (g.possible[c.stack[k]] & missed) != 0:
                c.gone[c.stack[k]] = 1
                c.again = 1
            k = k + 1
    elif (always & (-1 ^ taken)) == 0:
        c.count = c.count + 1
        k = base
        while k < height:
            c.fair[c.stack[k]] = 1
            k = k + 1


def fill_ways(g: Graph, w: Ways, begins: int) -> None:
    """Find the shortest path to every node, in steps from the initial state.

    Args:
        begins: the number of nodes in which runs begin; `w.begins` has them by depth.
    """
    head = 0
    tail = 0
    k = 0
    while head < tail or k < begins:
        due = head == tail
        if k < begins and not due:
            due = g.depth[w.begins[k]] + 1 <= w.length[w.queue[head]]
        if k < begins and due:
            v = w.begins[k]
            k = k + 1
            if w.length[v] == 0:
                w.length[v] = g.depth[v] + 1
                w.queue[tail] = v
                tail = tail + 1
        else:
            v = w.queue[head]
            head = head + 1
            e = first_edge(g, v)
            while e < g.edge_end[v]:
                u = g.edge[e] & TARGET
                if w.length[u] == 0:
                    w.length[u] = w.length[v] + 1
                    w.via[u] = v + 1
                    w.queue[tail] = u
                    tail = tail + 1
                e = e + 1
    w.reached = tail


def probe_nodes(g: Graph, h: int) -> int:
    """Return the index of a fingerprint in `mark`, or of the free entry where the search for it ends.

    This is `probe` (`checker/explore/kernel.py`) over an array of a struct, which no function takes as a parameter.
    """
    place = mulhi(h, g.places)
    while g.mark[place] != 0 and g.mark[place] != h:
        place = place + 1
        if place == g.places:
            place = 0
    return place


def rehash_nodes(source: Graph, to: Graph) -> None:
    """Put every node into a larger, empty table."""
    k = 0
    while k < source.places:
        h = source.mark[k]
        if h != 0:
            place = probe_nodes(to, h)
            to.mark[place] = h
            to.node_at[place] = source.node_at[k]
        k = k + 1


def all_waits(g: Graph) -> int:
    """Return the union of what waits in all nodes, as bits."""
    out = 0
    v = 0
    while v < g.nodes:
        out = out | g.waits[v]
        v = v + 1
    return out
