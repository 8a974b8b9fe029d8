"""Find the fair runs in the graph of the stable phase in which a process starves, one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from heapq import merge

from checker.explore.memory import Block
from checker.live.code import LiveCode
from checker.live.graph import PLACE_AT, Components, Graph, Ways, all_waits, fair_components, fill_ways, no_components
from checker.live.loop import Edge, Mail, NoMail, class_at, loop_at, overtaken
from zabspec.language.layout.derive import in_order
from zabspec.language.native.kernels import machine
from zabspec.language.python.reference import StateView
from zabspec.live.phase import is_strong
from zabspec.live.worlds import IN_WORLDS
from zabspec.properties import ProgressProperty
from zabspec.worlds.actor import receivable

KEPT_NODES = 1 << 14  # whose messages are kept


@dataclass(frozen=True)
class Waits:
    """A fair run in which a process starves, in the graph.

    Attributes:
        goal, process: the progress property that waits, and the process.
        path: the nodes from one in which the stable phase begins to the one in which the loop does.
        loop: the edges of the loop (by their numbers) and where each leads, in order; empty if the run ends there.
        graph, data: where it was found.
        mail: the messages of that graph.
    """

    goal: ProgressProperty
    process: int
    path: tuple[int, ...]
    loop: tuple[Edge, ...]
    graph: Graph
    data: Block
    mail: Mail

    @property
    def cost(self) -> tuple[int, int]:
        """A measure of how long the run is to read."""
        return len(self.path) + len(self.loop), len(self.path)


class Bag:
    """The messages of a graph that may overtake each other, read from its packed states.

    Args:
        code: the model.
        graph, data: the nodes, and their states.
        fair: the classes that are assumed to be fair, as bits.
    """

    def __init__(self, code: LiveCode, graph: Graph, data: Block, fair: int) -> None:
        self.code, self.graph, self.data = code, graph, data
        rows = [f for f in IN_WORLDS[code.model.world.name].fair if f.each]
        self.kinds = {kind for f in rows for kind in f.kinds}
        names = {f.name for f in rows}
        self.pairs = {(c.process, c.peer): k for k, c in enumerate(code.classes) if c.kind in names and fair >> k & 1}
        self.classes = set(self.pairs.values())
        self.at = lru_cache(maxsize=KEPT_NODES)(self.messages)

    def messages(self, v: int) -> tuple[frozenset[bytes], tuple[bytes, ...]]:
        """Return the messages whose receipt changes a node, and all that are in flight, by their places."""
        layout, state = self.code.layout, self.code.node_state(self.graph, self.data, v)
        flight, here = tuple(bytes(m.raw()) for m in StateView(layout, state).in_flight), in_order(layout, state)
        steps = self.code.stable_steps(state, self.graph.name[v] - 1)
        words = [word for word, after in steps if in_order(layout, after) != here]
        receipts = (word for word in words if word >> 24 & 255 in self.kinds)
        fair = (word for word in receipts if (word >> 16 & 255, word >> 8 & 255) in self.pairs)
        return frozenset(flight[word & 255] for word in fair), flight

    def receivable(self, v: int) -> frozenset[bytes]:
        return self.at(v)[0]

    def received(self, v: int, e: int) -> bytes:
        if class_at(self.graph, e) not in self.classes:
            return b""
        return self.at(v)[1][self.graph.edge[e] >> PLACE_AT & 255]


class FairRuns:
    """The search for fair runs in one graph.

    Args:
        code: the model.
        graph, data: the nodes and edges, and the packed states.
        fair: the classes that are assumed to be fair, as bits.
    """

    def __init__(self, code: LiveCode, graph: Graph, data: Block, fair: int) -> None:
        self.code, self.graph, self.data, self.fair = code, graph, data, fair
        self.strong = fair & sum(1 << k for k, c in enumerate(code.classes) if is_strong(code.model, c))
        self.mail: Mail = NoMail()
        self.asked = fair  # of a loop, besides its messages
        if code.overtakes:
            self.mail = bag = Bag(code, graph, data, fair)
            # of a channel from which nothing is received a message stays receivable, unless its receipt changes nothing
            # or its process leaves it in flight
            waits = code.model.program.namespace[receivable.__name__] is not receivable
            self.asked &= ~((-1 if waits else graph.vain) & sum(1 << k for k in bag.classes))
        self.waited = int(machine(all_waits)(graph))
        self.components = Components(nodes=max(1, graph.nodes))
        self.found_for = -1  # what the components are of: the bit of what waits; 0: all nodes; -1: nothing yet
        self.ways: Ways | None = None

    def of(self, goal: ProgressProperty, number: int) -> Iterator[Waits]:
        """Yield the fair runs in which a process waits forever for a progress property, short ones first.

        Args:
            number: of the progress property, among all that the protocol has.
        """
        n = self.code.nodes
        bits = [(p, 1 << (number * n + p)) for p in range(n)]
        runs = [self.of_process(goal, p, bit) for p, bit in bits if self.waited & bit]
        yield from merge(*runs, key=lambda found: found.cost)

    def waits(self, number: int) -> bool:
        """Return whether a process waits for a progress property in some node."""
        n = self.code.nodes
        return bool(self.waited >> (number * n) & (1 << n) - 1)

    def of_process(self, goal: ProgressProperty, p: int, bit: int) -> Iterator[Waits]:
        """Yield the fair runs in which one process waits.

        They are, for each fair component, a loop at its nearest node, and each end.
        """
        among = 0 if goal.again else bit
        if not self.fair_components(among):
            return
        ways = self.all_ways()
        length, fair = ways.length.memory, self.components.fair.memory
        inside = sorted((v for v in range(self.graph.nodes) if fair[v]), key=length.__getitem__)
        waits = {v for v in inside if self.graph.waits[v] & bit}
        ends = deque(v for v in inside if v in waits and not self.graph.possible[v] & self.fair)
        loops = self.loops(inside, waits, among)
        nearest = next(loops, None)
        while nearest or ends:
            if nearest is None or (ends and length[ends[0]] <= nearest[0]):
                yield self.run(goal, p, ends.popleft(), ())
                continue
            loop = self.fair_loop(nearest[1], nearest[2], among)
            while loop and ends and length[ends[0]] <= nearest[0] + len(loop):
                yield self.run(goal, p, ends.popleft(), ())
            if loop:
                yield self.run(goal, p, nearest[1], loop)
            nearest = next(loops, None)

    def fair_components(self, among: int) -> int:
        """Find the components, of the nodes in which some process waits or of all, that are fair by their classes.

        Returns:
            Their number.
        """
        if self.found_for != among:
            machine(no_components)(self.components, 0)
            machine(fair_components)(self.graph, self.components, among, self.asked, self.strong)
            while self.components.again:
                machine(no_components)(self.components, 1)
                machine(fair_components)(self.graph, self.components, among, self.asked, self.strong)
            self.found_for = among
        return int(self.components.count)

    def loops(self, inside: list[int], waits: set[int], among: int) -> Iterator[tuple[int, int, list[int]]]:
        """Yield the components in which a run waits, and does not end.

        Of each the distance of the nearest node that waits, that node, and all nodes; if no message overtakes another,
        the list of all nodes may have only the first.
        """
        assert self.found_for == among
        component, length = self.components.component.memory, self.all_ways().length.memory
        nodes: dict[int, list[int]] = {}
        keeps = not isinstance(self.mail, NoMail)
        nearest: dict[int, int] = {}
        for v in inside:
            known = nodes.setdefault(component[v], [])
            if keeps or not known:
                known.append(v)
            if v in waits:
                nearest.setdefault(component[v], v)
        for number, v in list(nearest.items()):
            if self.graph.possible[v] & self.fair:
                yield length[v], v, nodes[number]

    def fair_loop(self, v: int, nodes: list[int], among: int) -> tuple[Edge, ...]:
        """Return a loop through a node of a component that meets every obligation.

        It is empty if there is none, since a message in it is overtaken forever.
        """
        self.fair_components(among)
        if overtaken(self.graph, self.components, nodes, self.mail):
            return ()
        return loop_at(self.graph, self.components, v, self.asked, self.mail, self.strong)

    def run(self, goal: ProgressProperty, p: int, at: int, loop: tuple[Edge, ...]) -> Waits:
        """Return the run by the shortest path to a node, with its continuation from there on."""
        via, path = self.all_ways().via, [at]
        while via[path[-1]]:
            path.append(via[path[-1]] - 1)
        return Waits(goal, p, tuple(reversed(path)), loop, self.graph, self.data, self.mail)

    def all_ways(self) -> Ways:
        """Return the shortest paths to all nodes, which are computed once."""
        if self.ways is None:
            g = self.graph
            self.ways = w = Ways(nodes=g.nodes)
            begins = [v for v, origin in enumerate(g.origin.memory[: g.nodes].tolist()) if origin]
            depth = g.depth.memory[: g.nodes].tolist()
            begins.sort(key=depth.__getitem__)
            for k, v in enumerate(begins):
                w.begins[k] = v
            machine(fill_ways)(g, w, len(begins))
        return self.ways
