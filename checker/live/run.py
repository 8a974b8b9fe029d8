"""Check progress properties: explore the fault phase, build the stable phase as one graph, and search it for fair runs.

The graph begins in each state of the fault phase. A fair run in which a process waits forever is a violation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from checker.explore.breadth_first import Explorer, LevelGroup
from checker.explore.memory import Block, Budget, LimitReached, noting_stop, peak_bytes
from checker.explore.result import Exploration, Limits
from checker.live.code import LiveCode
from checker.live.fair_runs import FairRuns, Waits
from checker.live.graph import Graph, rehash_nodes
from checker.opinion.outcome import NO_OPINION, SecondOpinion
from zabspec.language.native.kernels import machine
from zabspec.limits import Deadline
from zabspec.properties import ProgressProperty

FIRST = 1 << 12  # nodes of a graph at first
EDGES_A_NODE = 4
BYTES_A_NODE = 96
PIECE = 8192  # nodes expanded between two reads of the clock
ALL = (1 << 63) - 1
ORIGIN = (1 << 40) - 1

# The fields of a graph other than arrays: all are copied to a larger graph.
KEPT = (
    "nodes", "edges", "used", "expanded", "error", "error_node", "clash", "starts", "left_out", "height", "narrow",
    "vain",
)  # fmt: skip

Tell = Callable[["Live"], None]


@dataclass
class Live:
    """The result of a liveness check.

    Attributes:
        exploration: the fault phase.
        starts, nodes, edges: of the stable phase: pairs of a state and a named process in which runs begin; all such
            pairs; steps.
        left_out: steps after which the assumptions no longer hold.
        waited: the progress properties for which a process waits somewhere.
        found: by progress property, the shortest fair run found in which a process waits forever.
        others: by progress property, the fair runs that follow it.
        followed: those of them found by following only one way of receiving, which may not be short.
        error: a value would have left its range in the stable phase.
        stopped: why it was cut short.
        complete: whether every edge of the stable phase is there, for everything that was requested.
        second: how the interpreter's opinion compares, where no process starves.
    """

    goals: tuple[ProgressProperty, ...]
    exploration: Exploration
    starts: int = 0
    nodes: int = 0
    edges: int = 0
    left_out: int = 0
    waited: set[str] = field(default_factory=set)
    found: dict[str, Waits] = field(default_factory=dict)
    others: dict[str, Iterator[Waits]] = field(default_factory=dict)
    followed: tuple[str, ...] = ()
    error: str = ""
    stopped: str = ""
    complete: bool = False
    second: SecondOpinion = NO_OPINION
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    compile_seconds: float = 0.0
    memory: int = 0

    @property
    def so_far(self) -> str:
        """How far the check is, in a line."""
        return f"{self.exploration.distinct:,} states with faults, {self.nodes:,} after them, {self.edges:,} steps"


class FaultPhase(Explorer):
    """Explores the fault phase, and passes every level on."""

    def __init__(self, code: LiveCode, threads: int, take: Callable[[Block, int, int, int, int], None]) -> None:
        super().__init__(code, threads)
        self.take = take
        self.entered = 0

    def finished(self, level: list[LevelGroup], keep_going: bool) -> bool:
        if not self.result.stopped and not self.result.error:
            for group in level:
                for chunk in group.chunks:
                    block, own = chunk.block, chunk.block is None
                    if block is None:
                        block = self.pool.take()
                        block.map[: chunk.used] = group.states(chunk)
                    self.take(block, chunk.start, chunk.count, self.entered + 1, self.result.depth)
                    self.entered += chunk.count
                    if own:
                        self.pool.give(block)
        return super().finished(level, keep_going)


class LiveRun:
    """One liveness check.

    Args:
        code: the model.
        threads: for the fault phase.
        fair: the classes of steps that are taken eventually, as bits; by default all.
        goals: the progress properties to check; by default all that the protocol has.
    """

    def __init__(
        self, code: LiveCode, threads: int = 0, fair: int = ALL, goals: Sequence[ProgressProperty] | None = None
    ) -> None:
        self.code, self.fair = code, fair
        self.goals = tuple((g for g in code.phase.goals if g.default) if goals is None else goals)
        self.moves = moves_of(code)
        self.words = Block(8 * (2 + 2 * len(self.moves)))
        self.words.put(1, len(self.moves))
        self.perms = code.tables(p for p, _ in self.moves)
        for k, (_, named) in enumerate(self.moves):
            self.words.put(2 + 2 * k, k * code.renaming_table.size)
            self.words.put(3 + 2 * k, named)
        self.work = Block(code.work + 64)
        self.state = Block(code.layout.total)
        most = code.model.most_steps + len(self.moves)
        nodes = FIRST + 2 * most
        self.graph = graph_of(nodes, EDGES_A_NODE * nodes, nodes * max(BYTES_A_NODE, 2 * self.limit_of_packed))
        self.data = Block(self.graph.bytes_most)
        self.explorer = FaultPhase(code, threads, self.enter)

    @property
    def limit_of_packed(self) -> int:
        return self.code.numbers["PACKED_LIMIT"]

    def run(self, limits: Limits, tell: Tell | None = None) -> Live:
        """Run the check and return its result.

        Args:
            limits: a depth of the fault phase; limits of states, time and memory for all of it.
            tell: called now and then.
        """
        started, cpu = time.perf_counter(), time.process_time()
        self.budget = Budget(limits.memory)
        self.deadline = Deadline(limits.seconds, limits.spent)
        self.limits = limits
        self.live = live = Live(self.goals, Exploration(()))
        self.tell = tell
        with noting_stop(live):
            live.exploration = self.explorer.run(limits)
            live.stopped = live.exploration.stopped
            if live.exploration.error:
                live.error = f"{live.exploration.error}, in the fault phase"
            if not live.stopped and not live.error and self.explorer.entered != live.exploration.distinct:
                live.stopped = "not every state of the fault phase was a stabilization time: please report it"
            if not live.stopped and not live.error:
                self.follow_one()
                self.close()
            self.search()
        live.seconds = time.perf_counter() - started
        live.cpu_seconds = time.process_time() - cpu
        live.memory = peak_bytes()
        return live

    # --- the graph -------------------------------------------------------------------------------

    def enter(self, block: Block, offset: int, count: int, first: int, depth: int) -> None:
        """Enter the states of a buffer as those in which the stable phase may begin."""
        done = 0
        while done < count and not self.graph.clash:
            done += self.code.begin_stable(
                block.address, offset, count - done, first + done, depth, self.words.address, self.data.address,
                self.work.address, self.perms, self.graph.address,
            )  # fmt: skip
            offset = self.words.get(0)
            if done < count:
                self.grow()

    def follow_one(self) -> None:
        """With limits, first follow only one way of receiving what is in flight, from every start.

        A fair run found this way is one like any other, and is found even if not all can be explored.
        """
        if self.limits.seconds is None and self.limits.max_states is None:
            return
        starts, data, live = self.graph, self.data, self.live
        self.graph = self.copied(starts.nodes_most, starts.edges_most, starts.bytes_most)
        self.graph.narrow = 1
        self.close()
        self.search()
        self.graph, self.data = starts, data
        live.stopped, live.complete = "", False
        if not live.error:
            live.followed = tuple(live.found)

    def close(self) -> None:
        """Find every node that the stable phase leads to, and all edges."""
        live = self.live
        while (g := self.graph).expanded < g.nodes and not g.error and not g.clash:
            began = time.perf_counter()
            done = self.code.expand_stable(
                self.state.address, PIECE, self.data.address, self.code.steps_room.address, self.work.address, g.address
            )
            if done < PIECE and g.expanded < g.nodes and not g.error and not g.clash:
                self.grow()
            self.code.worked(time.perf_counter() - began, self.deadline.left())  # optimised code, if it pays off
            self.note_counts()
            if self.tell is not None:
                self.tell(live)
            if self.deadline.over():
                live.stopped = f"--time-limit {self.limits.seconds:g} s reached"
                return
            if self.limits.max_states is not None and g.nodes > self.limits.max_states:
                live.stopped = f"--max-states {self.limits.max_states} reached"
                return
        if g.clash:
            live.stopped = "two states have one fingerprint"
        elif g.error:
            site = g.error
            live.error = self.code.said_of(site) if site > 0 else "a state has more steps than the bound allows"
        else:
            live.complete = True

    def note_counts(self) -> None:
        g, live = self.graph, self.live
        live.starts, live.nodes, live.edges, live.left_out = g.starts, g.nodes, g.edges, g.left_out

    def grow(self) -> None:
        """Enlarge whichever part of the graph was too small.

        Raises:
            LimitReached: the limit of memory does not allow it.
        """
        g, more = self.graph, self.code.model.most_steps + len(self.moves)
        most, edges, size = g.nodes_most, g.edges_most, g.bytes_most
        if g.nodes + more > most or 10 * (g.nodes + more) >= 7 * g.places:
            most *= 2
        if g.edges + more > edges:
            edges *= 2
        if g.used + (more + 1) * self.limit_of_packed > size:
            size *= 2
        if self.budget.exceeded(most * 60 + edges * 8 + size):
            raise LimitReached(self.budget.reason)
        self.graph = self.copied(most, edges, size)

    def copied(self, most: int, edges: int, size: int) -> Graph:
        """Return a copy of the graph with room for more, and copy its packed states."""
        g = self.graph
        larger = graph_of(most, edges, size)
        for name in ("at", "name", "origin", "depth", "possible", "waits", "edge_begin", "edge_end"):
            copy(larger, g, name, g.nodes)
        copy(larger, g, "ahead", g.height)
        copy(larger, g, "edge", g.edges)
        for name in KEPT:
            setattr(larger, name, getattr(g, name))
        data = Block(size)
        data.map[: g.used] = self.data.map[: g.used]
        self.data = data
        machine(rehash_nodes)(g, larger)
        return larger

    # --- the search ------------------------------------------------------------------------------

    def search(self) -> None:
        """Search for fair runs in which a process waits forever."""
        self.note_counts()
        live = self.live
        runs = FairRuns(self.code, self.graph, self.data, self.fair)
        for number, goal in enumerate(self.code.phase.goals):
            if goal not in self.goals or not runs.waits(number):
                continue
            live.waited.add(goal.name)
            others = runs.of(goal, number)
            best = next(others, None)
            if best is not None:
                live.found[goal.name], live.others[goal.name] = best, others
                live.followed = tuple(name for name in live.followed if name != goal.name)


def moves_of(code: LiveCode) -> list[tuple[tuple[int, ...], int]]:
    """Return the renamings under which a state is entered, each with the process that is named in it.

    If renaming changes nothing (docs/explanation/liveness.md), the named process becomes process 0; if only some
    renamings change nothing, it becomes the first that these can map it to.
    """
    same = tuple(range(code.nodes))
    if not code.phase.names_one:
        return [(same, -1)]
    if not code.symmetry:
        return [(same, named) for named in same]
    renamings = map(code.layout.schema.to_first, same)
    return [(p, p[named]) for named, p in enumerate(renamings)]


def graph_of(nodes: int, edges: int, size: int) -> Graph:
    """Return an empty graph with so much room."""
    return Graph(nodes_most=nodes, edges_most=edges, bytes_most=size, places=2 * nodes)


def copy(to: Graph, source: Graph, name: str, count: int) -> None:
    """Copy the first entries of an array."""
    getattr(to, name).memory[:count] = getattr(source, name).memory[:count]
